"""Hand-written networks with attention, and graph networks: one of networks.py's lists.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import torch
from torch import nn
from torch.nn import functional as F

from network import Network, features, tokens


class TiedDecoder(nn.Module):
    """A decoder whose head is its embedding; learned positions, a mask as a buffer."""

    def __init__(self, vocabulary=40, width=24, length=10):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.embed.weight, std=0.3)
        self.positions = nn.Parameter(0.1 * torch.randn(length, width))
        self.register_buffer("mask", torch.full((length, length), float("-inf")).triu(1))
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        x = self.embed(tokens) + self.positions
        q, k, v = self.qkv(self.norm1(x)).chunk(3, -1)
        scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5 + self.mask
        x = x + self.out(scores.softmax(-1) @ v)
        x = x + self.down(F.gelu(self.up(self.norm2(x))))
        return self.head(self.norm(x))


class RotaryAttention(nn.Module):
    """Two layers of causal attention with tables of rotary positions as buffers."""

    def __init__(self, width=24, heads=3, length=10, vocabulary=40):
        super().__init__()
        self.heads, size = heads, width // heads
        angles = torch.outer(torch.arange(length).float(),
                             10000 ** (-torch.arange(0, size, 2).float() / size))
        angles = torch.cat([angles, angles], -1)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        self.embed = nn.Embedding(vocabulary, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width, bias=False) for _ in range(2))
        self.out = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(2))
        self.head = nn.Linear(width, vocabulary)

    def rotate(self, x):
        a, b = x.chunk(2, -1)
        return x * self.cos + torch.cat([-b, a], -1) * self.sin

    def forward(self, tokens):
        x = self.embed(tokens)
        n, length, width = x.shape
        for norm, qkv, out in zip(self.norms, self.qkv, self.out):
            q, k, v = (t.view(n, length, self.heads, -1).transpose(1, 2)
                       for t in qkv(norm(x)).chunk(3, -1))
            y = F.scaled_dot_product_attention(self.rotate(q), self.rotate(k), v, is_causal=True)
            x = x + out(y.transpose(1, 2).reshape(n, length, width))
        return self.head(self.norms[2](x))


class Encoder(nn.Module):
    """nn.TransformerEncoder over vectors; a class token, positions of sines as a buffer."""

    def __init__(self, width=24, length=8, classes=5, normFirst=False):
        super().__init__()
        angles = torch.outer(torch.arange(length + 1).float(),
                             100 ** (-torch.arange(0, width, 2).float() / width))
        self.register_buffer("positions", torch.cat([angles.sin(), angles.cos()], -1))
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.stem = nn.Linear(6, width)
        layer = nn.TransformerEncoderLayer(width, 4, 48, dropout=0.0, batch_first=True,
                                           norm_first=normFirst)
        self.encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(width),
                                             enable_nested_tensor=False)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), self.stem(x)], 1)
        return self.head(self.encoder(x + self.positions)[:, 0])


class SelfAttention(nn.Module):
    """nn.MultiheadAttention over the sequence, and an output for each position."""

    def __init__(self, width=16):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        return self.head(x + self.attention(x, x, x, need_weights=False)[0])


def edges(nodes):
    """A fixed ring with chords and self-loops: (from, to)."""
    pairs = [(i, (i + step) % nodes) for i in range(nodes) for step in (0, 1, 3)]
    pairs += [(b, a) for a, b in pairs if a != b]
    return torch.tensor(pairs).T.contiguous()


class GraphConvolution(nn.Module):
    """Two layers of a GCN on a fixed graph, with a normalised adjacency as a buffer."""

    def __init__(self, nodes=10, width=16):
        super().__init__()
        source, target = edges(nodes)
        adjacency = torch.zeros(nodes, nodes)
        adjacency[target, source] = 1
        degree = adjacency.sum(1)
        self.register_buffer("adjacency", adjacency / (degree[:, None] * degree[None]).sqrt())
        self.one, self.two = nn.Linear(6, width), nn.Linear(width, width)
        self.head = nn.Linear(width, 4)

    def forward(self, x):
        x = F.relu(self.adjacency @ self.one(x))
        x = F.relu(self.adjacency @ self.two(x))
        return self.head(x.mean(1))


class GraphAttention(nn.Module):
    """Two layers of a GAT, written as PyG does: gather edges, scatter to nodes."""

    def __init__(self, nodes=10, width=16):
        super().__init__()
        source, target = edges(nodes)
        self.register_buffer("source", source)
        self.register_buffer("target", target)
        self.project = nn.ModuleList([nn.Linear(6, width, bias=False),
                                      nn.Linear(width, width, bias=False)])
        self.scores = nn.ParameterList(nn.Parameter(0.3 * torch.randn(2, width))
                                       for _ in range(2))
        self.biases = nn.ParameterList(nn.Parameter(torch.zeros(width)) for _ in range(2))
        self.head = nn.Linear(width, 4)

    def layer(self, x, project, score, bias):
        x = project(x)
        a, b = x @ score[0], x @ score[1]
        e = F.leaky_relu(a[:, self.source] + b[:, self.target], 0.2).exp()
        sums = torch.zeros_like(a).scatter_add(1, self.target.expand_as(e), e)
        weights = e / sums[:, self.target]
        messages = x[:, self.source] * weights[..., None]
        index = self.target[None, :, None].expand_as(messages)
        return torch.zeros_like(x).scatter_add(1, index, messages) + bias

    def forward(self, x):
        for project, score, bias in zip(self.project, self.scores, self.biases):
            x = F.elu(self.layer(x, project, score, bias))
        return self.head(x.mean(1))


NETWORKS = [
    Network("tied-decoder", TiedDecoder, tokens(40, 10, "tokens"), "tokens", momentum=0.9),
    Network("rotary-attention", RotaryAttention, tokens(40, 10, "tokens"), "tokens"),
    Network("encoder-post-norm", Encoder, features(8, 6)),
    Network("encoder-pre-norm", lambda: Encoder(normFirst=True), features(8, 6), momentum=0.9),
    Network("multihead-attention", SelfAttention, features(8, 16), "values"),
    Network("gcn", GraphConvolution, features(10, 6), rate=0.05, momentum=0.9),
    Network("gat-scatter", GraphAttention, features(10, 6), rate=0.05),
]
