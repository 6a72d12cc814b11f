"""Writes arrays for kept.mlir and shifted.mlir, and their expected results.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    kept.py FOLDER    for NAME of kept (states begin as zeros), given (they have values) and
                      shifted: NAME.npz and NAME-ref.npz; also wrong.npz, changed-ref.npz
"""

import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "tools", "scripts"))
from npz import writeNpz

ROW = [1.0, 2.0, 3.0, 4.0]


def floats(*values, shape=(4,)):
    return "<f4", shape, struct.pack(f"<{len(values)}f", *values)


def integer(value, *shape):
    return "<i8", shape, struct.pack("<q", value)


def results(others, count):
    """Of kept.mlir, whose table held `others` everywhere."""
    return {"y": floats(*[value + 2 * others for value in ROW]), "past.n": integer(count),
            "past.a": floats(*[others] * 4, *ROW, *[others] * 4, shape=(3, 4))}


def main(folder):
    own = {"x": floats(*ROW, shape=(1, 4)), "i": integer(1, 1)}
    table = {"past.a": floats(*[5.0] * 12, shape=(3, 4)), "past.n": integer(7)}
    a, b = floats(10, 11, 12, 13), floats(20, 21, 22, 23)
    files = {"kept": own, "kept-ref": results(0, 1), "given": own | table,
             "given-ref": results(5, 8), "wrong": own | {"past.a": floats(*ROW)},
             "changed-ref": results(5, 9),
             "shifted": {"x": floats(*ROW), "a": a, "b": b, "c": floats(5, 5, 5, 5)},
             "shifted-ref": {"y": floats(30, 35, 40, 45), "z": floats(6, 7, 8, 9), "a": b, "b": a,
                             "c": floats(6, 7, 8, 9)}}
    for name, arrays in files.items():
        writeNpz(os.path.join(folder, name + ".npz"), arrays)


if __name__ == "__main__":
    main(sys.argv[1])
