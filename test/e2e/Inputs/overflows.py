"""10,000 scripted steps of dynamic loss scaling, compared with PyTorch's GradScaler.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    overflows.py DATA.npz [--always]               writes the steps' inputs; --always: all overflow
    overflows.py --compare LOG STATES REFERENCE    scales and skips of each step must be equal,
                                                   counters at the end too

Gradients multiply `c` times the scale in fp16. Most `c` are small; at some steps one is a
power of two that overflows if the scale is large, and at some any scale overflows for a
while. The reference is written by test/models/make_grad_scaler.py.
"""

import json
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "..", "tools", "scripts"))
from npz import readSafetensors, writeNpz

STEPS, BATCH, WIDTH = 10000, 8, 4


def inputs():
    """Lists of STEPS * BATCH rows: x of WIDTH numbers, c of one."""
    draw = random.Random(6)
    x = [draw.randrange(-16, 17) / 16 for _ in range(STEPS * BATCH * WIDTH)]
    c = [draw.randrange(-64, 65) / 2**22 for _ in range(STEPS * BATCH)]
    burst = 0
    for step in range(STEPS):
        row = step * BATCH + draw.randrange(BATCH)
        if burst == 0 and draw.random() < 0.0005:
            burst = draw.randrange(1, 9)
        if burst > 0:
            burst -= 1
            c[row] = 2.0**30
        elif draw.random() < 0.02:
            c[row] = 2.0**draw.randrange(-6, 3)
    return x, c


def floats(values, *shape):
    return "<f4", shape, struct.pack(f"<{len(values)}f", *values)


def write(path, always):
    x, c = inputs()
    if always:
        c = [2.0**40] * len(c)
    writeNpz(path, {"x": floats(x, STEPS * BATCH, WIDTH), "c": floats(c, STEPS * BATCH, 1)})


def compare(log, states, reference):
    with open(reference, encoding="utf-8") as file:
        expected = json.load(file)
    changes = {change["step"]: change for change in expected["changes"]}
    scale = skipped = None
    with open(log, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    lines = [line for line in lines if "step" in line and not line.get("eval")]
    if len(lines) != STEPS:
        sys.exit(f"{len(lines)} steps in the log, expected {STEPS}")
    for line in lines:
        if line["step"] in changes:
            scale = changes[line["step"]]["scale"]
            skipped = changes[line["step"]]["skipped"]
        if (line["loss_scale"], line["skipped_steps"]) != (scale, skipped):
            sys.exit(f"step {line['step']}: scale {line['loss_scale']}, "
                     f"{line['skipped_steps']} skipped; expected {scale}, {skipped}")
    found = readSafetensors(states)
    for name, value in expected["states"].items():
        got = found[f"{name}/{name}"].values
        if got != [value]:
            sys.exit(f"{name} is {got} at the end, expected {value}")
    for got, wanted in zip(found["w"].values, expected["w"]):
        if abs(got - wanted) > 1e-5 * abs(wanted):
            sys.exit(f"w is {found['w'].values} at the end, expected {expected['w']}")
    print(f"{STEPS} steps as GradScaler's, {skipped} of them skipped")


if __name__ == "__main__":
    if sys.argv[1] == "--compare":
        compare(*sys.argv[2:])
    else:
        write(sys.argv[1], "--always" in sys.argv)
