#!/usr/bin/env python3
"""Makes the models of tools/dev bench at their real sizes, with random weights.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    /usr/bin/python3 make_models.py FOLDER      (Debian: python3-torch, python3-onnx)

The architectures are those of test/models, with the sizes of their papers. NAME.onnx is for
inference; NAME-trainer.onnx has the parameters as they are, unfolded.
"""

import os
import sys

import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "models"))
from make_vision import Bottleneck, Vit, mobilenetV3, resnet


def largeMobilenetV3():
    relu, swish = nn.ReLU, nn.Hardswish
    rows = [(16, 16, 16, 3, 1, relu, 0), (16, 64, 24, 3, 2, relu, 0), (24, 72, 24, 3, 1, relu, 0),
            (24, 72, 40, 5, 2, relu, 24), (40, 120, 40, 5, 1, relu, 32),
            (40, 120, 40, 5, 1, relu, 32), (40, 240, 80, 3, 2, swish, 0),
            (80, 200, 80, 3, 1, swish, 0), (80, 184, 80, 3, 1, swish, 0),
            (80, 184, 80, 3, 1, swish, 0), (80, 480, 112, 3, 1, swish, 120),
            (112, 672, 112, 3, 1, swish, 168), (112, 672, 160, 5, 2, swish, 168),
            (160, 960, 160, 5, 1, swish, 240), (160, 960, 160, 5, 1, swish, 240)]
    return mobilenetV3(rows, 960, 1280, 1000)


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256),
                         nn.ReLU(), nn.Linear(256, 10))


class Recurrent(nn.Module):
    """Two layers of 256, of nn.LSTM or nn.GRU; the network's result is that of every step."""

    def __init__(self, layers=nn.LSTM):
        super().__init__()
        self.layers = layers(256, 256, 2, batch_first=True)

    def forward(self, x):
        return self.layers(x)[0]


def save(folder, name, model, inputs, **options):
    for path, more in ((name, {}), (name + "-trainer", {
            "training": torch.onnx.TrainingMode.PRESERVE, "do_constant_folding": False})):
        torch.onnx.export(model.eval(), tuple(inputs.values()),
                          os.path.join(folder, path + ".onnx"), opset_version=17,
                          input_names=list(inputs), dynamic_axes={n: {0: "N"} for n in inputs},
                          **options, **more)
    print(name, flush=True)


def main():
    from make_sequence import Bert  # needs the onnx package; those who import this may not have it
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(1)
    image = {"x": torch.zeros(1, 3, 224, 224)}
    save(folder, "resnet50", resnet(Bottleneck, (64, 128, 256, 512), (3, 4, 6, 3), 4, 1000), image)
    save(folder, "mobilenet-v3", largeMobilenetV3(), image)
    save(folder, "vit-b", Vit(768, 12, 3072, 12, 16, 196, 1000), image)
    tokens = torch.zeros(1, 128, dtype=torch.long)
    save(folder, "bert-base", Bert(30522, 512, 768, 12, 12),
         {"input_ids": tokens, "attention_mask": torch.ones_like(tokens),
          "token_type_ids": tokens}, output_names=["hidden", "pooled"])
    save(folder, "lstm", Recurrent(), {"x": torch.zeros(1, 64, 256)})
    save(folder, "mlp", mlp(), {"x": torch.zeros(1, 1, 28, 28)})


if __name__ == "__main__":
    main()
