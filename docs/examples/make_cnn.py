#!/usr/bin/env python3
"""Makes fashion_cnn.onnx: a small CNN for Fashion-MNIST, exported from PyTorch.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    /usr/bin/python3 make_cnn.py            (Debian: python3-torch, python3-onnx)

Three 3x3 convolutions with BatchNorm, ReLU and 2x2 max-pooling, then two linear layers:
60 986 parameters, 3.9 MFLOP forward per image. The weights are PyTorch's default
initial values under a fixed seed, so the file holds an untrained network; sinterc
--train makes the program that trains it. Input `x` is [N, 1, 28, 28] in 0..1, output
`logits` is [N, 10]; the shift and scale of the pixels are part of the network.
"""

import os

import torch
from torch import nn


class FashionCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(32)
        self.conv3 = nn.Conv2d(32, 64, 3, padding=1, bias=False)
        self.norm3 = nn.BatchNorm2d(64)
        self.pool = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(64 * 3 * 3, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = (x - 0.286) / 0.353
        x = self.pool(torch.relu(self.norm1(self.conv1(x))))
        x = self.pool(torch.relu(self.norm2(self.conv2(x))))
        x = self.pool(torch.relu(self.norm3(self.conv3(x))))
        return self.fc2(torch.relu(self.fc1(x.flatten(1))))


def main():
    torch.manual_seed(1)
    model = FashionCnn().eval()
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fashion_cnn.onnx")
    # PRESERVE keeps BatchNorm a node of its own: folded into the convolution it could
    # no longer be trained.
    torch.onnx.export(
        model, torch.zeros(1, 1, 28, 28), path, opset_version=17,
        training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False,
        input_names=["x"], output_names=["logits"],
        dynamic_axes={"x": {0: "N"}, "logits": {0: "N"}})


if __name__ == "__main__":
    main()
