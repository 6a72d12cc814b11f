"""Compares two runs of one model: losses of every step, and the states by name.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

merged_weights.py data IN.npz OUT.npz    a data set whose labels are its inputs
merged_weights.py compare A.json A.safetensors B.json B.safetensors
"""

import json
import math
import os
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../tools/scripts"))
import npz

# Of bfloat16 training: the losses, and each parameter in its norm. The bias of the keys
# has no gradient but for rounding, which an optimizer that divides by it makes steps of.
LOSS, NORM, NOISE = 3e-3, 1e-2, "inputs.1.bias"


def norm(values):
    return math.sqrt(sum(value * value for value in values))


def main():
    if sys.argv[1] == "data":
        source = zipfile.ZipFile(sys.argv[2])
        with zipfile.ZipFile(sys.argv[3], "w") as out:
            for name in ("x.npy", "labels.npy"):
                out.writestr(name, source.read("x.npy"))
        return 0
    logs = [[json.loads(line)["loss"] for line in open(path)] for path in (sys.argv[2], sys.argv[4])]
    states = [npz.readSafetensors(path) for path in (sys.argv[3], sys.argv[5])]
    if len(logs[0]) != len(logs[1]) or sorted(states[0]) != sorted(states[1]):
        print("other steps or other states")
        return 1
    loss = max(abs(a - b) / abs(b) for a, b in zip(*logs))
    worst = 0
    for name, a in states[0].items():
        b = states[1][name]
        if a.shape != b.shape:
            print(f"{name}: other shape")
            return 1
        if "/" in name or NOISE in name or not a.isFloat:
            continue
        worst = max(worst, norm([x - y for x, y in zip(a.values, b.values)]) / norm(b.values))
    print(f"losses {loss:.2g}, parameters {worst:.2g}, {len(states[0])} states")
    return 0 if loss <= LOSS and worst <= NORM else 1


sys.exit(main())
