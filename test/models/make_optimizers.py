#!/usr/bin/env python3
"""Makes train-mlp-OPTIMIZER-ref.npz: the run of train-mlp-sgd.onnx with other optimizers.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    /usr/bin/python3 test/models/make_optimizers.py      (Debian: python3-torch, python3-onnx)

The same weights, rows and 48 steps as train-mlp-sgd, in float64. RMSprop and Adagrad are
PyTorch's; LAMB and Lion are written here from their papers, as PyTorch has neither.
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


def save(name, makeOptimizer):
    graph = onnx.load(os.path.join(FOLDER, "train-mlp-sgd.onnx")).graph
    data = np.load(os.path.join(FOLDER, "train-mlp-sgd-data.npz"))
    model = mlp(5).double().train()
    weights = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    for key, value in model.named_parameters():
        value.data.copy_(torch.from_numpy(weights[key].copy()))
    optimizer = makeOptimizer(model.parameters())
    losses = []
    for step in range(STEPS):
        rows = slice(step * BATCH % ROWS, step * BATCH % ROWS + BATCH)
        loss = F.cross_entropy(model(torch.from_numpy(data["x"][rows]).double()),
                               torch.from_numpy(data["labels"][rows]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    arrays = {"losses": np.array(losses)}
    for key, tensor in model.named_parameters():
        arrays[key] = tensor.detach().numpy()
        for slot, value in optimizer.state[tensor].items():
            if slot in SLOTS and value is not None:
                arrays[f"{SLOTS[slot]}/{key}"] = value.numpy()
    saveArrays(name + "-ref.npz", arrays)
    print(f"{name}: losses {losses[0]:.6f} .. {losses[-1]:.6f}")


def main():
    save("train-mlp-rmsprop", lambda p: torch.optim.RMSprop(p, 2e-3, alpha=0.95, eps=1e-6,
                                                            momentum=0.5, weight_decay=1e-3))
    save("train-mlp-adagrad", lambda p: torch.optim.Adagrad(p, 2e-2, weight_decay=1e-3))
    save("train-mlp-lamb", lambda p: Lamb(p, 1e-2, (0.9, 0.99), 1e-6, 1e-2))
    save("train-mlp-lion", lambda p: Lion(p, 1e-3, (0.9, 0.99), 0.1))


if __name__ == "__main__":
    main()
