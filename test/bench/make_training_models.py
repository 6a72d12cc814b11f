#!/usr/bin/env python3
"""Makes models for training at their real sizes, with random weights.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    /usr/bin/python3 make_training_models.py FOLDER [NAME...]
                                             (Debian: python3-torch, python3-onnx)

ResNet-50, BERT-base with a classifier on its pooled output, and GPT-2 (124M); smaller ones of
each kind, the CNN of the example and an MLP. Exported as docs/training.md says: BatchNorm
and Dropout are nodes, weights have PyTorch's names.
"""

import os
import sys

import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "models"), os.path.join(HERE, "..", "..", "docs", "examples")]
from make_cnn import FashionCnn
from make_models import mlp
from make_sequence import Bert, Gpt2
from make_vision import BasicBlock, Bottleneck, resnet


class Classifier(nn.Module):
    def __init__(self, width=768, heads=12, layers=12):
        super().__init__()
        self.bert, self.head = Bert(30522, 512, width, heads, layers), nn.Linear(width, 2)

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.head(self.bert(input_ids, attention_mask, token_type_ids)[1])


def image(*sizes):
    return {"x": torch.zeros(2, *sizes)}


def tokens(length):
    return {"input_ids": torch.zeros(2, length, dtype=torch.long)}


def resnet50():
    model = resnet(Bottleneck, (64, 128, 256, 512), (3, 4, 6, 3), 4, 1000)
    return model, image(3, 224, 224)


def resnet18():
    return resnet(BasicBlock, (32, 64, 128, 256), (2, 2, 2, 2), 1, 10), image(3, 64, 64)


def bert(**sizes):
    ids = torch.zeros(2, 128, dtype=torch.long)
    return Classifier(**sizes), {"input_ids": ids, "attention_mask": torch.ones_like(ids),
                                 "token_type_ids": ids}


LARGE = {"resnet50": resnet50, "bert-base": bert,
         "gpt2": lambda: (Gpt2(50257, 1024, 768, 12, 12), tokens(512))}
SMALL = {"mlp": lambda: (mlp(), image(1, 28, 28)),
         "cnn": lambda: (FashionCnn(), image(1, 28, 28)), "resnet18": resnet18,
         "bert-4": lambda: bert(layers=4),
         "gpt-small": lambda: (Gpt2(5000, 256, 256, 8, 6), tokens(128))}
MODELS = LARGE | SMALL


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name in sys.argv[2:] or LARGE:
        torch.manual_seed(1)
        model, inputs = MODELS[name]()
        torch.onnx.export(model.train(), tuple(inputs.values()),
                          os.path.join(folder, name + ".onnx"), opset_version=14,
                          training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False,
                          input_names=list(inputs), output_names=["logits"],
                          dynamic_axes={n: {0: "N"} for n in [*inputs, "logits"]})
        print(name, flush=True)


if __name__ == "__main__":
    main()
