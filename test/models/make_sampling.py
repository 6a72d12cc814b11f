#!/usr/bin/env python3
"""Makes sampling.onnx: Resize and GridSample in all their modes, with ONNX Runtime's values.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Needs onnx 1.23, onnxruntime and torch. Each value is also computed by a second oracle:
Resize by ONNX's reference evaluator, GridSample by PyTorch; the script fails where they
differ.
"""

import itertools
import os

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

FOLDER = os.path.dirname(os.path.abspath(__file__))
PLACES = ["half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "align_corners",
          "asymmetric", "tf_crop_and_resize"]
ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
# Smaller and larger. From 7 x 11 these lead to no place at which rounding is in doubt, but
# for half of asymmetric's.
SIZES = [(6, 4), (8, 14)]
TORCH = {"linear": "bilinear", "cubic": "bicubic", "nearest": "nearest"}


def resizes():
    """(name, attributes, sizes) of each node."""
    for mode, place, size in itertools.product(["linear", "cubic"], PLACES, SIZES):
        for antialias, excludes in itertools.product([0, 1], [0, 1]):
            if mode == "linear" and excludes and not antialias:
                continue  # not in ONNX Runtime
            yield (f"{mode}.{place}.{size[0]}.antialias{antialias}.exclude{excludes}",
                   {"mode": mode, "coordinate_transformation_mode": place, "antialias": antialias,
                    "exclude_outside": excludes, "extrapolation_value": 9.0}, size)
    for place, rounding, size in itertools.product(PLACES[:-1], ROUNDINGS, SIZES):
        if place == "asymmetric" and rounding.startswith("round"):
            continue
        yield (f"nearest.{place}.{rounding}.{size[0]}",
               {"mode": "nearest", "coordinate_transformation_mode": place,
                "nearest_mode": rounding}, size)


def main():
    random = np.random.default_rng(0)
    image = random.standard_normal((1, 2, 7, 11)).astype(np.float32)
    # Points inside, near the borders and far outside.
    grid = random.uniform(-2.5, 2.5, (1, 6, 7, 2)).astype(np.float32)
    feeds = {"image": image, "grid": grid}
    constants = [helper.make_tensor("roi", TensorProto.FLOAT, [4], [0.125, -0.25, 0.75, 1.125])]
    constants += [helper.make_tensor(f"size{size[0]}", TensorProto.INT64, [2], size)
                  for size in SIZES]
    nodes = [helper.make_node("Resize", ["image", "roi", "", f"size{size[0]}"], [name], name,
                              axes=[2, 3], **attributes)
             for name, attributes, size in resizes()]
    expected = {}
    for mode, padding, aligns in itertools.product(TORCH, ["zeros", "border", "reflection"], [0, 1]):
        name = f"grid.{mode}.{padding}.align{aligns}"
        nodes.append(helper.make_node("GridSample", ["image", "grid"], [name], name, mode=mode,
                                      padding_mode=padding, align_corners=aligns))
        expected[name] = torch.nn.functional.grid_sample(
            torch.tensor(image), torch.tensor(grid), mode=TORCH[mode], padding_mode=padding,
            align_corners=bool(aligns)).numpy()

    def model(some):
        return helper.make_model(
            helper.make_graph(
                some, "sampling",
                [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape)
                 for name, value in feeds.items()],
                [helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, None)
                 for node in some], constants),
            opset_imports=[helper.make_opsetid("", 20)], ir_version=9)

    whole = model(nodes)
    names = [node.output[0] for node in nodes]
    path = os.path.join(FOLDER, "sampling.onnx")
    onnx.save(whole, path)
    results = dict(zip(names, onnxruntime.InferenceSession(path).run(None, feeds)))
    left = [node for node in nodes if node.op_type == "Resize"]
    evaluator = ReferenceEvaluator(model(left))
    expected.update(zip([node.output[0] for node in left], evaluator.run(None, feeds)))
    for name in names:
        np.testing.assert_allclose(results[name], expected[name], atol=1e-5, err_msg=name)
    np.savez_compressed(os.path.join(FOLDER, "sampling-in.npz"), **feeds)
    np.savez_compressed(os.path.join(FOLDER, "sampling-ref.npz"), **results)


if __name__ == "__main__":
    main()
