"""From a PyTorch module to a test model: NAME.onnx, NAME-in.npz and NAME-ref.npz.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Used by the make_*.py beside it (Debian: python3-torch, python3-onnx). The reference is
the same float32 weights evaluated in float64. What is written depends on the seed and on
PyTorch's version only; the tests read the committed files and need no PyTorch.
"""

import copy
import os

import numpy as np
import torch
from torch import nn

FOLDER = os.path.dirname(os.path.abspath(__file__))
torch.set_num_threads(1)


def randomiseNorms(model):
    """Statistics, scales and shifts as after training: nothing that folding could drop."""
    generator = torch.Generator().manual_seed(7)

    def draw(tensor, low, high):
        tensor.data.copy_(low + (high - low) * torch.rand(tensor.shape, generator=generator))

    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
            draw(module.running_mean, -0.3, 0.3)
            draw(module.running_var, 0.5, 1.5)
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.LayerNorm, nn.GroupNorm,
                               nn.InstanceNorm2d)) and module.weight is not None:
            draw(module.weight, 0.5, 1.5)
            draw(module.bias, -0.3, 0.3)
    return model


def toDouble(value):
    return value.double() if value.is_floating_point() else value


def saveArrays(name, arrays):
    np.savez_compressed(os.path.join(FOLDER, name),
                        **{key: np.asarray(value, order="C") for key, value in arrays.items()})


def reference(model, inputs):
    """The module's outputs in float64, as a tuple."""
    with torch.no_grad():
        result = copy.deepcopy(model).double()(*[toDouble(i) for i in inputs])
    return result if isinstance(result, tuple) else (result,)


def exportModel(name, model, inputs, inputNames, outputNames, opset, dynamic=None,
                **options):
    """Writes the three files. `inputs` are the tensors in the order of forward();
    `dynamic` is the exporter's dynamic_axes; `options` go to the exporter unchanged."""
    model.eval()
    path = os.path.join(FOLDER, name + ".onnx")
    torch.onnx.export(model, tuple(inputs), path, opset_version=opset,
                      input_names=inputNames, output_names=outputNames,
                      dynamic_axes=dynamic, **options)
    outputs = reference(model, inputs)
    saveArrays(name + "-in.npz", {n: i.numpy() for n, i in zip(inputNames, inputs)})
    saveArrays(name + "-ref.npz", {n: o.numpy() for n, o in zip(outputNames, outputs)})
    print(f"{name}: opset {opset}, {os.path.getsize(path)} bytes,",
          {n: tuple(o.shape) for n, o in zip(outputNames, outputs)})
