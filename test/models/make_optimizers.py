#!/usr/bin/env python3
"""Makes train-mlp-OPTIMIZER-ref.npz: the run of train-mlp-sgd.onnx with other optimizers.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    /usr/bin/python3 test/models/make_optimizers.py      (Debian: python3-torch, python3-onnx)

The same weights, rows and 48 steps as train-mlp-sgd, in float64. RMSprop and Adagrad are
PyTorch's; LAMB and Lion are written here from their papers, because PyTorch has neither, and
Muon from the documentation of torch.optim.Muon (2.9), which older PyTorch versions lack.
train-mlp-average is AdamW with limits of gradients, biases without decay and averaged weights.
"""

import os

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch.nn import functional as F

from export import FOLDER, saveArrays
from make_training import BATCH, ROWS, STEPS, mlp

SLOTS = {"momentum_buffer": "momentum", "exp_avg": "m", "exp_avg_sq": "v", "square_avg": "v",
         "sum": "sum"}


class Lion(torch.optim.Optimizer):
    """Chen et al. 2023, algorithm 2."""

    def __init__(self, params, lr, betas, weight_decay):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            (first, second), lr = group["betas"], group["lr"]
            for p in group["params"]:
                state = self.state[p]
                m = state.setdefault("exp_avg", torch.zeros_like(p))
                direction = torch.sign(first * m + (1 - first) * p.grad)
                p.mul_(1 - lr * group["weight_decay"]).sub_(lr * direction)
                m.mul_(second).add_((1 - second) * p.grad)


class Lamb(torch.optim.Optimizer):
    """You et al. 2020, algorithm 2, with the identity for phi."""

    def __init__(self, params, lr, betas, eps, weight_decay):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            first, second = group["betas"]
            for p in group["params"]:
                state = self.state[p]
                state["t"] = t = state.get("t", 0) + 1
                m = state.setdefault("exp_avg", torch.zeros_like(p))
                v = state.setdefault("exp_avg_sq", torch.zeros_like(p))
                m.mul_(first).add_((1 - first) * p.grad)
                v.mul_(second).add_((1 - second) * p.grad**2)
                change = m / (1 - first**t) / ((v / (1 - second**t)).sqrt() + group["eps"])
                change += group["weight_decay"] * p
                norms = p.norm(), change.norm()
                trust = norms[0] / norms[1] if norms[0] > 0 and norms[1] > 0 else 1.0
                p.sub_(group["lr"] * trust * change)


class Muon(torch.optim.Optimizer):
    """torch.optim.Muon for matrices, computed in the parameters' own type; AdamW for the rest."""

    A, B, C, STEPS, EPS = 3.4445, -4.775, 2.0315, 5, 1e-7

    def __init__(self, params, lr, momentum, weight_decay, betas=(0.9, 0.999), eps=1e-8):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay))
        rest = [p for group in self.param_groups for p in group["params"] if p.ndim != 2]
        self.rest = torch.optim.AdamW(rest, lr, betas, eps, weight_decay)

    def orthogonalised(self, x):
        isTall = x.shape[0] > x.shape[1]
        x = (x.T if isTall else x) / x.norm().clamp(min=self.EPS)
        for _ in range(self.STEPS):
            gram = x @ x.T
            x = self.A * x + (self.B * gram + self.C * gram @ gram) @ x
        return x.T if isTall else x

    @torch.no_grad()
    def step(self):
        self.rest.step()
        for p, state in self.rest.state.items():
            self.state[p] = state
        for group in self.param_groups:
            lr, momentum = group["lr"], group["momentum"]
            for p in group["params"]:
                if p.ndim != 2:
                    continue
                buffer = self.state[p].setdefault("momentum_buffer", torch.zeros_like(p))
                buffer.lerp_(p.grad, 1 - momentum)
                change = self.orthogonalised(p.grad.lerp(buffer, momentum))
                p.mul_(1 - lr * group["weight_decay"])
                p.sub_(lr * max(1, p.shape[0] / p.shape[1])**0.5 * change)


def withoutBiases(parameters, decay):
    """Two groups of AdamW."""
    parameters = list(parameters)
    return [{"params": [p for p in parameters if p.ndim > 1], "weight_decay": decay},
            {"params": [p for p in parameters if p.ndim == 1], "weight_decay": 0.0}]


def save(name, makeOptimizer, clipValue=None, clipNorm=None, ema=None):
    graph = onnx.load(os.path.join(FOLDER, "train-mlp-sgd.onnx")).graph
    data = np.load(os.path.join(FOLDER, "train-mlp-sgd-data.npz"))
    model = mlp(5).double().train()
    weights = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    for key, value in model.named_parameters():
        value.data.copy_(torch.from_numpy(weights[key].copy()))
    optimizer = makeOptimizer(model.parameters())
    losses, averages = [], {key: p.detach().clone() for key, p in model.named_parameters()}
    for step in range(STEPS):
        rows = slice(step * BATCH % ROWS, step * BATCH % ROWS + BATCH)
        loss = F.cross_entropy(model(torch.from_numpy(data["x"][rows]).double()),
                               torch.from_numpy(data["labels"][rows]))
        optimizer.zero_grad()
        loss.backward()
        if clipValue:
            torch.nn.utils.clip_grad_value_(model.parameters(), clipValue)
        if clipNorm:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clipNorm)
        optimizer.step()
        if ema:
            for key, p in model.named_parameters():
                averages[key].mul_(ema).add_((1 - ema) * p.detach())
        losses.append(loss.item())
    arrays = {"losses": np.array(losses)}
    for key, tensor in model.named_parameters():
        arrays[key] = tensor.detach().numpy()
        for slot, value in optimizer.state[tensor].items():
            if slot in SLOTS and value is not None:
                arrays[f"{SLOTS[slot]}/{key}"] = value.numpy()
        if ema:
            arrays["ema/" + key] = averages[key].numpy()
    saveArrays(name + "-ref.npz", arrays)
    print(f"{name}: losses {losses[0]:.6f} .. {losses[-1]:.6f}")


def main():
    save("train-mlp-rmsprop", lambda p: torch.optim.RMSprop(p, 2e-3, alpha=0.95, eps=1e-6,
                                                            momentum=0.5, weight_decay=1e-3))
    save("train-mlp-adagrad", lambda p: torch.optim.Adagrad(p, 2e-2, weight_decay=1e-3))
    save("train-mlp-lamb", lambda p: Lamb(p, 1e-2, (0.9, 0.99), 1e-6, 1e-2))
    save("train-mlp-lion", lambda p: Lion(p, 1e-3, (0.9, 0.99), 0.1))
    save("train-mlp-muon", lambda p: Muon(p, 5e-3, 0.9, 0.05))
    save("train-mlp-average", lambda p: torch.optim.AdamW(withoutBiases(p, 0.1), 5e-3, eps=1e-6),
         clipValue=0.05, clipNorm=0.5, ema=0.9)


if __name__ == "__main__":
    main()
