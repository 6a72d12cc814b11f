#!/usr/bin/env python3
"""Training steps of PyTorch; prints the median time of one in milliseconds.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    run_torch.py mlp|cnn BATCH THREADS SECONDS      (Debian: python3-torch)

What a step is: forward, cross-entropy, backward, Adam, on a batch that is in memory.
"""

import os
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "docs", "examples")]

import torch
from torch.nn import functional as F

from make_cnn import FashionCnn
from make_models import mlp

name, batch, threads, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
torch.set_num_threads(threads)
torch.manual_seed(1)
model = (mlp() if name == "mlp" else FashionCnn()).train()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
x, labels = torch.rand(batch, 1, 28, 28), torch.randint(0, 10, (batch,))


def step():
    optimizer.zero_grad(set_to_none=True)
    F.cross_entropy(model(x), labels).backward()
    optimizer.step()


for _ in range(5):
    step()
times, end = [], time.perf_counter() + seconds
while time.perf_counter() < end or len(times) < 5:
    begin = time.perf_counter()
    step()
    times.append(time.perf_counter() - begin)
print(1000 * sorted(times)[len(times) // 2])
