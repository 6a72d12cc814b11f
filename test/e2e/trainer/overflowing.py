"""Copies the data of a test model; some batches of 8 rows are too large for float16.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    overflowing.py DATA.npz OUT.npz
"""

import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..",
                                "tools", "scripts"))
from npz import readNpz, writeNpz


def main():
    arrays = readNpz(sys.argv[1])
    x = arrays["x"]
    width = len(x.values) // x.shape[0]
    for batch in (3, 4, 9):
        for i in range(batch * 8 * width, (batch * 8 + 8) * width):
            x.values[i] *= 1e30
    kinds = {"f": "<f4", "q": "<i8"}
    writeNpz(sys.argv[2], {name: (kinds[array.letter], array.shape,
                                  struct.pack(f"<{len(array.values)}{array.letter}",
                                              *array.values))
                           for name, array in arrays.items()})


if __name__ == "__main__":
    main()
