#!/usr/bin/env python3
"""One inference timing of ONNX Runtime; prints the median in milliseconds.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    run_onnxruntime.py MODEL BATCH THREADS SECONDS      (needs onnxruntime and numpy)
"""

import sys
import time

import numpy as np
import onnxruntime

path, batch, threads, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = threads
options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
draw = np.random.default_rng(0)
feeds = {}
for value in session.get_inputs():
    shape = [batch if isinstance(d, str) else d for d in value.shape]
    # As sinter-run draws: floats in [-1, 1), integers 0 or 1, valid for any table of theirs.
    feeds[value.name] = (draw.integers(0, 2, shape, np.int64) if "int64" in value.type
                         else draw.uniform(-1, 1, shape).astype(np.float32))
for _ in range(3):
    session.run(None, feeds)
times, end = [], time.perf_counter() + seconds
while time.perf_counter() < end or len(times) < 3:
    begin = time.perf_counter()
    session.run(None, feeds)
    times.append(time.perf_counter() - begin)
print(1000 * sorted(times)[len(times) // 2])
