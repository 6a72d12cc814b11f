#!/usr/bin/env python3
"""Makes the models of test/e2e/kernels, in which kernels are counted.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    /usr/bin/python3 test/models/make_fusion.py      (Debian: python3-torch, python3-onnx)

Composites as small ops (opset 13), encoder layers, and ResNet-50 with all of its layers
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


class EncoderLayer(nn.Module):
    """Post-norm, without dropout: projections of queries, keys and values packed into one
    or apart, GELU in its tanh or its erf form."""

    def __init__(self, width, heads, hidden, packed, tanh):
        super().__init__()
        self.heads = heads
        self.inputs = nn.ModuleList([nn.Linear(width, 3 * width)] if packed else
                                    [nn.Linear(width, width) for _ in range(3)])
        self.output = nn.Linear(width, width)
        self.first, self.second = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.gelu = GeluTanh() if tanh else nn.GELU()

    def forward(self, x):
        length, width = x.shape[1:]
        size = width // self.heads
        if len(self.inputs) == 1:
            packed = self.inputs[0](x).reshape(-1, length, 3, self.heads, size)
            q, k, v = packed.permute(2, 0, 3, 1, 4).unbind(0)
        else:
            q, k, v = (part(x).reshape(-1, length, self.heads, size).transpose(1, 2)
                       for part in self.inputs)
        p = (q @ k.transpose(-1, -2) * size**-0.5).softmax(-1)
        x = self.norm1(x + self.output((p @ v).transpose(1, 2).reshape(-1, length, width)))
        return self.norm2(x + self.second(self.gelu(self.first(x))))


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
    for name, packed in (("packed", True), ("separate", False)):
        for word, count in (("layer", 1), ("layers", 2)):
            layers = nn.Sequential(*[EncoderLayer(16, 2, 64, packed=packed, tanh=packed)
                                     for _ in range(count)])
            exportModel(f"fusion-{word}-{name}", randomiseNorms(layers),
                        [torch.randn(2, 24, 16)], ["x"], ["y"], 17,
                        {"x": {0: "N", 1: "S"}, "y": {0: "N", 1: "S"}})


if __name__ == "__main__":
    main()
