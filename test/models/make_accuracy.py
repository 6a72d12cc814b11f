#!/usr/bin/env python3
"""Makes the models that test/bench/precision_accuracy.py trains: a small ResNet and a small GPT.

Part of Sinter, under Apache-2.0 WITH LLVM-exception. Needs PyTorch and onnx.

    /usr/bin/python3 make_accuracy.py        (Debian: python3-torch, python3-onnx)

accuracy-resnet: three stages of one basic block on images of 3x32x32, as for CIFAR-10.
accuracy-gpt: two layers of width 48 over 32 of 64 tokens, its head tied to the embedding.
Weights are initial ones under a fixed seed; there are no references.
"""

import os

import torch
from torch import nn

from export import FOLDER
from make_sequence import Gpt2
from make_vision import BasicBlock, convNorm

BATCH = 2


def resnet():
    return nn.Sequential(convNorm(3, 16), BasicBlock(16, 16, 1), BasicBlock(16, 32, 2),
                         BasicBlock(32, 48, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(48, 10))


def gpt():
    model = Gpt2(words=64, positions=32, width=48, heads=3, layers=2)
    # GPT-2's initial weights: N(0, 0.02), biases 0.
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1:
            nn.init.normal_(parameter, std=0.02)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)
    return model


def save(name, model, inputName, example):
    path = os.path.join(FOLDER, name + ".onnx")
    torch.onnx.export(model.train(), (example,), path, opset_version=14,
                      training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False,
                      input_names=[inputName], output_names=["logits"],
                      dynamic_axes={inputName: {0: "N"}, "logits": {0: "N"}})
    count = sum(p.numel() for p in model.parameters())
    print(f"{name}: {count} parameters, {os.path.getsize(path)} bytes")


def main():
    torch.manual_seed(1)
    save("accuracy-resnet", resnet(), "x", torch.zeros(BATCH, 3, 32, 32))
    save("accuracy-gpt", gpt(), "input_ids", torch.zeros(BATCH, 32, dtype=torch.long))


if __name__ == "__main__":
    main()
