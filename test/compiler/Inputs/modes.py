"""Writes models with a Dropout and a BatchNormalization, exported for inference, for training, and both in one.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    modes.py FOLDER
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "fuzz"))
import onnx_bytes as m

BOOL = 9


def model(isTraining):
    flags = m.initializer("ratio", (), raw=m.floats(1)) + m.initializer(
        "mode", (), type_=BOOL, raw=bytes([isTraining]))
    parameters = b"".join(m.initializer(name, (4,), raw=m.floats(4, 1.0))
                          for name in ("scale", "bias", "mean", "var"))
    body = m.graph(
        m.node("MatMul", ["x", "w"], ["a"], name="product"),
        m.node("BatchNormalization", ["a", "scale", "bias", "mean", "var"],
               ["b", "m", "v"] if isTraining else ["b"], name="norm", training_mode=int(isTraining)),
        m.node("Dropout", ["b", "ratio", "mode"], ["y"], name="drop"),
        m.initializer("w", (4, 4), raw=m.floats(16)), flags, parameters,
        inputs=(("x", (8, 4)),), outputs=(("y", (8, 4)),))
    return m.model(body)


def torchModel(*modes):
    """BatchNormalizations in a row with the node names of PyTorch's exporter, which writes both modes alike."""
    nodes, value = [], "x"
    for i, mode in enumerate(modes):
        nodes.append(m.node("BatchNormalization", [value, "scale", "bias", "mean", "var"], [f"y{i}"],
                            name=f"node__native_batch_norm_legit_{mode}_{i}__0"))
        value = f"y{i}"
    parameters = b"".join(m.initializer(name, (4,), raw=m.floats(4, 1.0))
                          for name in ("scale", "bias", "mean", "var"))
    return m.model(m.graph(*nodes, parameters, inputs=(("x", (8, 4)),), outputs=((value, (8, 4)),)))


models = {
    "inference": model(False),
    "training": model(True),
    "torch-train": torchModel("functional", "functional"),
    "torch-eval": torchModel("no_training", "no_training"),
    "torch-mixed": torchModel("functional", "no_training", "no_training"),
}
for name, bytes_ in models.items():
    with open(os.path.join(sys.argv[1], name + ".onnx"), "wb") as file:
        file.write(bytes_)
