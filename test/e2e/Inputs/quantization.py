"""Writes a two-layer network and data with an outlier, and checks its quantisation in float64.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    quantization.py FOLDER                    writes model.mlir, data.npz and batch.npz (the first rows)
    quantization.py FOLDER METHOD PLAN OUT    the ranges of PLAN are those of METHOD, and the outputs OUT
                                              those of the formulas
    quantization.py --errors TEXT...          the errors in these messages are in ascending order

The formulas are those of docs/numerics.md: unsigned 8-bit codes of each layer's input, signed ones of its
weights with a scale for each output channel.
"""

import json
import math
import os
import random
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tools/scripts"))
import npz

ROWS, BATCH, WIDTH, HIDDEN, OUTPUTS, BINS = 256, 16, 32, 48, 10, 2048


def floats(numbers):
    """The numbers as float32."""
    return list(struct.unpack(f"<{len(numbers)}f", struct.pack(f"<{len(numbers)}f", *numbers)))


def network():
    """Weights and data: ordinary numbers, and one outlier."""
    draw = random.Random(5)
    first = floats([draw.gauss(0, WIDTH**-0.5) for _ in range(WIDTH * HIDDEN)])
    last = floats([draw.gauss(0, HIDDEN**-0.5) for _ in range(HIDDEN * OUTPUTS)])
    x = [draw.gauss(0, 1) for _ in range(ROWS * WIDTH)]
    x[7 * WIDTH] = 20.0
    return first, last, floats(x)


def write(folder):
    first, last, x = network()

    def dense(numbers, rows, columns):
        data = struct.pack(f"<{len(numbers)}f", *numbers).hex().upper()
        return f'dense<"0x{data}"> : tensor<{rows}x{columns}xf32>'

    hidden = f"tensor<{BATCH}x{HIDDEN}xf32>"
    text = f"""func.func @main(%x: tensor<{BATCH}x{WIDTH}xf32> {{sinter.input = "x"}})
    -> (tensor<{BATCH}x{OUTPUTS}xf32> {{sinter.output = "y"}}) {{
  %a = sinter.constant {dense(first, WIDTH, HIDDEN)} loc("first")
  %b = sinter.constant {dense(last, HIDDEN, OUTPUTS)} loc("last")
  %h = sinter.dot_general %x, %a batch [] x [] contract [1] x [0]
     : (tensor<{BATCH}x{WIDTH}xf32>, tensor<{WIDTH}x{HIDDEN}xf32>) -> {hidden} loc("first")
  %r = sinter.relu %h : {hidden} loc("relu")
  %y = sinter.dot_general %r, %b batch [] x [] contract [1] x [0]
     : ({hidden}, tensor<{HIDDEN}x{OUTPUTS}xf32>) -> tensor<{BATCH}x{OUTPUTS}xf32> loc("last")
  return %y : tensor<{BATCH}x{OUTPUTS}xf32>
}}
"""
    with open(f"{folder}/model.mlir", "w", encoding="utf-8") as file:
        file.write(text)
    npz.writeNpz(f"{folder}/data.npz", {"x": ("<f4", (ROWS, WIDTH), struct.pack(f"<{len(x)}f", *x))})
    some = x[:BATCH * WIDTH]
    npz.writeNpz(f"{folder}/batch.npz", {"x": ("<f4", (BATCH, WIDTH), struct.pack(f"<{len(some)}f", *some))})


def product(x, weights, width):
    """The rows of x, a list, times a matrix of `width` columns."""
    depth = len(weights) // width
    return [math.fsum(x[row + k] * weights[k * width + column] for k in range(depth))
            for row in range(0, len(x), depth) for column in range(width)]


def rangeOf(numbers, method):
    """The range of `numbers`, and how far float32 arithmetic may move its bounds."""
    least, greatest = min(numbers), max(numbers)
    width = (greatest - least) / BINS
    edges = [least + width * i for i in range(BINS)] + [greatest]
    bins = [0] * BINS
    for number in numbers:
        bins[min(max(int((number - least) / width), 0), BINS - 1)] += 1
    if method == "minmax":
        return (min(least, 0), max(greatest, 0)), 1e-5 * (greatest - least)
    if method == "percentile":
        ordered = sorted(numbers)
        outside = len(numbers) * 0.01 / 200
        at = [ordered[max(math.ceil(outside) - 1, 0)], ordered[math.ceil(len(numbers) - outside) - 1]]
        return (min(at[0], 0), max(at[1], 0)), 2 * width
    # The mean square error of each pair of bounds at edges.
    zeros = sum(number == 0 for number in numbers)
    middles = [(edges[i] + edges[i + 1]) / 2 for i in range(BINS)]
    lows = [edge for edge in edges if edge < 0] + [0.0]
    highs = [edge for edge in reversed(edges) if edge > 0] + [0.0]

    def moments(bound, isOutside):
        outside = [i for i in range(BINS) if bins[i] and isOutside(i, bound)]
        return (math.fsum(bins[i] * (middles[i] - bound)**2 for i in outside), sum(bins[i] for i in outside))

    below = [moments(low, lambda i, bound: edges[i + 1] <= bound + width / 2 and bound < 0 or edges[i + 1] < bound)
             for low in lows]
    above = [moments(high, lambda i, bound: edges[i] >= bound - width / 2 and bound > 0 or edges[i] > bound)
             for high in highs]
    best, found = math.inf, None
    for low, (lostBelow, numBelow) in zip(lows, below):
        for high, (lostAbove, numAbove) in zip(highs, above):
            inside = max(len(numbers) - zeros - numBelow - numAbove, 0)
            error = lostBelow + lostAbove + inside * ((high - low) / 255)**2 / 12
            if error < best:
                best, found = error, (low, high)
    return found, 1.5 * width


def quantized(numbers, low, high):
    """Numbers as 8-bit codes stand for them."""
    scale, = floats([(high - low) / 255])
    zero = min(max(round(-low / scale), 0), 255)
    return [(min(max(round(number / scale) + zero, 0), 255) - zero) * scale for number in numbers]


def quantizedWeights(weights, width):
    scales = floats([max(abs(w) for w in weights[column::width]) / 127 for column in range(width)])
    return [round(w / scales[i % width]) * scales[i % width] for i, w in enumerate(weights)]


def check(folder, method, plan, out):
    first, last, x = network()
    with open(plan, encoding="utf-8") as file:
        planned = {op["node"]: op["range"] for op in json.load(file)["ops"] if op["precision"] == "int8"}
    relu = [max(h, 0.0) for h in product(x, first, HIDDEN)]
    for node, numbers in (("first", x), ("last", relu)):
        expected, slack = rangeOf(numbers, method)
        got = planned[node]
        print(f"{node}: {got}, expected {expected} +- {slack:.3g}")
        if any(abs(a - b) > slack for a, b in zip(got, expected)):
            sys.exit("the range differs")
    hidden = product(quantized(x[:BATCH * WIDTH], *planned["first"]), quantizedWeights(first, HIDDEN), HIDDEN)
    hidden = quantized([max(h, 0.0) for h in hidden], *planned["last"])
    expected = product(hidden, quantizedWeights(last, OUTPUTS), OUTPUTS)
    got = npz.readNpz(out)["y"].values
    # A number half way between two codes may go either way.
    step = (planned["last"][1] - planned["last"][0]) / 255 * max(map(abs, last))
    worst = max(abs(a - b) for a, b in zip(got, expected))
    equal = sum(abs(a - b) < 1e-5 * max(map(abs, expected)) for a, b in zip(got, expected))
    print(f"largest difference {worst:.3g}, one code {step:.3g}; {equal} of {len(got)} are equal")
    if worst > 1.5 * step or equal < 0.9 * len(got):
        sys.exit("the outputs differ")


def ascending(texts):
    errors = []
    for path in texts:
        with open(path, encoding="utf-8") as file:
            errors.append(float(re.search(r"relative rms error of the outputs: \S+ ([0-9.e+-]+)", file.read())[1]))
    print(errors)
    if errors != sorted(errors) or len(set(errors)) < len(errors):
        sys.exit("not in ascending order")


if sys.argv[1] == "--errors":
    ascending(sys.argv[2:])
elif len(sys.argv) == 2:
    write(sys.argv[1])
else:
    check(*sys.argv[1:])
