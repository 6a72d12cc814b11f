#!/usr/bin/env python3
"""Makes the training references of test/models: NAME.onnx, NAME-data.npz, NAME-ref.npz.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Each case trains the exported weights for 48 steps in float64 with PyTorch, on the rows
of NAME-data.npz in order. NAME-ref.npz holds `losses` (of each batch, before its update)
and, after the last step, every state under its name in the ONNX file; optimizer slots
are SLOT/NAME. test/e2e/training has the command lines.
"""

import copy
import os

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn
from torch.nn import functional as F

from export import FOLDER, saveArrays, toDouble
from make_sequence import Bert, Gpt2
from make_fusion import EncoderLayer
from make_vision import VitBlock, convNorm

STEPS, BATCH, ROWS = 48, 8, 96
SLOTS = {"momentum_buffer": "momentum", "exp_avg": "m", "exp_avg_sq": "v"}


def statesByName(path, model):
    """{ONNX name: (PyTorch name, transposed)}, matched by initial value; Identity of an
    initializer is a state of its own."""
    graph = onnx.load(path).graph
    values = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    for node in graph.node:
        if node.op_type == "Identity" and node.input[0] in values:
            values[node.output[0]] = values[node.input[0]]
    result, torchStates = {}, dict(model.named_parameters())
    torchStates.update({n: b for n, b in model.named_buffers() if "running" in n})
    for name, state in torchStates.items():
        array = state.detach().numpy()
        if name in values:
            result[name] = (name, False)
            continue
        for other, value in values.items():
            if other not in result and other not in torchStates:
                if value.shape == array.shape and (value == array).all():
                    result[other] = (name, False)
                    break
                if value.shape == array.T.shape and (value == array.T).all():
                    result[other] = (name, True)
                    break
        else:
            print(f"  {name}: no initializer of its own in {os.path.basename(path)}")
    return result


def useOnnxRunningVariance(model):
    """ONNX's running variance takes the batch's own variance, PyTorch's the unbiased."""
    def correct(module, inputs, output):
        x = inputs[0].detach().transpose(0, 1).flatten(1)
        unbiased, own = x.var(1), x.var(1, unbiased=False)
        module.running_var.data.add_(module.momentum * (own - unbiased))

    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
            module.register_forward_hook(correct)


def save(name, model, inputs, labels, loss, makeOptimizer, opset=17, onnxVariance=True,
         fold=False):
    """`inputs`: {name: tensor of ROWS rows}; loss(output, labels) is what PyTorch
    minimises, on the first output. `fold` exports as torch.onnx.export does by default."""
    path = os.path.join(FOLDER, name + ".onnx")
    model.eval()
    mode = torch.onnx.TrainingMode.EVAL if fold else torch.onnx.TrainingMode.PRESERVE
    torch.onnx.export(model, tuple(i[:BATCH] for i in inputs.values()), path,
                      opset_version=opset, training=mode, do_constant_folding=fold,
                      input_names=list(inputs), output_names=["output"],
                      dynamic_axes={n: {0: "N"} for n in [*inputs, "output"]})
    saveRun(name, model, inputs, labels, loss, makeOptimizer, onnxVariance)


def saveRun(name, model, inputs, labels, loss, makeOptimizer, onnxVariance=True, steps=STEPS):
    """Trains `model`, which NAME.onnx holds, and writes what is beside that file."""
    path = os.path.join(FOLDER, name + ".onnx")
    names = statesByName(path, model)
    twin = copy.deepcopy(model).double().train()
    if onnxVariance:
        useOnnxRunningVariance(twin)
    optimizer = makeOptimizer(twin.parameters())
    losses = []
    for step in range(steps):
        rows = slice(step * BATCH % ROWS, step * BATCH % ROWS + BATCH)
        output = twin(*[toDouble(i[rows]) for i in inputs.values()])
        value = loss(output, toDouble(labels[rows]))
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        losses.append(value.item())
    arrays = {"losses": np.array(losses)}
    tensors = dict(twin.named_parameters())
    tensors.update(twin.named_buffers())
    for onnxName, (name_, transposed) in names.items():
        tensor = tensors[name_]
        slots = {SLOTS[k]: v for k, v in optimizer.state.get(tensor, {}).items()
                 if k in SLOTS and v is not None}
        for key, value in [("", tensor), *slots.items()]:
            value = value.detach().numpy()
            arrays[f"{key}/{onnxName}" if key else onnxName] = value.T if transposed else value
    saveArrays(name + "-data.npz", {**{n: i.numpy() for n, i in inputs.items()},
                                    "labels": labels.numpy()})
    saveArrays(name + "-ref.npz", arrays)
    print(f"{name}: {os.path.getsize(path)} bytes, losses {losses[0]:.6f} .. {losses[-1]:.6f},"
          f" {len(names)} states")


def mlp(outputs, *last):
    return nn.Sequential(nn.Linear(12, 33), nn.ReLU(), nn.Linear(33, 18), nn.Tanh(),
                         nn.Linear(18, outputs), *last)


def cnn():
    return nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.GELU(), nn.MaxPool2d(2),
                         nn.Conv2d(6, 10, 3), nn.GELU(), nn.AvgPool2d(2), nn.Flatten(),
                         nn.Linear(40, 16), nn.GELU(), nn.Linear(16, 5))


def depthwise():
    # With ReLU alone the scale of one norm would cancel in the next: its gradient would be
    # rounding noise, in float32 not good to 1e-5 of itself.
    return nn.Sequential(convNorm(2, 8, act=nn.Hardswish),
                         convNorm(8, 8, 3, 2, groups=8, act=nn.ReLU6), convNorm(8, 12, 1),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 5))


class Encoder(nn.Module):
    """Token and position embeddings, one pre-norm attention layer, mean pooling."""

    def __init__(self, words=20, length=6, width=16, heads=2):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.position = nn.Parameter(torch.randn(1, length, width) * 0.1)
        self.block = VitBlock(width, heads, 3 * width)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 4)

    def forward(self, tokens):
        x = self.block(self.embedding(tokens) + self.position)
        return self.head(self.norm(x).mean(1))


def layers():
    """Relus and widths in multiples of 8: what libraries keep for gradients."""
    return nn.Sequential(nn.Linear(12, 40), nn.ReLU(), nn.Linear(40, 24), nn.ReLU(),
                         nn.Linear(24, 5))


class BertClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert, self.head = Bert(words=30, positions=10, width=16, heads=2), nn.Linear(16, 3)
        for module in self.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.head(self.bert(input_ids, attention_mask, token_type_ids)[1])


class LstmClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.cell = nn.Embedding(20, 8), nn.LSTM(8, 12, batch_first=True)
        self.head = nn.Linear(12, 4)

    def forward(self, tokens):
        return self.head(self.cell(self.embedding(tokens))[0][:, -1])


def main():
    generator = torch.Generator().manual_seed(11)

    def real(*shape):
        return torch.randn(ROWS, *shape, generator=generator)

    def whole(high, *shape):
        return torch.randint(0, high, (ROWS, *shape), generator=generator)

    def tokenLoss(logits, labels):
        return F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=-100)

    sgd, adam, adamw = torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW
    entropy = F.cross_entropy
    torch.manual_seed(1)
    save("train-mlp-sgd", mlp(5), {"x": real(12)}, whole(5), entropy,
         lambda p: sgd(p, 0.05))
    save("train-mlp-momentum", mlp(5), {"x": real(12)}, whole(5), entropy,
         lambda p: sgd(p, 0.02, momentum=0.9, weight_decay=1e-2))
    save("train-mlp-nesterov", mlp(5), {"x": real(12)}, whole(5), entropy,
         lambda p: sgd(p, 0.02, momentum=0.8, nesterov=True, weight_decay=1e-3), fold=True)
    save("train-mlp-adam", mlp(5), {"x": real(12)}, whole(5), entropy, lambda p: adam(p, 1e-3))
    save("train-mlp-mse", mlp(3), {"x": real(12)}, real(3), F.mse_loss,
         lambda p: adam(p, 2e-3))
    save("train-mlp-bce", mlp(3, nn.Sigmoid()), {"x": real(12)}, whole(2, 3).float(),
         F.binary_cross_entropy, lambda p: sgd(p, 0.5))
    save("train-cnn-adam", cnn(), {"x": real(1, 12, 12)}, whole(5), entropy,
         lambda p: adam(p, 2e-3, betas=(0.8, 0.95), eps=1e-6, weight_decay=1e-2))
    save("train-depthwise-sgd", depthwise(), {"x": real(2, 8, 8)}, whole(5), entropy,
         lambda p: sgd(p, 0.05, momentum=0.9))
    save("train-depthwise-unbiased", depthwise(), {"x": real(2, 8, 8)}, whole(5), entropy,
         lambda p: sgd(p, 0.03, momentum=0.8, nesterov=True), onnxVariance=False)
    save("train-encoder-adamw", Encoder(), {"tokens": whole(20, 6)}, whole(4), entropy,
         lambda p: adamw(p, 2e-3, betas=(0.85, 0.98), eps=1e-7, weight_decay=0.1))
    mask = (torch.arange(7)[None, :] < 3 + whole(5, 1)).long()
    save("train-bert-adamw", BertClassifier(),
         {"input_ids": whole(30, 7), "attention_mask": mask, "token_type_ids": whole(2, 7)},
         whole(3), entropy, lambda p: adamw(p, 3e-4), fold=True)
    labels = whole(24, 9)
    labels[:, :2] = -100
    labels[::5, 6:] = -100
    save("train-gpt2-lm", Gpt2(words=24, positions=9, width=16, heads=2, layers=1),
         {"input_ids": whole(24, 9)}, labels, tokenLoss,
         lambda p: adamw(p, 1e-3, eps=1e-6), opset=13)
    tokens, classes = whole(20, 6), whole(4)
    save("train-lstm-adam", LstmClassifier(), {"tokens": tokens}, classes, entropy,
         lambda p: adam(p, 5e-3))
    save("train-lstm-folded", LstmClassifier(), {"tokens": tokens}, classes, entropy,
         lambda p: sgd(p, 0.2, momentum=0.9), opset=14, fold=True)
    save("train-relu-adam", layers(), {"x": real(12)}, whole(5), entropy,
         lambda p: adam(p, 1e-3))
    # Heads of 8 and a hidden layer of 48: the GELU and its gradient in library calls.
    save("train-layer-sgd", EncoderLayer(16, 2, 48, packed=True, tanh=True), {"x": real(6, 16)},
         real(6, 16), F.mse_loss, lambda p: sgd(p, 0.2, momentum=0.9))


if __name__ == "__main__":
    main()
