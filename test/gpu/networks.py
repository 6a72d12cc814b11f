#!/usr/bin/env python3
"""The networks of test/gpu's comparisons in plain PyTorch, and their export for Sinter.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    /usr/bin/python3 networks.py [NAME..]      (Debian: python3-torch, python3-onnx)

writes Inputs/*.onnx, graphs whose weights are not in the file: they are external data in
NAME.safetensors, which weights.py makes by a rule from Inputs/NAME.json. So the graphs are
small, are committed, and Sinter, PyTorch and JAX compute with the same weights. Nothing has
dropout. Modules call F.scaled_dot_product_attention where PyTorch has it; what is exported
is the same in small ops, which Sinter recognises.
"""

import json
import os
import sys

import torch
from torch import nn
from torch.nn import functional as F

import workloads

HERE = os.path.dirname(os.path.abspath(__file__))


def attention(q, k, v, causal, mask=None):
    """Of [batch, heads, length, size]; `mask`: [queries, keys], which are looked at."""
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal and mask is None)
    scores = q @ k.transpose(-1, -2) * q.shape[-1]**-0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    elif causal:
        length = q.shape[-2]
        scores = scores + torch.triu(torch.full((length, length), float("-inf")), 1)
    return scores.softmax(-1) @ v


class Cache:
    """A layer's keys and values of all positions, each [batch, heads, positions, size]; what
    is put is theirs at `position`, of shape [1]."""

    def __init__(self, keys, values, position):
        self.kept, self.position, self.now = [keys, values], position, []

    def put(self, new):
        old = self.kept[len(self.now)]
        self.now.append(old.index_copy_(2, self.position, new.to(old.dtype)))
        return self.now[-1].to(new.dtype)

    def mask(self):
        positions = torch.arange(self.kept[0].shape[2], device=self.position.device)
        return (positions <= self.position)[None]


class Attention(nn.Module):
    def __init__(self, width, heads, causal=False):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, cache=None):
        length, width = x.shape[1:]
        q, k, v = self.qkv(x).split(width, 2)
        q, k, v = (part.reshape(-1, length, self.heads, width // self.heads).transpose(1, 2)
                   for part in (q, k, v))
        mask = None
        if cache:
            k, v = cache.put(k), cache.put(v)
            mask = cache.mask()
        y = attention(q, k, v, self.causal, mask)
        return self.output(y.transpose(1, 2).reshape(-1, length, width))


def perceptron(width, gelu):
    return nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(gelu), nn.Linear(4 * width, width))


class Block(nn.Module):
    """Of GPT-2 and ViT: norms come first."""

    def __init__(self, width, heads, causal, gelu, eps):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width, eps), Attention(width, heads, causal)
        self.norm2, self.mlp = nn.LayerNorm(width, eps), perceptron(width, gelu)

    def forward(self, x, cache=None):
        x = x + self.attention(self.norm1(x), cache)
        return x + self.mlp(self.norm2(x))


class EncoderLayer(nn.Module):
    """Of BERT: norms come last."""

    def __init__(self, width, heads):
        super().__init__()
        self.attention, self.norm1 = Attention(width, heads), nn.LayerNorm(width, 1e-12)
        self.mlp, self.norm2 = perceptron(width, "none"), nn.LayerNorm(width, 1e-12)

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.mlp(x))


class Mlp(nn.Sequential):
    def __init__(self, sizes):
        layers = []
        for i, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
            layers += ([nn.ReLU()] if i else []) + [nn.Linear(inputs, outputs)]
        super().__init__(*layers)


def convNorm(inputs, outputs, kernel, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False),
                         nn.BatchNorm2d(outputs))


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.first, self.second = convNorm(inputs, width, 1), convNorm(width, width, 3, stride)
        self.third = convNorm(width, 4 * width, 1)
        self.skip = nn.Identity()
        if stride != 1 or inputs != 4 * width:
            self.skip = convNorm(inputs, 4 * width, 1, stride)

    def forward(self, x):
        y = F.relu(self.second(F.relu(self.first(x))))
        return F.relu(self.third(y) + self.skip(x))


class ResNet(nn.Module):
    def __init__(self, width, depths, classes):
        super().__init__()
        self.stem, inputs, blocks = convNorm(3, width, 7, 2), width, []
        for stage, depth in enumerate(depths):
            for index in range(depth):
                blocks.append(Bottleneck(inputs, width << stage, 2 if stage and not index else 1))
                inputs = 4 * (width << stage)
        self.blocks, self.head = nn.Sequential(*blocks), nn.Linear(inputs, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.stem(x)), 3, 2, 1)
        return self.head(self.blocks(x).mean((2, 3)))


class Bert(nn.Module):
    """`words`: logits of every position, as for masked words; else the pooled output."""

    def __init__(self, vocabulary, positions, width, heads, layers, words=False):
        super().__init__()
        self.words = words
        self.word, self.position = nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
        self.norm = nn.LayerNorm(width, 1e-12)
        self.layers = nn.Sequential(*[EncoderLayer(width, heads) for _ in range(layers)])
        if words:
            self.transform, self.transformNorm = nn.Linear(width, width), nn.LayerNorm(width, 1e-12)
            self.bias = nn.Parameter(torch.zeros(vocabulary))
        else:
            self.pooler = nn.Linear(width, width)

    def forward(self, tokens):
        x = self.word(tokens) + self.position.weight[:tokens.shape[1]]
        x = self.layers(self.norm(x))
        if not self.words:
            return torch.tanh(self.pooler(x[:, 0]))
        return F.linear(self.transformNorm(F.gelu(self.transform(x))), self.word.weight, self.bias)


class Vit(nn.Module):
    def __init__(self, image, patch, width, heads, layers, classes):
        super().__init__()
        self.patch = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(torch.zeros(1, (image // patch)**2 + 1, width))
        self.blocks = nn.Sequential(*[Block(width, heads, False, "none", 1e-6)
                                      for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width, 1e-6), nn.Linear(width, classes)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.position
        return self.head(self.norm(self.blocks(x))[:, 0])


class Gpt2(nn.Module):
    """`last`: logits of the last position only, as for the first word after a prompt."""

    def __init__(self, vocabulary, positions, width, heads, layers, last=False):
        super().__init__()
        self.last = last
        self.word, self.position = nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
        self.blocks = nn.Sequential(*[Block(width, heads, True, "tanh", 1e-5)
                                      for _ in range(layers)])
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.blocks(self.word(tokens) + self.position.weight[:tokens.shape[1]])
        return F.linear(self.norm(x[:, -1] if self.last else x), self.word.weight)


class Gpt2Decode(Gpt2):
    """Logits after one more word, at `position`, of shape [1]. `caches` are keys and values
    of each layer in turn; they are changed, and returned for the export."""

    def forward(self, word, position, *caches):
        x, now = self.word(word) + self.position(position), []
        for i, block in enumerate(self.blocks):
            cache = Cache(*caches[2 * i:2 * i + 2], position)
            x = block(x, cache)
            now += cache.now
        return F.linear(self.norm(x[:, -1]), self.word.weight), *now


# Class, options; arguments and the shape of one example, each large and small.
NETWORKS = {
    "mlp": (Mlp, {}, [([784, 256, 128, 10],), ([784, 256, 128, 10],)], [(784,), (784,)]),
    "resnet50": (ResNet, {}, [(64, (3, 4, 6, 3), 1000), (8, (1, 1, 1, 1), 10)],
                 [(3, 224, 224), (3, 64, 64)]),
    "bert": (Bert, {}, [(30522, 512, 768, 12, 12), (96, 32, 32, 2, 2)], [(128,), (16,)]),
    "bert-384": (Bert, {}, [(30522, 512, 768, 12, 12), (96, 32, 32, 2, 2)], [(384,), (32,)]),
    "bert-mlm": (Bert, {"words": True}, [(30522, 512, 768, 12, 12), (96, 32, 32, 2, 2)],
                 [(128,), (16,)]),
    "vit": (Vit, {}, [(224, 16, 768, 12, 12, 1000), (32, 8, 32, 2, 2, 10)],
            [(3, 224, 224), (3, 32, 32)]),
    "gpt2": (Gpt2, {}, [(50257, 1024, 768, 12, 12), (96, 32, 32, 2, 2)], [(1024,), (32,)]),
    "gpt2-prefill": (Gpt2, {"last": True}, [(50257, 1024, 768, 12, 12), (96, 32, 32, 2, 2)],
                     [(1024,), (32,)]),
    "gpt2-decode": (Gpt2Decode, {}, [(50257, 1024, 768, 12, 12), (96, 32, 32, 2, 2)],
                    [(1,), (1,)]),
}


def make(name, small=False):
    kind, options, arguments, _ = NETWORKS[name]
    return kind(*arguments[small], **options)


def exampleShape(name, small=False):
    return NETWORKS[name][3][small]


def takesTokens(name):
    return name.startswith(("bert", "gpt2"))


def states(model):
    """Parameters and buffers by name, as Sinter's states."""
    return {name: tensor for name, tensor in model.state_dict().items()
            if not name.endswith("num_batches_tracked")}


# --- export --------------------------------------------------------------------------------


def exampleInputs(name, small):
    """Inputs, their names, and which dimension is open; none where there are caches."""
    caches = workloads.caches(name, small)
    if caches:
        inputs = [torch.zeros(1, 1, dtype=torch.long), torch.zeros(1, dtype=torch.long),
                  *(torch.zeros(shape, dtype=torch.bfloat16) for shape in caches.values())]
        return tuple(inputs), ["x", "position", *caches], {}
    shape = (2, *exampleShape(name, small))
    example = torch.zeros(shape, dtype=torch.long) if takesTokens(name) else torch.rand(shape)
    return example, ["x"], {"x": {0: "N"}, "y": {0: "N"}}


def export(name, small):
    import onnx
    import weights
    model = make(name, small).eval()  # so that inference has running statistics
    for tensor in states(model).values():
        tensor.copy_(torch.rand(tensor.shape))  # or the exporter makes one of equal ones
    example, names, axes = exampleInputs(name, small)
    end = "-small" if small else ""
    file, owner = name + end, workloads.SHARED.get(name, name) + end
    path = os.path.join(HERE, "Inputs", file + ".onnx")
    torch.onnx.export(model, example, path, opset_version=17, do_constant_folding=False,
                      training=torch.onnx.TrainingMode.PRESERVE, input_names=names,
                      output_names=["y", *(name.replace("past", "present") for name in names[2:])],
                      dynamic_axes=axes)
    listing = [[key, list(tensor.shape)] for key, tensor in states(model).items()]
    places = weights.places(listing)
    graph = onnx.load(path)
    for tensor in graph.graph.initializer:
        if tensor.name not in places:
            continue
        begin, end = places.pop(tensor.name)
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", owner + ".safetensors"), ("offset", begin),
                           ("length", end - begin)):
            tensor.external_data.add(key=key, value=str(value))
    if places:
        sys.exit(f"{file}: not in the graph: {', '.join(places)}")
    onnx.save(graph, path)
    if owner == file:
        with open(os.path.join(HERE, "Inputs", file + ".json"), "w") as listed:
            listed.write("[" + ",\n ".join(map(json.dumps, listing)) + "]\n")
    print(f"{file}: {os.path.getsize(path)} bytes,"
          f" {sum(tensor.numel() for tensor in states(model).values())} numbers")


def main():
    for name in sys.argv[1:] or NETWORKS:
        for small in (False, True):
            export(name, small)


if __name__ == "__main__":
    main()
