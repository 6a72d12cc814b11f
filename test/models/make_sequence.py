#!/usr/bin/env python3
"""Makes the text, sequence and table models of test/models at small sizes (see export.py).

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import math
import os

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn
from torch.nn import functional as F

from export import FOLDER, exportModel, randomiseNorms, saveArrays


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, 37), nn.ReLU(), nn.Linear(37, 24), nn.BatchNorm1d(24),
                                  nn.Sigmoid(), nn.Dropout(0.3), nn.Linear(24, 11), nn.ELU(),
                                  nn.Linear(11, 5))

    def forward(self, x):
        return self.body(x).softmax(-1)


class BertLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.o, self.n1 = nn.Linear(width, width), nn.LayerNorm(width, eps=1e-12)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.n2, self.drop = nn.LayerNorm(width, eps=1e-12), nn.Dropout(0.1)

    def split(self, x):
        shape = x.size()[:-1] + (self.heads, x.size(-1) // self.heads)
        return x.view(*shape).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.size(-1)) + mask
        context = torch.matmul(self.drop(F.softmax(scores, dim=-1)), v)
        context = context.permute(0, 2, 1, 3).contiguous()
        context = context.view(*(context.size()[:-2] + (x.size(-1),)))
        x = self.n1(self.drop(self.o(context)) + x)
        return self.n2(self.drop(self.down(F.gelu(self.up(x)))) + x)


class Bert(nn.Module):
    def __init__(self, words=60, positions=40, width=32, heads=4, layers=2):
        super().__init__()
        self.word, self.position = nn.Embedding(words, width), nn.Embedding(positions, width)
        self.segment = nn.Embedding(2, width)
        self.register_buffer("position_ids", torch.arange(positions).expand((1, -1)))
        self.norm, self.drop = nn.LayerNorm(width, eps=1e-12), nn.Dropout(0.1)
        self.layers = nn.ModuleList([BertLayer(width, heads) for _ in range(layers)])
        self.pooler = nn.Linear(width, width)

    def forward(self, input_ids, attention_mask, token_type_ids):
        length = input_ids.size(1)
        x = self.word(input_ids) + self.segment(token_type_ids)
        x = self.drop(self.norm(x + self.position(self.position_ids[:, :length])))
        mask = attention_mask[:, None, None, :].to(dtype=x.dtype)
        mask = (1.0 - mask) * -10000.0
        for layer in self.layers:
            x = layer(x, mask)
        return x, torch.tanh(self.pooler(x[:, 0]))


class Conv1D(nn.Module):
    """A linear layer whose weight is [in, out]."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inputs, outputs) * 0.1)
        self.bias = nn.Parameter(torch.randn(outputs) * 0.1)
        self.outputs = outputs

    def forward(self, x):
        shape = x.size()[:-1] + (self.outputs,)
        return torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight).view(shape)


def geluTanh(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class GptBlock(nn.Module):
    def __init__(self, width, heads, positions):
        super().__init__()
        self.heads, self.width = heads, width
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = Conv1D(width, 3 * width), Conv1D(width, width)
        self.c_fc, self.m_proj = Conv1D(width, 4 * width), Conv1D(4 * width, width)
        causal = torch.tril(torch.ones(positions, positions)).to(torch.uint8)
        self.register_buffer("bias", causal.view(1, 1, positions, positions))
        self.register_buffer("masked_bias", torch.tensor(-1e4))

    def split(self, x):
        return x.view(x.size()[:-1] + (self.heads, self.width // self.heads)).permute(0, 2, 1, 3)

    def forward(self, x):
        q, k, v = self.c_attn(self.ln_1(x)).split(self.width, dim=2)
        q, k, v = self.split(q), self.split(k), self.split(v)
        scores = torch.matmul(q, k.transpose(-1, -2)) / (float(v.size(-1)) ** 0.5)
        ns, nd = k.size(-2), q.size(-2)
        mask = self.bias[:, :, ns - nd:ns, :ns].bool()
        scores = torch.where(mask, scores, self.masked_bias.to(scores.dtype))
        context = torch.matmul(F.softmax(scores, dim=-1), v).permute(0, 2, 1, 3).contiguous()
        x = x + self.c_proj(context.view(context.size()[:-2] + (self.width,)))
        return x + self.m_proj(geluTanh(self.c_fc(self.ln_2(x))))


class Gpt2(nn.Module):
    def __init__(self, words=50, positions=24, width=32, heads=4, layers=2):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(words, width), nn.Embedding(positions, width)
        self.h = nn.ModuleList([GptBlock(width, heads, positions) for _ in range(layers)])
        self.ln_f, self.lm_head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, input_ids):
        input_ids = input_ids.view(-1, input_ids.size(-1))
        positions = torch.arange(0, input_ids.size(-1), dtype=torch.long)
        x = self.wte(input_ids) + self.wpe(positions.unsqueeze(0).view(-1, input_ids.size(-1)))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


class Recurrent(nn.Module):
    def __init__(self, kind, layers, bidirectional):
        super().__init__()
        self.embedding = nn.Embedding(30, 12)
        self.cell = kind(12, 10, layers, batch_first=True, bidirectional=bidirectional)
        self.head = nn.Linear(20 if bidirectional else 10, 4)

    def forward(self, tokens):
        sequence, state = self.cell(self.embedding(tokens))
        last = state[0] if isinstance(state, tuple) else state
        return self.head(sequence[:, -1]), last[-1]


class Ranking(nn.Module):
    """A table of items; a history with padding; candidates scored and ordered."""

    def __init__(self):
        super().__init__()
        self.items, self.users = nn.Embedding(40, 8), nn.Embedding(10, 8)
        self.tower = nn.Sequential(nn.Linear(24, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def forward(self, user, history, candidates, dense):
        present = history >= 0
        rows = self.items(torch.where(present, history, torch.zeros_like(history)))
        weights = present.to(rows.dtype).unsqueeze(-1)
        mean = (rows * weights).sum(1) / torch.clamp(weights.sum(1), min=1.0)
        profile = torch.cat([mean, self.users(user)], dim=1)
        profile = profile.unsqueeze(1).expand(-1, candidates.size(1), -1)
        scores = self.tower(torch.cat([profile, self.items(candidates)], dim=2)).squeeze(-1)
        scores = scores + dense.masked_fill(dense < -1.0, 0.0)
        values, order = torch.topk(scores, 3, dim=1)
        top = torch.gather(candidates, 1, order)
        gain = torch.cumsum(torch.sigmoid(values), dim=1)
        return scores, values, top, gain, scores.argmax(dim=1)


def makeGruResetFirst(steps=3, width=1):
    """What PyTorch cannot export: a GRU whose reset gate comes before the product."""
    generator = np.random.RandomState(5)
    x, w, r, b = (generator.randn(*shape).astype(np.float32)
                  for shape in ((steps, 1, width), (1, 3 * width, width), (1, 3 * width, width),
                                (1, 6 * width)))
    node = helper.make_node("GRU", ["x", "w", "r", "b"], ["", "y"], name="gru",
                            hidden_size=width, linear_before_reset=0)
    graph = helper.make_graph(
        [node], "gru-reset-first", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in (("w", w), ("r", r), ("b", b))])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              os.path.join(FOLDER, "gru-reset-first.onnx"))
    saveArrays("gru-reset-first-in.npz", {"x": x})

    def sigmoid(value):
        return 1 / (1 + np.exp(-value))

    (wz, wr, wh), (rz, rr, rh) = (np.split(value[0].astype(float), 3) for value in (w, r))
    bz, br, bh, cz, cr, ch = np.split(b[0].astype(float), 6)
    h = np.zeros((1, width))
    for row in x.astype(float):
        z, reset = sigmoid(row @ wz.T + h @ rz.T + bz + cz), sigmoid(row @ wr.T + h @ rr.T + br + cr)
        h = (1 - z) * np.tanh(row @ wh.T + (reset * h) @ rh.T + ch + bh) + z * h
    saveArrays("gru-reset-first-ref.npz", {"y": h[None]})


def main():
    generator = torch.Generator().manual_seed(5)

    def tokens(high, *shape):
        return torch.randint(0, high, shape, generator=generator)

    def save(name, model, inputs, inputNames, outputNames, opset, dynamic, **options):
        exportModel(name, randomiseNorms(model), inputs, inputNames, outputNames, opset,
                    dynamic, **options)

    torch.manual_seed(1)
    x = torch.randn(6, 20, generator=generator)
    save("mlp", Mlp(), [x], ["x"], ["y"], 13, {"x": {0: "N"}, "y": {0: "N"}})

    torch.manual_seed(1)
    mask = (torch.arange(9)[None, :] < torch.tensor([[9], [6]])).long()
    names = ["input_ids", "attention_mask", "token_type_ids"]
    axes = {name: {0: "batch", 1: "sequence"} for name in names + ["last_hidden_state"]}
    bert = [tokens(60, 2, 9), mask, tokens(2, 2, 9)]
    save("bert", Bert(), bert, names, ["last_hidden_state", "pooler_output"], 12,
         dict(axes, pooler_output={0: "batch"}))
    torch.manual_seed(2)
    save("bert-static", Bert(), bert, names, ["last_hidden_state", "pooler_output"], 17, None)

    torch.manual_seed(1)
    axes = {name: {0: "batch", 1: "sequence"} for name in ("input_ids", "logits")}
    save("gpt2", Gpt2(), [tokens(50, 2, 11)], ["input_ids"], ["logits"], 13, axes)

    axes = {"tokens": {0: "batch", 1: "time"}, "y": {0: "batch"}, "last": {0: "batch"}}
    for name, kind, layers, both, opset in (("lstm", nn.LSTM, 1, False, 11),
                                            ("lstm-bidirectional", nn.LSTM, 2, True, 14),
                                            ("gru", nn.GRU, 1, False, 9),
                                            ("gru-bidirectional", nn.GRU, 2, True, 13)):
        torch.manual_seed(1)
        save(name, Recurrent(kind, layers, both), [tokens(30, 3, 7)], ["tokens"], ["y", "last"],
             opset, None if layers == 2 else axes)

    makeGruResetFirst()

    torch.manual_seed(1)
    history = torch.where(torch.arange(6)[None, :] < torch.tensor([[4], [6], [0]]),
                          tokens(40, 3, 6), torch.tensor(-1))
    inputs = [tokens(10, 3), history, tokens(40, 3, 5), torch.randn(3, 5, generator=generator)]
    names = ["user", "history", "candidates", "dense"]
    outputs = ["scores", "values", "top", "gain", "best"]
    save("ranking", Ranking(), inputs, names, outputs, 13,
         {name: {0: "N"} for name in names + outputs})


if __name__ == "__main__":
    main()
