"""Writes arrays whose elements are an expression.

    arrays.py FILE.npz NAME:TYPE:SHAPE:EXPRESSION ...

TYPE is npy's ("f4", "u1"), SHAPE is "8x3", and EXPRESSION is Python over the element's number i, its row r and
its number c in the row: "x:f4:8x3:i/24".

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import math
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tools/scripts"))
import npz


def main():
    file, *arrays = sys.argv[1:]
    written = {}
    for text in arrays:
        name, kind, shape, expression = text.split(":", 3)
        shape = [int(size) for size in shape.split("x")]
        perRow = math.prod(shape[1:])
        code = compile(expression, expression, "eval")
        values = [eval(code, {"math": math, "i": i, "r": i // perRow, "c": i % perRow})
                  for i in range(math.prod(shape))]
        written[name] = (("|" if kind[1] == "1" else "<") + kind, shape,
                         struct.pack(f"<{len(values)}{npz.NPY[kind]}", *values))
    npz.writeNpz(file, written)


main()
