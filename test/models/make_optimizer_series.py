#!/usr/bin/env python3
"""Makes optimizer-series-ref.json: 48 losses of every optimizer, its options and schedules.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    /usr/bin/python3 test/models/make_optimizer_series.py   (Debian: python3-torch, python3-onnx)

A row has the flags of sinterc and of the trainer, and the same written with PyTorch: what
makes its optimizer, what makes its schedule, and what limits its gradients. All rows train
train-mlp-sgd.onnx on its rows in order, in float64. The file has, by name, both lists of
flags, the losses (of each batch, before its update) and the learning rates.
test/e2e/trainer/optimizer-series.test reads nothing else.
"""

import json
import os
from dataclasses import dataclass
from typing import Callable

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch.nn import functional as F
from torch.optim import lr_scheduler

from export import FOLDER
from make_optimizers import Lamb, Lion, Muon, withoutBiases
from make_training import BATCH, ROWS, STEPS, mlp

O = torch.optim


def constant(optimizer):
    return lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)


def warmed(steps, after):
    """`steps` steps of linear warm-up to the rate, then `after`, which makes a schedule."""
    def make(optimizer):
        rise = lr_scheduler.LambdaLR(optimizer, lambda step: (step + 1) / steps)
        return lr_scheduler.SequentialLR(optimizer, [rise, after(optimizer)], [steps])
    return make


def stepped(period, factor):
    return lambda o: lr_scheduler.StepLR(o, period, factor)


def linear(steps, last):
    """To the fraction `last` of the rate, which the last of `steps` steps has."""
    return lambda o: lr_scheduler.LinearLR(o, 1.0, last, steps - 1)


def cosine(steps, last=0.0):
    """To the rate `last`, which the last of `steps` steps has."""
    return lambda o: lr_scheduler.CosineAnnealingLR(o, steps - 1, last)


def oneCycle(top, rise=0.3, last=None):
    div = 1e4 if last is None else top / 25 / last
    return lambda o: lr_scheduler.OneCycleLR(o, top, total_steps=STEPS, pct_start=rise,
                                             cycle_momentum=False, final_div_factor=div)


@dataclass
class Case:
    compile: str
    optimizer: Callable
    train: str = ""
    schedule: Callable = constant
    clipValue: float = 0.0
    clipNorm: float = 0.0


CASES = {
    "sgd": Case("sgd --lr=0.05", lambda p: O.SGD(p, 0.05)),
    "sgd-decay": Case("sgd --lr=0.05 --weight-decay=0.01",
                      lambda p: O.SGD(p, 0.05, weight_decay=0.01),
                      "--lr-schedule=linear --lr-final=0.005", linear(STEPS, 0.1)),
    "sgd-momentum": Case("sgd --lr=0.02 --momentum=0.9", lambda p: O.SGD(p, 0.02, 0.9),
                         "--lr-schedule=step:10,0.5", stepped(10, 0.5)),
    "sgd-momentum-decay": Case("sgd --lr=0.02 --momentum=0.8 --weight-decay=0.05",
                               lambda p: O.SGD(p, 0.02, 0.8, weight_decay=0.05),
                               "--lr-schedule=cosine --warmup-steps=8", warmed(8, cosine(40))),
    "sgd-nesterov": Case("sgd --lr=0.02 --momentum=0.9 --nesterov",
                         lambda p: O.SGD(p, 0.02, 0.9, nesterov=True),
                         "--lr-schedule=one-cycle", oneCycle(0.02)),
    "sgd-all": Case("sgd --lr=0.02 --momentum=0.9 --nesterov --weight-decay=0.1 --no-decay=bias"
                    " --clip-value=0.1 --clip-norm=0.5",
                    lambda p: O.SGD(withoutBiases(p, 0.1), 0.02, 0.9, nesterov=True),
                    clipValue=0.1, clipNorm=0.5),
    "adam": Case("adam", lambda p: O.Adam(p)),
    "adam-decay": Case("adam --lr=5e-3 --weight-decay=0.02",
                       lambda p: O.Adam(p, 5e-3, weight_decay=0.02),
                       "--lr-schedule=cosine --lr-final=1e-4", cosine(STEPS, 1e-4)),
    "adam-all": Case("adam --lr=5e-3 --beta1=0.8 --beta2=0.95 --eps=1e-4 --weight-decay=0.02"
                     " --no-decay=bias --clip-norm=0.3",
                     lambda p: O.Adam(withoutBiases(p, 0.02), 5e-3, (0.8, 0.95), 1e-4),
                     "--lr-schedule=linear --warmup-steps=6", warmed(6, linear(42, 0.0)),
                     clipNorm=0.3),
    "adamw": Case("adamw", lambda p: O.AdamW(p), "--lr-schedule=step:7,0.8", stepped(7, 0.8)),
    "adamw-all": Case("adamw --lr=5e-3 --beta1=0.85 --beta2=0.98 --eps=1e-5 --weight-decay=0.2"
                      " --no-decay=bias --clip-value=0.05",
                      lambda p: O.AdamW(withoutBiases(p, 0.2), 5e-3, (0.85, 0.98), 1e-5),
                      "--lr-schedule=one-cycle --warmup-steps=12 --lr-final=1e-5",
                      oneCycle(5e-3, 0.25, 1e-5), clipValue=0.05),
    "lamb": Case("lamb", lambda p: Lamb(p, 1e-3, (0.9, 0.999), 1e-6, 0.0)),
    "lamb-all": Case("lamb --lr=1e-2 --beta1=0.8 --beta2=0.95 --eps=1e-5 --weight-decay=0.05",
                     lambda p: Lamb(p, 1e-2, (0.8, 0.95), 1e-5, 0.05),
                     "--lr-schedule=cosine --lr-final=1e-3 --warmup-steps=5",
                     warmed(5, cosine(43, 1e-3))),
    "adagrad": Case("adagrad", lambda p: O.Adagrad(p)),
    "adagrad-all": Case("adagrad --lr=2e-2 --eps=1e-6 --weight-decay=0.01",
                        lambda p: O.Adagrad(p, 2e-2, eps=1e-6, weight_decay=0.01),
                        "--lr-schedule=linear", linear(STEPS, 0.0)),
    "rmsprop": Case("rmsprop --lr=2e-3", lambda p: O.RMSprop(p, 2e-3),
                    "--lr-schedule=one-cycle --lr-final=2e-6", oneCycle(2e-3, 0.3, 2e-6)),
    "rmsprop-momentum": Case("rmsprop --lr=1e-3 --momentum=0.9 --eps=1e-6",
                             lambda p: O.RMSprop(p, 1e-3, eps=1e-6, momentum=0.9)),
    "rmsprop-all": Case("rmsprop --lr=2e-3 --beta2=0.9 --eps=1e-5 --momentum=0.5"
                        " --weight-decay=0.01 --no-decay=bias",
                        lambda p: O.RMSprop(withoutBiases(p, 0.01), 2e-3, 0.9, 1e-5, momentum=0.5),
                        "--lr-schedule=step:16,0.3 --warmup-steps=4", warmed(4, stepped(16, 0.3))),
    "lion": Case("lion", lambda p: Lion(p, 1e-4, (0.9, 0.99), 0.0)),
    "lion-all": Case("lion --lr=1e-3 --beta1=0.8 --beta2=0.95 --weight-decay=0.2",
                     lambda p: Lion(p, 1e-3, (0.8, 0.95), 0.2),
                     "--lr-schedule=cosine", cosine(STEPS)),
    "muon": Case("muon", lambda p: Muon(p, 1e-3, 0.95, 0.1)),
    "muon-all": Case("muon --lr=5e-3 --momentum=0.8 --nesterov --weight-decay=0.02 --beta1=0.8"
                     " --beta2=0.95 --eps=1e-6 --clip-norm=1",
                     lambda p: Muon(p, 5e-3, 0.8, 0.02, (0.8, 0.95), 1e-6),
                     "--lr-schedule=one-cycle", oneCycle(5e-3), clipNorm=1.0),
}


def run(case):
    graph = onnx.load(os.path.join(FOLDER, "train-mlp-sgd.onnx")).graph
    data = np.load(os.path.join(FOLDER, "train-mlp-sgd-data.npz"))
    weights = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    model = mlp(5).double().train()
    for key, value in model.named_parameters():
        value.data.copy_(torch.from_numpy(weights[key].copy()))
    optimizer = case.optimizer(model.parameters())
    # Muon's AdamW has the same rate.
    groups = [*optimizer.param_groups, *getattr(optimizer, "rest", optimizer).param_groups]
    schedule = case.schedule(optimizer)
    losses, rates = [], []
    for step in range(STEPS):
        rate = optimizer.param_groups[0]["lr"]
        for group in groups:
            group["lr"] = rate
        rows = slice(step * BATCH % ROWS, step * BATCH % ROWS + BATCH)
        loss = F.cross_entropy(model(torch.from_numpy(data["x"][rows]).double()),
                               torch.from_numpy(data["labels"][rows]))
        optimizer.zero_grad()
        loss.backward()
        if case.clipValue:
            torch.nn.utils.clip_grad_value_(model.parameters(), case.clipValue)
        if case.clipNorm:
            torch.nn.utils.clip_grad_norm_(model.parameters(), case.clipNorm)
        optimizer.step()
        losses.append(loss.item())
        rates.append(rate)
        if step + 1 < STEPS:
            schedule.step()
    return losses, rates


def main():
    result = {}
    for name, case in CASES.items():
        losses, rates = run(case)
        result[name] = {"sinterc": ("--optimizer=" + case.compile).split(),
                        "trainer": case.train.split(), "losses": losses, "lr": rates}
        print(f"{name}: losses {losses[0]:.6f} .. {losses[-1]:.6f},"
              f" rates {rates[0]:.3g} .. {rates[-1]:.3g}")
    with open(os.path.join(FOLDER, "optimizer-series-ref.json"), "w", encoding="utf-8") as file:
        rows = (f" {json.dumps(name)}: {json.dumps(row)}" for name, row in result.items())
        file.write("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
