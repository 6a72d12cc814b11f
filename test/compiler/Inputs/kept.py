"""Inputs for kept.mlir, and what it has to give.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    kept.py inputs FOLDER              without.npz, with.npz (for states, too), wrong.npz
    kept.py check OUT.npz SUM COUNT    a table whose other rows sum to SUM in each column
"""

import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "tools", "scripts"))
from npz import readNpz, writeNpz

ROW = [1.0, 2.0, 3.0, 4.0]


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


def inputs(folder):
    own = {"x": ("<f4", (1, 4), floats(*ROW)), "i": ("<i8", (1,), struct.pack("<q", 1))}
    states = {"past.a": ("<f4", (3, 4), floats(*[5.0] * 12)),
              "past.n": ("<i8", (), struct.pack("<q", 7))}
    writeNpz(os.path.join(folder, "without.npz"), own)
    writeNpz(os.path.join(folder, "with.npz"), own | states)
    writeNpz(os.path.join(folder, "wrong.npz"), own | {"past.a": ("<f4", (4,), floats(*ROW))})


def check(path, others, count):
    found = {name: array.values for name, array in readNpz(path).items()}
    wanted = {"y": [value + others for value in ROW], "past.n": [count],
              "past.a": [others / 2] * 4 + ROW + [others / 2] * 4}
    if found != wanted:
        sys.exit(f"{found}, expected {wanted}")


if __name__ == "__main__":
    if sys.argv[1] == "inputs":
        inputs(sys.argv[2])
    else:
        check(sys.argv[2], float(sys.argv[3]), int(sys.argv[4]))
