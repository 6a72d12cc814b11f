#!/usr/bin/env python3
"""Writes inputs of kernels, and the results.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    kernel_values.py rounding FOLDER    edges.npz and edges-ref.npz of narrow-rounding.test:
                                        numbers at which rounding to 16 bits differs
    kernel_values.py scatter FOLDER     in.npz, ref.npz and chain.npz of scatter-in-place.test,
                                        in small integers
"""

import math
import os
import random
import struct
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             "..", "..", "..", "tools", "scripts"))
import npz  # noqa: E402

# Digits, and the exponents of the least normal and of the greatest number.
BFLOAT16, FLOAT16 = (8, -126, 127), (11, -14, 15)


def rounded(value, form):
    """The number of a 16-bit form that is nearest to a float64, ties to even."""
    digits, least, greatest = form
    if value == 0 or not math.isfinite(value):
        return value
    exponent = max(math.frexp(value)[1] - 1, least)
    last = math.ldexp(1.0, exponent - digits + 1)
    result = round(value / last) * last  # Python rounds ties to even
    if abs(result) >= math.ldexp(1.0, greatest + 1):
        result = math.inf
    return math.copysign(result, value)


def floatOf(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def floats(shape, values, letter="f"):
    return f"<{'f4' if letter == 'f' else 'f8'}", shape, struct.pack(f"<{len(values)}{letter}", *values)


def writeRounding(folder):
    source = random.Random(7)
    ties = [0x3f800000 + i * 0x8000 + d for i in range(32) for d in (-1, 0, 1)]
    edges = [floatOf(bits) for bits in ties] + [i * 2.0 ** -25 for i in range(64)]
    edges += [0.0, math.inf, math.nan, 65504, floatOf(0x477fefff), 65520, 65536]
    edges += [floatOf(bits) for bits in (0x7f7f0000, 0x7f7f7fff, 0x7f7f8000, 0x7f7fffff, 1, 0x8000,
                                         0x8001, 0x18000, 0x7fffff, 0x800000, 0x33000000, 0x33000001)]
    edges += [-value for value in edges]
    x = edges + [floatOf(source.getrandbits(32)) for _ in range(4096 - len(edges))]
    y = source.sample(edges, 111)
    z = list(y)
    # Rounded by way of float32, these would be wrong.
    for i in range(0, 111, 3):
        z[i] = (1 + 2.0 ** -8 + 2.0 ** -40) * source.choice((1, -1))
        z[i + 1] = (1 + 2.0 ** -11 + 2.0 ** -40) * source.choice((1, -1))
    npz.writeNpz(f"{folder}/edges.npz", {"x": floats((4096,), x), "y": floats((37, 3), y),
                                         "z": floats((37, 3), z, "d")})
    npz.writeNpz(f"{folder}/edges-ref.npz",
                 {f"{name}_{word}": floats(shape, [rounded(value, form) for value in values])
                  for name, shape, values in (("x", (4096,), x), ("y", (37, 3), y), ("z", (37, 3), z))
                  for word, form in (("bf16", BFLOAT16), ("f16", FLOAT16))})


def writeScatter(folder):
    x = [float(i) for i in range(512)]
    updates = [1000.0 + i for i in range(24)]
    rows = [5, -1, 5]

    def scattered(count, isSum):
        y = list(x)
        for _ in range(count):
            for k, row in enumerate(rows):
                for j in range(8):
                    at = row % 64 * 8 + j
                    y[at] = (y[at] if isSum else 0.0) + updates[8 * k + j]
        return {"y": floats((64, 8), y)}

    npz.writeNpz(f"{folder}/in.npz", {"x": floats((64, 8), x), "u": floats((3, 8), updates),
                                      "i": ("<i8", (3,), struct.pack("<3q", *rows))})
    npz.writeNpz(f"{folder}/ref.npz", scattered(1, isSum=False))
    npz.writeNpz(f"{folder}/chain.npz", scattered(3, isSum=True))


if __name__ == "__main__":
    {"rounding": writeRounding, "scatter": writeScatter}[sys.argv[1]](sys.argv[2])
