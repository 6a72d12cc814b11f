"""Generated data for precision_accuracy.py: images of gratings, and tokens of a Markov chain.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Python's standard library only, so that tests can make them; equal on every machine.
"""

import math
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools",
                                "scripts"))
from npz import writeNpz

CLASSES, SIDE, PHASES = 10, 32, 4
STRONG, WEAK = 26, range(8, 26, 2)  # amplitudes
WORDS, LENGTH = 64, 32


def grating(kind, phase, amplitude):
    """An image of 3 planes: waves whose direction, length and colour belong to the class."""
    angle, length = math.pi * (kind % 5) / 5, 5 if kind < 5 else 7
    x, y = 2 * math.pi / length * math.cos(angle), 2 * math.pi / length * math.sin(angle)
    planes = []
    for channel in range(3):
        tint = 0.6 + 0.4 * math.cos(2 * math.pi * (kind / 10 + channel / 3))
        shift = 2 * math.pi * phase / PHASES
        planes += [round(amplitude * (1 + tint * math.sin(x * i + y * j + shift)) / 2)
                   for i in range(SIDE) for j in range(SIDE)]
    return int.from_bytes(bytes(planes), "little")


def writeImages(path, rows, seed):
    """uint8 images: a grating of the label's class, a weaker one of another, and noise. The
    second is at times so strong that nothing could tell; so no accuracy is perfect."""
    draw = random.Random(seed)
    strong = {(k, p): grating(k, p, STRONG) for k in range(CLASSES) for p in range(PHASES)}
    weak = {(k, p, a): grating(k, p, a) for k in range(CLASSES) for p in range(PHASES)
            for a in WEAK}
    # Sums of a few uniform numbers are nearly normal; bytes never carry into their neighbours.
    noise = bytes(i * 64 // 255 for i in range(256))
    images, labels = bytearray(), bytearray()
    size = 3 * SIDE * SIDE
    for _ in range(rows):
        label = draw.randrange(CLASSES)
        other = (label + draw.randrange(1, CLASSES)) % CLASSES
        total = strong[label, draw.randrange(PHASES)]
        total += weak[other, draw.randrange(PHASES), draw.choice(WEAK)]
        for _ in range(2):
            total += int.from_bytes(draw.randbytes(size).translate(noise), "little")
        images += total.to_bytes(size, "little")
        labels.append(label)
    writeNpz(path, {"x": ("|u1", (rows, 3, SIDE, SIDE), bytes(images)),
                    "labels": ("|u1", (rows,), bytes(labels))})


def writeTokens(path, rows, seed):
    """int64 tokens, each drawn by the two before it; labels are the tokens that follow."""
    rules = random.Random(0)  # the same language whatever the seed
    table = {(a, b): rules.sample(range(WORDS), 4) for a in range(4) for b in range(WORDS)}
    draw = random.Random(seed)
    inputs, labels = [], []
    for _ in range(rows):
        line = [draw.randrange(WORDS), draw.randrange(WORDS)]
        while len(line) <= LENGTH:
            line.append(table[line[-2] % 4, line[-1]][min(int(draw.expovariate(1.2)), 3)])
        inputs += line[:LENGTH]
        labels += line[1:LENGTH + 1]
    count = rows * LENGTH
    writeNpz(path, {"input_ids": ("<i8", (rows, LENGTH), struct.pack(f"<{count}q", *inputs)),
                    "labels": ("<i8", (rows, LENGTH), struct.pack(f"<{count}q", *labels))})
