#!/usr/bin/env python3
"""Makes models for training at their real sizes, with random weights.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    /usr/bin/python3 make_training_models.py FOLDER [NAME...]
                                             (Debian: python3-torch, python3-onnx)

ResNet-50, BERT-base with a classifier on its pooled output, and GPT-2 (124M). Exported
as docs/training.md says: BatchNorm and Dropout are nodes, weights have PyTorch's names.
"""

import os
import sys

import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "models"))
from make_sequence import Bert, Gpt2
from make_vision import Bottleneck, resnet


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert, self.head = Bert(30522, 512, 768, 12, 12), nn.Linear(768, 2)

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.head(self.bert(input_ids, attention_mask, token_type_ids)[1])


def resnet50():
    model = resnet(Bottleneck, (64, 128, 256, 512), (3, 4, 6, 3), 4, 1000)
    return model, {"x": torch.zeros(2, 3, 224, 224)}


def bertBase():
    tokens = torch.zeros(2, 128, dtype=torch.long)
    return Classifier(), {"input_ids": tokens, "attention_mask": torch.ones_like(tokens),
                          "token_type_ids": tokens}


def gpt2():
    return Gpt2(50257, 1024, 768, 12, 12), {"input_ids": torch.zeros(2, 512, dtype=torch.long)}


MODELS = {"resnet50": resnet50, "bert-base": bertBase, "gpt2": gpt2}


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name in sys.argv[2:] or MODELS:
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
