#!/usr/bin/env python3
"""Makes test models with PyTorch's newer exporter (torch.export, opset 18 and later).

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Needs a PyTorch of 2.6 or later and onnxscript (python3 -m venv; pip install torch onnx
onnxscript). Its graphs look different from the older exporter's: lifted constants, shapes
computed for named dimensions, and local functions where the exporter keeps them.
"""

import os

import onnx
import torch
from torch import nn

from export import FOLDER, randomiseNorms, reference, saveArrays
from make_sequence import Bert, Gpt2, Mlp, Recurrent
from make_vision import BasicBlock, ConvNext, SuperResolution, UNet, Vit, resnet, smallMobilenetV3


class Pieces(nn.Module):
    """What an export without optimization keeps as the exporter wrote it: parts as sequences, the
    loop of an EmbeddingBag, the coordinates of masks, an empty past, transforms."""

    def __init__(self):
        super().__init__()
        self.bags = nn.EmbeddingBag(12, 8, mode="mean")
        self.all = nn.Linear(8, 24)
        self.register_buffer("past", torch.zeros(2, 0, 8))

    def forward(self, x, mask, words, offsets):
        query, key, value = self.all(torch.cat([self.past, x], 1)).chunk(3, -1)
        y = (query @ key.transpose(1, 2)).softmax(-1) @ value
        y = torch.cat([part.mean(-1, keepdim=True) * part for part in y.split([2, 1, 5], -1)], -1)
        filled = x.masked_scatter(mask, y)
        changed = filled.clone()
        changed[mask] = changed[mask] * 0.5 + 1.0
        spectrum = torch.view_as_real(torch.fft.rfft(changed, dim=1))
        blocks = nn.functional.fold(y.reshape(2, 8, 5)[:, :, :4], (3, 3), 2)
        return y, self.bags(words, offsets), filled, changed, spectrum, blocks


def strip(graph):
    """Source positions name the folders of whoever ran the exporter."""
    for value in [*graph.value_info, *graph.input, *graph.output, *graph.initializer]:
        del value.metadata_props[:]
    for node in graph.node:
        del node.metadata_props[:]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                strip(attribute.g)


def save(name, model, inputs, inputNames, outputNames, opset=18, dynamic=None, optimize=True):
    model = randomiseNorms(model).eval()
    path = os.path.join(FOLDER, name + ".onnx")
    program = torch.onnx.export(model, tuple(inputs), dynamo=True, opset_version=opset,
                                input_names=inputNames, output_names=outputNames,
                                dynamic_shapes=dynamic, verbose=False, optimize=optimize)
    proto = program.model_proto
    strip(proto.graph)
    for function in proto.functions:
        for node in function.node:
            del node.metadata_props[:]
    onnx.save(proto, path)
    outputs = reference(model, inputs)
    saveArrays(name + "-in.npz", {n: i.numpy() for n, i in zip(inputNames, inputs)})
    saveArrays(name + "-ref.npz", {n: o.numpy() for n, o in zip(outputNames, outputs)})
    print(f"{name}: opset {opset}, {os.path.getsize(path)} bytes, "
          f"{len(proto.functions)} functions, {len(proto.graph.node)} nodes")


def main():
    generator = torch.Generator().manual_seed(13)

    def image(*shape):
        return torch.randn(*shape, generator=generator)

    def tokens(high, *shape):
        return torch.randint(0, high, shape, generator=generator)

    batch = torch.export.Dim("N", min=1, max=64)
    open_ = ({0: batch},)
    rows = [("dynamo-mlp", Mlp, [image(6, 20)], open_, 18),
            ("dynamo-resnet", lambda: resnet(BasicBlock, (8, 16, 24), (2, 1, 1), 1),
             [image(2, 3, 32, 32)], open_, 18),
            ("dynamo-mobilenet-v3", smallMobilenetV3, [image(2, 3, 48, 48)], open_, 20),
            ("dynamo-convnext", ConvNext, [image(2, 3, 32, 32)], None, 18),
            ("dynamo-vit", Vit, [image(2, 3, 32, 32)], open_, 20),
            ("dynamo-unet", lambda: UNet("bilinear"), [image(1, 1, 16, 16)], None, 18),
            ("dynamo-super-resolution", SuperResolution, [image(1, 3, 12, 12)], None, 20)]
    for name, make, inputs, dynamic, opset in rows:
        torch.manual_seed(1)
        save(name, make(), inputs, ["x"], ["y"], opset, dynamic)
    mask = (torch.arange(9)[None, :] < torch.tensor([[9], [6]])).long()
    torch.manual_seed(1)
    save("dynamo-bert", Bert(), [tokens(60, 2, 9), mask, tokens(2, 2, 9)],
         ["input_ids", "attention_mask", "token_type_ids"],
         ["last_hidden_state", "pooler_output"], 18, ({0: batch}, {0: batch}, {0: batch}))
    torch.manual_seed(1)
    save("dynamo-gpt2", Gpt2(), [tokens(50, 2, 11)], ["input_ids"], ["logits"], 18, open_)
    torch.manual_seed(1)
    save("dynamo-lstm", Recurrent(torch.nn.LSTM, 1, False), [tokens(30, 3, 7)], ["tokens"],
         ["y", "last"], 18)
    torch.manual_seed(1)
    save("dynamo-pieces", Pieces(),
         [image(2, 5, 8), image(2, 5, 8) > 0, tokens(12, 9), torch.tensor([0, 3, 3, 7])],
         ["x", "mask", "words", "offsets"],
         ["y", "bags", "filled", "changed", "spectrum", "blocks"], 20, optimize=False)


if __name__ == "__main__":
    main()
