"""Writes images for example.test, in IDX and npz form; --compare compares the results.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    images.py FOLDER             writes images-idx3-ubyte and x.npz
    images.py FOLDER --compare   labels-idx1-ubyte must be the arg-max of y.npz
"""

import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "..", "tools", "scripts"))
from npz import readNpz, writeNpz

COUNT, PIXELS, CLASSES = 70, 28 * 28, 10  # not a multiple of the batch


def write(folder):
    draw = random.Random(1)
    pixels = bytes(draw.randrange(256) for _ in range(COUNT * PIXELS))
    with open(os.path.join(folder, "images-idx3-ubyte"), "wb") as file:
        file.write(struct.pack(">IIII", 0x803, COUNT, 28, 28) + pixels)
    data = struct.pack(f"<{len(pixels)}f", *[value / 255 for value in pixels])
    writeNpz(os.path.join(folder, "x.npz"), {"x": ("<f4", (COUNT, 1, 28, 28), data)})


def compare(folder):
    with open(os.path.join(folder, "labels-idx1-ubyte"), "rb") as file:
        labels = list(file.read()[8:])
    logits = readNpz(os.path.join(folder, "y.npz"))["logits"].values
    rows = [logits[i:i + CLASSES] for i in range(0, len(logits), CLASSES)]
    expected = [row.index(max(row)) for row in rows]
    if labels != expected:
        sys.exit(f"labels {labels}, expected {expected}")


if __name__ == "__main__":
    (compare if "--compare" in sys.argv else write)(sys.argv[1])
