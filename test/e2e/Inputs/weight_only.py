"""Models whose weights alone are quantised, and what they compute in float64.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    weight_only.py FOLDER              writes NAME.onnx, NAME-in.npz and NAME-ref.npz for each case
    weight_only.py FOLDER same SUFFIX  NAME SUFFIX.npz has the bits of NAME.npz, for each case
    weight_only.py FOLDER check        NAME.npz is within 1e-6 of NAME-ref.npz; prints the largest error
    weight_only.py names               the names of the cases

The weights are those that the ONNX operators define: (codes - zero points) * scales, in float32.
"""

import os
import random
import struct
import sys

sys.path += [os.path.join(os.path.dirname(os.path.abspath(__file__)), part)
             for part in ("../../../tools/scripts", "../../fuzz")]
import npz
import onnx_bytes as onnx

U8, I8 = 2, 3
ROWS = 128
# bits, block, weights of a row, zero points, shape of x before its last dimension
PACKED = {"four": (4, 32, 160, None, (1,)), "four-zeros": (4, 32, 128, "each", (1, 2)),
          "four-wide": (4, 128, 256, "each", (1,)), "four-small": (4, 16, 144, None, (2,)),
          "eight": (8, 32, 128, None, (3, 5)), "eight-zeros": (8, 64, 192, "each", (2,)),
          "two": (2, 64, 128, "each", (1,))}
# The axis of the scales of a [K, N] matrix, block size (0: none), least and most code, zero
# points, K.
LINEAR = {"channels": (1, 0, (-128, 127), False, 256),
          "channels-zeros": (1, 0, (0, 255), True, 256),
          "blocks": (0, 32, (-128, 127), True, 256), "whole": (0, 0, (0, 255), True, 256),
          "odd": (1, 0, (-8, 7), False, 255)}


def floats(numbers):
    return list(struct.unpack(f"<{len(numbers)}f", struct.pack(f"<{len(numbers)}f", *numbers)))


def weight(code, zero, scale):
    """(code - zero) * scale as float32."""
    return floats([(code - zero) * scale])[0]


def product(x, weights, length):
    """x times the transpose of `weights`, rows of `length`, in float64."""
    rows = [weights[at:at + length] for at in range(0, len(weights), length)]
    return [sum(a * b for a, b in zip(x[at:at + length], row))
            for at in range(0, len(x), length) for row in rows]


def packedBits(numbers, bits):
    """Bytes of one row of codes, lowest bits first."""
    each = 8 // bits
    numbers = numbers + [0] * (-len(numbers) % each)
    return bytes(sum(n << (bits * i) for i, n in enumerate(numbers[at:at + each]))
                 for at in range(0, len(numbers), each))


def packedModel(draw, bits, block, length, zeros, lead):
    blocks = length // block
    codes = [draw.randrange(1 << bits) for _ in range(ROWS * length)]
    scales = floats([draw.uniform(0.01, 0.02) for _ in range(ROWS * blocks)])
    points = [draw.randrange(1 << bits) if zeros else 1 << bits - 1
              for _ in range(ROWS * blocks)]
    weights = [weight(code, points[i // block], scales[i // block])
               for i, code in enumerate(codes)]
    rows = lambda values, size: b"".join(packedBits(values[at:at + size], bits)
                                         for at in range(0, len(values), size))
    parts = [onnx.initializer("b", (ROWS, blocks, block * bits // 8), U8, rows(codes, length)),
             onnx.initializer("s", (ROWS * blocks,), raw=struct.pack(f"<{len(scales)}f", *scales))]
    inputs = ["x", "b", "s"]
    if zeros:
        raw = rows(points, blocks)
        parts.append(onnx.initializer("z", (len(raw),), U8, raw))
        inputs.append("z")
    parts.append(onnx.node("MatMulNBits", inputs, ["y"], "/product", "com.microsoft", K=length,
                           N=ROWS, bits=bits, block_size=block))
    return parts, weights, length, lead


def linearModel(draw, axis, block, codeRange, hasZeros, length):
    lead = (1,)
    least, most = codeRange
    type_ = I8 if least < 0 else U8
    codes = [draw.randint(least, most) for _ in range(length * ROWS)]
    shape = (length // block, ROWS) if block else (ROWS,) if axis == 1 else ()
    count = ROWS * length // block if block else ROWS if axis == 1 else 1
    scales = floats([draw.uniform(0.001, 0.002) for _ in range(count)])
    points = [draw.randint(least, most) if hasZeros else 0 for _ in range(count)]
    def place(k, n):
        return k // block * ROWS + n if block else n if axis == 1 else 0
    weights = [weight(codes[k * ROWS + n], points[place(k, n)], scales[place(k, n)])
               for n in range(ROWS) for k in range(length)]
    letter = "b" if type_ == I8 else "B"
    raw = lambda values: struct.pack(f"<{len(values)}{letter}", *values)
    parts = [onnx.initializer("q", (length, ROWS), type_, raw(codes)),
             onnx.initializer("s", shape, raw=struct.pack(f"<{count}f", *scales)),
             onnx.initializer("z", shape, type_, raw(points)),
             onnx.node("DequantizeLinear", ["q", "s"] + (["z"] if hasZeros else []), ["w"],
                       "/weights", axis=axis, **({"block_size": block} if block else {})),
             onnx.node("MatMul", ["x", "w"], ["y"], "/product")]
    return parts, weights, length, lead


def write(folder, name):
    draw = random.Random(name)
    parts, weights, length, lead = (packedModel(draw, *PACKED[name]) if name in PACKED else
                                    linearModel(draw, *LINEAR[name]))
    size = length
    for dim in lead:
        size *= dim
    x = floats([draw.uniform(-1, 1) for _ in range(size)])
    graph = onnx.graph(*parts, inputs=(("x", (*lead, length)),), outputs=(("y", (*lead, ROWS)),))
    opsets = onnx.data(8, onnx.data(1, "") + onnx.number(2, 21)) + onnx.data(
        8, onnx.data(1, "com.microsoft") + onnx.number(2, 1))
    path = os.path.join(folder, name)
    with open(path + ".onnx", "wb") as file:
        file.write(onnx.number(1, 10) + onnx.data(7, graph) + opsets)
    y = product(x, weights, length)
    npz.writeNpz(path + "-in.npz", {"x": ("<f4", (*lead, length), struct.pack(f"<{size}f", *x))})
    npz.writeNpz(path + "-ref.npz", {"y": ("<f8", (*lead, ROWS), struct.pack(f"<{len(y)}d", *y))})


def read(folder, name):
    return npz.readNpz(os.path.join(folder, name + ".npz"))["y"].values


def error(folder, name):
    values, reference = read(folder, name), read(folder, name + "-ref")
    largest = max(map(abs, reference))
    return max(abs(a - b) for a, b in zip(values, reference)) / largest


def main():
    cases = [*PACKED, *LINEAR]
    if sys.argv[1] == "names":
        print(*cases)
    elif len(sys.argv) == 2:
        for name in cases:
            write(sys.argv[1], name)
    elif sys.argv[2] == "same":
        for name in cases:
            assert read(sys.argv[1], name) == read(sys.argv[1], name + sys.argv[3]), name
        print(f"{len(cases)} of {len(cases)} have the same bits")
    else:
        errors = {name: error(sys.argv[1], name) for name in cases}
        wrong = {name: e for name, e in errors.items() if not e <= 1e-6}
        print(f"{len(cases) - len(wrong)} of {len(cases)} right, largest error "
              f"{max(errors.values()):.2e}", *wrong)
        sys.exit(bool(wrong))


main()
