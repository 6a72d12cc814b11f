#!/usr/bin/env python3
"""Makes scatter-reduce.json: the gradients that PyTorch gives scatter_reduce at ties and zeros.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

test/ops/GradientTest.cpp evaluates the same writes by the reference. Everything is
float64. Each case: what is written where, the cotangent of the result, and the gradients
by what is written to and by the updates (include_self=True, as in ONNX).
"""

import json
import os

import torch

FOLDER = os.path.dirname(os.path.abspath(__file__))
COTANGENT = [1.5, -2.0, 3.0, 4.0]
KINDS = {"max": "amax", "min": "amin", "prod": "prod"}
CASES = {
    "max": [([1, 2, 2, 0], [0, 0, 1, 2], [3, 3, 2, -1]),       # updates, and x among them
            ([3, 2, 2, 0], [0, 0, 0, 2], [3, 3, 1, 2]),
            ([-5, -5, -5, 0], [1, 1, 1, 1], [-5, -5, -5, -5]),
            ([0.0, 1, 2, 3], [0, 0, 3, 3], [-0.0, -1, 3, 1])],
    "min": [([4, 2, 2, 0], [0, 0, 1, 2], [3, 3, 2, 5]),
            ([3, 2, 2, 0], [0, 0, 0, 2], [3, 3, 7, 2])],
    "prod": [([2, 2, 2, 1], [0, 0, 0, 3], [3, 5, 7, 4]),
             ([0, 2, 2, 1], [0, 0, 0, 3], [3, 5, 7, 4]),        # one zero: x, an update
             ([2, 2, 2, 1], [0, 0, 0, 3], [0, 5, 7, 4]),
             ([2, 2, 2, 0], [0, 0, 0, 3], [0, 0, 7, 0]),        # two of them
             ([0, 0, 2, 1], [0, 0, 0, 3], [0, 5, 7, 0])],
}


def main():
    cases = []
    for kind, rows in CASES.items():
        for numbers, indices, written in rows:
            x = torch.tensor(numbers, dtype=torch.float64, requires_grad=True)
            updates = torch.tensor(written, dtype=torch.float64, requires_grad=True)
            result = torch.scatter_reduce(x, 0, torch.tensor(indices), updates, KINDS[kind])
            result.backward(torch.tensor(COTANGENT, dtype=torch.float64))
            cases.append({"kind": kind, "x": x.tolist(), "indices": indices,
                          "updates": updates.tolist(), "gradX": x.grad.tolist(),
                          "gradUpdates": updates.grad.tolist()})
    with open(os.path.join(FOLDER, "scatter-reduce.json"), "w", encoding="utf-8") as file:
        file.write('{"cotangent": ' + json.dumps(COTANGENT) + ', "cases": [\n')
        file.write(",\n".join(json.dumps(case) for case in cases) + "\n]}\n")


if __name__ == "__main__":
    main()
