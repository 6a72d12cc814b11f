"""Writes the data of wide.mlir: 64 rows of four numbers.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    wide.py DATA.npz [ROW]    the last number of row ROW is 1e22: the square of the gradient of the
                              last quarter of the weight is infinite, the loss is not
"""

import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "..", "tools", "scripts"))
from npz import writeNpz

ROWS, WIDTH = 64, 4
draw = random.Random(6)
x = [draw.randrange(1, 17) / 16 for _ in range(ROWS * WIDTH)]
for row in map(int, sys.argv[2:]):
    x[row * WIDTH + WIDTH - 1] = 1e22
writeNpz(sys.argv[1], {"x": ("<f4", (ROWS, WIDTH), struct.pack(f"<{len(x)}f", *x))})
