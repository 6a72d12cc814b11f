#!/usr/bin/env python3
"""Makes train-step.json: what PyTorch computes for a few steps of small programs.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

test/ops/TrainingTest.cpp builds the same programs with the train phase and evaluates
them by the reference. Everything is float64. Each case: initial states by name, the
batches, the loss of each step before its update, and the states after the last step.
"""

import json
import os

import torch
from torch import nn
from torch.nn import functional as F

FOLDER = os.path.dirname(os.path.abspath(__file__))
STEPS, BATCH, INPUTS, HIDDEN, CLASSES = 5, 6, 5, 7, 3


class Mlp(nn.Module):
    def __init__(self, outputs, norm):
        super().__init__()
        self.first = nn.Linear(INPUTS, HIDDEN)
        self.norm = nn.BatchNorm1d(HIDDEN) if norm else None
        self.last = nn.Linear(HIDDEN, outputs)

    def forward(self, x):
        x = self.first(x)
        if self.norm:
            x = self.norm(x)
        return self.last(torch.tanh(x))


def states(model):
    found = {n: t for n, t in model.state_dict().items() if "tracked" not in n}
    return {n: t.detach().flatten().tolist() for n, t in found.items()}


def useOnnxRunningVariance(module):
    def correct(module, inputs, output):
        x = inputs[0].detach()
        own, unbiased = x.var(0, unbiased=False), x.var(0)
        module.running_var.data.add_(module.momentum * (own - unbiased))
    module.register_forward_hook(correct)


def run(name, loss, makeOptimizer, options, outputs=CLASSES, norm=False, labels=None,
        onnxVariance=False, clip=None):
    torch.manual_seed(len(name))
    model = Mlp(outputs, norm).double().train()
    if onnxVariance:
        useOnnxRunningVariance(model.norm)
    case = {"name": name, "options": options, "norm": norm, "outputs": outputs,
            "states": states(model), "x": [], "labels": [], "losses": []}
    optimizer = makeOptimizer(model.parameters())
    for _ in range(STEPS):
        x = torch.randn(BATCH, INPUTS, dtype=torch.float64)
        y = labels(x) if labels else torch.randint(0, outputs, (BATCH,))
        value = loss(model(x), y)
        optimizer.zero_grad()
        value.backward()
        if clip:
            clip(model.parameters())
        optimizer.step()
        case["x"].append(x.flatten().tolist())
        case["labels"].append(y.flatten().tolist())
        case["losses"].append(value.item())
    case["after"] = states(model)
    return case


def main():
    sgd, adam, adamw = torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW
    crossEntropy = F.cross_entropy

    def reals(x):
        return torch.randn(BATCH, 2, dtype=torch.float64)

    def truths(x):
        return torch.randint(0, 2, (BATCH, 2)).double()

    def clipNorm(parameters):
        nn.utils.clip_grad_norm_(parameters, 0.25)

    def clipValue(parameters):
        nn.utils.clip_grad_value_(parameters, 0.05)

    cases = [
        run("sgd", crossEntropy, lambda p: sgd(p, lr=0.5), {"optimizer": "sgd", "lr": 0.5}),
        run("momentum", crossEntropy, lambda p: sgd(p, lr=0.1, momentum=0.9, weight_decay=0.01),
            {"optimizer": "sgd", "lr": 0.1, "momentum": 0.9, "weight-decay": 0.01}),
        run("nesterov", crossEntropy, lambda p: sgd(p, lr=0.1, momentum=0.8, nesterov=True),
            {"optimizer": "sgd", "lr": 0.1, "momentum": 0.8, "nesterov": True}),
        run("adam", crossEntropy, lambda p: adam(p, lr=0.05, weight_decay=0.02),
            {"optimizer": "adam", "lr": 0.05, "weight-decay": 0.02}),
        run("adamw", crossEntropy, lambda p: adamw(p, lr=0.05, betas=(0.8, 0.95), eps=1e-6),
            {"optimizer": "adamw", "lr": 0.05, "beta1": 0.8, "beta2": 0.95, "eps": 1e-6}),
        run("ignored", lambda x, y: crossEntropy(x, y, ignore_index=1), lambda p: sgd(p, lr=0.5),
            {"optimizer": "sgd", "lr": 0.5, "ignore-index": 1}),
        run("smoothed", lambda x, y: crossEntropy(x, y, label_smoothing=0.2),
            lambda p: sgd(p, lr=0.5), {"optimizer": "sgd", "lr": 0.5, "label-smoothing": 0.2}),
        run("mse", F.mse_loss, lambda p: sgd(p, lr=0.3), {"loss": "mse", "lr": 0.3}, 2,
            labels=reals),
        run("l1", F.l1_loss, lambda p: sgd(p, lr=0.3), {"loss": "l1", "lr": 0.3}, 2, labels=reals),
        run("huber", F.huber_loss, lambda p: sgd(p, lr=0.3), {"loss": "huber", "lr": 0.3}, 2,
            labels=reals),
        run("bce", F.binary_cross_entropy_with_logits, lambda p: sgd(p, lr=0.3),
            {"loss": "bce", "lr": 0.3}, 2, labels=truths),
        run("clip-norm", crossEntropy, lambda p: sgd(p, lr=0.5), {"lr": 0.5, "clip-norm": 0.25},
            clip=clipNorm),
        run("clip-value", crossEntropy, lambda p: sgd(p, lr=0.5), {"lr": 0.5, "clip-value": 0.05},
            clip=clipValue),
        run("batch-norm", crossEntropy, lambda p: adam(p, lr=0.05), {"optimizer": "adam", "lr": 0.05},
            norm=True, onnxVariance=True),
        run("batch-norm-unbiased", crossEntropy, lambda p: sgd(p, lr=0.3),
            {"lr": 0.3, "bn-running-var": "unbiased"}, norm=True),
    ]
    with open(os.path.join(FOLDER, "train-step.json"), "w") as file:
        json.dump({"batch": BATCH, "inputs": INPUTS, "hidden": HIDDEN, "cases": cases}, file)
        file.write("\n")
    for case in cases:
        print(case["name"], case["losses"])


if __name__ == "__main__":
    main()
