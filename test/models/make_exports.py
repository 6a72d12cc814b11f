#!/usr/bin/env python3
"""Makes exports as PyTorch writes them by default, with training references in PyTorch's names.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Needs PyTorch 2.15, onnx and onnxscript. Each export-NAME.onnx has one kind of change that the
exporter makes to parameters. export-NAME-data.npz has the rows; export-NAME-ref.npz the losses
of 24 steps of SGD with momentum in float64 and, after the last, every parameter and running
statistic of the module's state_dict. Some have export-NAME.safetensors, the initial weights
as docs/examples/export_pytorch.py writes them. test/e2e/exports has the command lines.
"""

import copy
import os
import sys

import numpy as np
import onnx
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import weight_norm

from export import FOLDER, saveArrays, toDouble

sys.path.append(os.path.join(FOLDER, "..", "..", "docs", "examples"))

from export_pytorch import writeSafetensors

STEPS, BATCH, ROWS = 24, 8, 24
OLD = dict(dynamo=False, training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)


class Decoder(nn.Module):
    """A head tied to the embedding, norms of equal initial values, a bias of zeros, weights that
    are transposed, a table that the exporter computes, ids of padding."""

    def __init__(self, words=20, width=12, length=6):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        nn.init.normal_(self.embed.weight, std=0.3)
        self.kinds = nn.Embedding(4, width, padding_idx=0)
        self.register_buffer("frequencies", 10 ** (-torch.arange(0, width, 2) / width),
                             persistent=False)
        self.register_buffer("positions", torch.arange(length).float(), persistent=False)
        self.norm1, self.norm2, self.norm = (nn.LayerNorm(width) for _ in range(3))
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out, self.gate = nn.Linear(width, width), nn.Linear(width, width)
        nn.init.zeros_(self.gate.bias)
        self.up, self.down = nn.Linear(width, 16), nn.Linear(16, width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.embed.weight

    def rotate(self, x):
        angles = torch.outer(self.positions, self.frequencies)
        cos, sin = torch.cat([angles, angles], -1).cos(), torch.cat([angles, angles], -1).sin()
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    def forward(self, tokens, kinds):
        x = self.embed(tokens) + self.kinds(kinds)
        q, k, v = self.qkv(self.norm1(x))[:, None].chunk(3, -1)
        y = F.scaled_dot_product_attention(self.rotate(q), self.rotate(k), v, is_causal=True)
        x = x + self.out(y[:, 0]) + self.gate(x.mean(1))[:, None]
        return self.head(self.norm(x + self.down(F.gelu(self.up(self.norm2(x))))))


class Scaled(nn.Module):
    """GroupNorm, PReLU and LayerScale."""

    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(2, 8, 3, padding=1), nn.GroupNorm(4, 8)
        self.act, self.conv = nn.PReLU(8), nn.Conv2d(8, 8, 1)
        self.scale = nn.Parameter(torch.full((8, 1, 1), 0.1))
        self.last, self.slope = nn.GroupNorm(2, 8), nn.PReLU()
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.act(self.norm(self.stem(x)))
        x = self.slope(self.last(x + self.scale * self.conv(x)))
        return self.head(x.mean((2, 3)))


class Recurrent(nn.Module):
    """A bidirectional LSTM and a GRU."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 6, batch_first=True, bidirectional=True)
        self.gru, self.head = nn.GRU(12, 6, batch_first=True), nn.Linear(6, 4)

    def forward(self, x):
        return self.head(self.gru(self.lstm(x)[0])[0][:, -1])


def normed():
    """BatchNorms that the exporter of a module in evaluation mode folds into their Convs."""
    return nn.Sequential(nn.Conv2d(2, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6), nn.SiLU(),
                         nn.Conv2d(6, 8, 3, stride=2), nn.BatchNorm2d(8), nn.SiLU(),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))


class Tokens(nn.Module):
    """A class token that is expanded to the batch, and a position table read at constants."""

    def __init__(self, width=12, length=5):
        super().__init__()
        self.first = nn.Parameter(0.1 * torch.randn(1, 1, width))
        self.table = nn.Parameter(0.3 * torch.randn(4 * length, width))
        self.register_buffer("order", torch.arange(length + 1) * 7 % (4 * length),
                             persistent=False)
        self.stem, self.norm = nn.Linear(4, width), nn.LayerNorm(width)
        self.mix, self.head = nn.Linear(length + 1, length + 1), nn.Linear(width, 4)

    def forward(self, x):
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), self.stem(x)], 1)
        x = x + self.table[self.order]
        return self.head(self.norm(x + F.gelu(self.mix(x.transpose(1, 2))).transpose(1, 2))[:, 0])


def weightNormed():
    return nn.Sequential(weight_norm(nn.Linear(6, 16)), nn.GELU(), weight_norm(nn.Linear(16, 4)))


class Derived(nn.Module):
    """Functions of parameters that the exporter computes, a weight that is normalised and
    transposed, a product of zeros and a weight, a BatchNorm without weights in a grouped
    ConvTranspose."""

    def __init__(self, width=8):
        super().__init__()
        self.up = nn.ConvTranspose1d(4, 6, 3, groups=2)
        self.norm = nn.BatchNorm1d(6, affine=False)
        self.stem = weight_norm(nn.Linear(7, width))
        self.gain = nn.Parameter(0.1 * torch.randn(width))
        self.rate = nn.Parameter(torch.randn(width))
        self.temperature = nn.Parameter(0.2 * torch.randn(width))
        self.cell, self.head = nn.GRUCell(width, width), nn.Linear(width, 4)

    def forward(self, x):
        x = self.stem(self.norm(self.up(x))) * (1 + self.gain)
        x = torch.tanh(x * (-self.rate.exp())[None, None]) * self.temperature.exp()
        return self.head(self.cell(x.mean(1), x.new_zeros(x.shape[0], x.shape[2])))


class Encoder(nn.Module):
    """Layers that are deep copies of one; buffers that look like weights."""

    def __init__(self, width=8):
        super().__init__()
        self.register_buffer("grid", torch.linspace(-1, 1, 5 * width).reshape(5, width))
        self.register_buffer("knots", torch.linspace(-2, 2, 6))
        self.stem, self.spline = nn.Linear(4, width), nn.Linear(6, width, bias=False)
        layer = nn.TransformerEncoderLayer(width, 2, 12, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(width),
                                             enable_nested_tensor=False)
        self.head = nn.Linear(width, 4)

    def forward(self, x):
        bumps = torch.exp(-(x.mean(-1, keepdim=True) - self.knots) ** 2)
        return self.head(self.encoder(self.stem(x) + self.spline(bumps) + self.grid).mean(1))


def randomStatistics(model):
    """Running statistics and affine parameters that folding cannot drop."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            for tensor, low in ((module.running_mean, -0.3), (module.running_var, 0.5),
                                (module.weight, 0.5), (module.bias, -0.3)):
                nn.init.uniform_(tensor, low, low + 1)
    return model


def strip(graph):
    """Stack traces name the folders of whoever ran the exporter."""
    for node in graph.node:
        kept = [p for p in node.metadata_props if p.key != "pkg.torch.onnx.stack_trace"]
        if len(kept) < len(node.metadata_props):
            kept = copy.deepcopy(kept)
            del node.metadata_props[:]
            node.metadata_props.extend(kept)


def writeModel(name, model, inputs, **options):
    path = os.path.join(FOLDER, f"export-{name}.onnx")
    torch.onnx.export(copy.deepcopy(model), tuple(i[:BATCH] for i in inputs.values()), path,
                      input_names=list(inputs), output_names=["output"],
                      **{"dynamo": True, "external_data": False, "verbose": False, **options})
    proto = onnx.load(path)
    strip(proto.graph)
    for function in proto.functions:
        strip(function)
    onnx.save(proto, path)
    return os.path.getsize(path)


def save(name, model, inputs, labels, rate=0.05, weights=False, **options):
    model = randomStatistics(model).eval()
    size = writeModel(name, model, inputs, **options)
    if weights:
        writeSafetensors(os.path.join(FOLDER, f"export-{name}.safetensors"), model.state_dict())
    twin = copy.deepcopy(model).double().train()
    optimizer = torch.optim.SGD(twin.parameters(), lr=rate, momentum=0.9)
    losses = []
    for step in range(STEPS):
        rows = slice(step * BATCH % ROWS, step * BATCH % ROWS + BATCH)
        output = twin(*[toDouble(i[rows]) for i in inputs.values()])
        loss = F.cross_entropy(output.flatten(0, -2), labels[rows].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    trained = dict(twin.named_parameters(remove_duplicate=False))
    states = {n: v.detach().numpy() for n, v in twin.state_dict().items()
              if n in trained or "running" in n}
    saveArrays(f"export-{name}-data.npz", {**{n: i.numpy() for n, i in inputs.items()},
                                           "labels": labels.numpy()})
    saveArrays(f"export-{name}-ref.npz", {"losses": np.array(losses), **states})
    print(f"{name}: {size} bytes, losses {losses[0]:.6f} .. {losses[-1]:.6f},"
          f" {len(states)} states")


def main():
    generator = torch.Generator().manual_seed(13)

    def real(*shape):
        return torch.randn(ROWS, *shape, generator=generator)

    def whole(high, *shape):
        return torch.randint(0, high, (ROWS, *shape), generator=generator)

    torch.manual_seed(2)
    save("decoder", Decoder(), {"tokens": whole(20, 6), "kinds": whole(4, 6)}, whole(20, 6))
    save("scaled", Scaled(), {"x": real(2, 6, 6)}, whole(5))
    save("recurrent", Recurrent(), {"x": real(5, 4)}, whole(4))
    save("normed", normed(), {"x": real(2, 6, 6)}, whole(5), weights=True)
    save("tokens", Tokens(), {"x": real(5, 4)}, whole(4), weights=True)
    x, model = real(6), weightNormed()
    save("weight-norm", model, {"x": x}, whole(4))
    writeModel("weight-norm-kept", model.eval(), {"x": x}, optimize=False)
    save("encoder", Encoder(), {"x": real(5, 4)}, whole(4), **OLD)
    save("derived", Derived(), {"x": real(4, 5)}, whole(4), weights=True)


if __name__ == "__main__":
    main()
