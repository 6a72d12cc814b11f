"""Writes the inputs of positions.test and the results: positions.py INPUTS REFERENCE

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import struct
import sys

from npz import writeNpz

ROWS, COLUMNS = 5, 70
numbers = [3, 2**32 + 3, -1, -2**40, 2**31 - 1]
x = [1 + i / 8 for i in range(ROWS * COLUMNS)]


def floats(values):
    return "<f4", (ROWS, COLUMNS), struct.pack(f"<{len(values)}f", *values)


def chosen(holds):
    return floats([value if holds(i % COLUMNS, numbers[i // COLUMNS]) else 0
                   for i, value in enumerate(x)])


writeNpz(sys.argv[1], {"x": floats(x), "n": ("<i8", (ROWS,), struct.pack("<5q", *numbers))})
writeNpz(sys.argv[2], {"equal": chosen(lambda position, n: position == n),
                       "other": chosen(lambda position, n: position != n),
                       "upto": chosen(lambda position, n: n >= position),
                       "below": floats(x)})
