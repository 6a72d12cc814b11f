#!/usr/bin/env python3
"""Makes the models of test/e2e/kernels, in which kernels are counted.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    /usr/bin/python3 test/models/make_fusion.py      (Debian: python3-torch, python3-onnx)

Composites as small ops (opset 13), an encoder layer, and ResNet-50 with all of its layers
at a sixteenth of their widths.
"""

import torch
from torch import nn

from export import exportModel, randomiseNorms
from make_vision import Bottleneck, resnet


class Softmax(nn.Module):
    def forward(self, x):
        e = (x - x.amax(-1, keepdim=True)).exp()
        return e / e.sum(-1, keepdim=True)


class GeluErf(nn.Module):
    def forward(self, x):
        return x * 0.5 * (1 + torch.erf(x / 2**0.5))


class GeluTanh(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))


def main():
    torch.manual_seed(11)
    x = torch.randn(3, 5, 24)
    for name, model in (("softmax", Softmax()), ("gelu-erf", GeluErf()),
                        ("gelu-tanh", GeluTanh()), ("layer-norm", nn.LayerNorm(24))):
        exportModel("fusion-" + name, randomiseNorms(model), [x], ["x"], ["y"], 13)
    for name, first in (("post", False), ("pre", True)):
        layer = nn.TransformerEncoderLayer(24, 3, 48, dropout=0.0, activation="gelu",
                                           batch_first=True, norm_first=first)
        exportModel(f"fusion-encoder-{name}", randomiseNorms(layer), [x], ["x"], ["y"], 14)
    image = torch.randn(2, 3, 32, 32)
    model = randomiseNorms(resnet(Bottleneck, (4, 8, 16, 32), (3, 4, 6, 3), 4))
    exportModel("fusion-resnet50", model, [image], ["x"], ["y"], 13)


if __name__ == "__main__":
    main()
