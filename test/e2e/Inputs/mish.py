"""Mish and its derivative in float32, compared with float64.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    mish.py FOLDER                          writes values.onnx, Mish of an input; gradients.onnx,
                                            the sum of Mish of a weight; and the .npz of both
    mish.py --values OUT.npz                checks the outputs of values.onnx
    mish.py --gradients STATES.safetensors  checks the momentum of one step of gradients.onnx
"""

import math
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "tools", "scripts"))
sys.path.insert(0, os.path.join(HERE, "..", "..", "fuzz"))
import onnx_bytes as m
from npz import readNpz, readSafetensors, writeNpz

# Below -104 the results are subnormal, and from -111 on they are 0.
POINTS = [i / 64 for i in range(-64 * 112, 64 * 112 + 1)] + [
    -3e38, -1e10, -200.0, -64.00001, -1e-3, -1e-20, -1e-40, -0.0, 1e-40, 1e-20, 1e10, 3e38]
# In steps of float32 at the result, or at the larger of the two terms of a derivative.
VALUE_STEPS, GRADIENT_STEPS = 4, 6


def factor(x):
    """tanh(softplus(x)) and its derivative."""
    e = math.exp(-abs(x))
    above, rest = (e * (e + 2), 2) if x < 0 else (1 + 2 * e, 2 * e * e)
    below = above + rest
    return above / below, 4 * (e + 1) * (e if x < 0 else e * e) / below**2


def step(x):
    """The distance of float32 numbers near x."""
    return math.ldexp(1, max(math.frexp(x)[1] - 24, -149))


def float32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def write(folder):
    numbers = struct.pack(f"<{len(POINTS)}f", *POINTS)
    shape = (len(POINTS),)
    values = m.graph(m.node("Mish", ["x"], ["y"]), inputs=(("x", shape),), outputs=(("y", shape),))
    gradients = m.graph(
        m.node("Mish", ["w"], ["h"]), m.node("ReduceSum", ["h"], ["s"], keepdims=0),
        m.node("ReduceSum", ["row"], ["zero"], keepdims=0), m.node("Add", ["s", "zero"], ["y"]),
        m.initializer("w", shape, raw=numbers), inputs=(("row", (1, 1)),), outputs=(("y", ()),))
    for name, graph in ("values", values), ("gradients", gradients):
        with open(os.path.join(folder, name + ".onnx"), "wb") as file:
            file.write(m.model(graph, opsets=m.opset(18)))
    writeNpz(os.path.join(folder, "values.npz"), {"x": ("<f4", shape, numbers)})
    writeNpz(os.path.join(folder, "gradients.npz"), {"row": ("<f4", (1, 1), bytes(4))})


def check(got, expected, allowed):
    worst = 0, 0
    for x, y, (value, scale) in zip(POINTS, got, expected):
        worst = max(worst, (abs(y - value) / step(scale), x))
    print(f"{worst[0]:.2f} steps at {worst[1]}")
    if not worst[0] <= allowed or len(got) != len(POINTS):
        sys.exit(f"at most {allowed} are allowed")


def values(path):
    def value(x):
        return x * factor(x)[0]
    check(readNpz(path)["y"].values, [(value(x), value(x)) for x in map(float32, POINTS)],
          VALUE_STEPS)


def gradients(path):
    found = next(array for name, array in readSafetensors(path).items() if "momentum" in name)
    expected = []
    for x in map(float32, POINTS):
        first, slope = factor(x)
        expected.append((first + x * slope, max(first, abs(x * slope))))
    check(found.values, expected, GRADIENT_STEPS)


if sys.argv[1] == "--values":
    values(sys.argv[2])
elif sys.argv[1] == "--gradients":
    gradients(sys.argv[2])
else:
    write(sys.argv[1])
