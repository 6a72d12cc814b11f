#!/usr/bin/env python3
"""Makes train-gat-sgd: a graph attention network as PyTorch's newer exporter writes it.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Needs a PyTorch of 2.6 or later and onnxscript, as make_dynamo.py. The rows are graphs of
their own edges. Attention is a softmax over the edges into a node, by scatter_reduce(amax)
and scatter_add; a second layer takes the maximum of the messages. 24 steps in float64, as
in make_training.py.
"""

import os

import onnx
import torch
from torch import nn
from torch.nn import functional as F

from export import FOLDER
from make_training import BATCH, ROWS, saveRun

NODES, FEATURES, WIDTH, EXTRA_EDGES, CLASSES, STEPS = 7, 6, 10, 13, 4, 24


def at(values, nodes):
    """[graph, edge, ..] of values [graph, node, ..]."""
    if values.dim() == 3:
        nodes = nodes[:, :, None].expand(-1, -1, values.shape[2])
    return torch.gather(values, 1, nodes)


class Attention(nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        self.project = nn.Linear(inputs, width)
        self.ofSource, self.ofTarget = nn.Linear(width, 1), nn.Linear(width, 1, bias=False)

    def forward(self, x, source, target):
        x = self.project(x)
        score = at(self.ofSource(x)[..., 0], source) + at(self.ofTarget(x)[..., 0], target)
        score = F.leaky_relu(score, 0.2)
        zeros = torch.zeros_like(x[..., 0])
        peak = zeros.scatter_reduce(1, target, score, "amax", include_self=False)
        weight = torch.exp(score - at(peak, target))
        weight = weight / at(zeros.scatter_add(1, target, weight), target)
        message = weight[..., None] * at(x, source)
        places = target[:, :, None].expand(-1, -1, message.shape[2])
        return torch.zeros_like(x).scatter_add(1, places, message)


class Gat(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.edge = Attention(FEATURES, WIDTH), nn.Linear(2 * WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x, source, target):
        x = F.elu(self.attention(x, source, target))
        message = self.edge(torch.cat([at(x, source), at(x, target)], 2))
        places = target[:, :, None].expand(-1, -1, message.shape[2])
        return self.head(torch.zeros_like(x).scatter_reduce(1, places, message, "amax"))


def main():
    generator = torch.Generator().manual_seed(17)
    loops = torch.arange(NODES).repeat(ROWS, 1)

    def ends():
        return torch.cat([loops, torch.randint(0, NODES, (ROWS, EXTRA_EDGES),
                                               generator=generator)], 1)

    inputs = {"x": torch.randn(ROWS, NODES, FEATURES, generator=generator),
              "source": ends(), "target": ends()}
    labels = torch.randint(0, CLASSES, (ROWS, NODES), generator=generator)
    torch.manual_seed(1)
    model = Gat().eval()
    batch = torch.export.Dim("N", min=1, max=64)
    program = torch.onnx.export(model, tuple(i[:BATCH] for i in inputs.values()), dynamo=True,
                                opset_version=18, input_names=list(inputs),
                                output_names=["output"], dynamic_shapes=({0: batch},) * 3,
                                verbose=False)
    proto = program.model_proto
    # Source positions name the folders of whoever ran the exporter. Without the signature
    # states have the names of the file's initializers, as they have in NAME-ref.npz.
    del proto.graph.metadata_props[:]
    for node in proto.graph.node:
        del node.metadata_props[:]
    for value in [*proto.graph.value_info, *proto.graph.input, *proto.graph.output]:
        del value.metadata_props[:]
    onnx.save(proto, os.path.join(FOLDER, "train-gat-sgd.onnx"))
    saveRun("train-gat-sgd", model, inputs, labels,
            lambda logits, labels: F.cross_entropy(logits.transpose(1, 2), labels),
            lambda p: torch.optim.SGD(p, 0.2, momentum=0.9), steps=STEPS)


if __name__ == "__main__":
    main()
