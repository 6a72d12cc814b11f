"""Writes a network whose values and gradients exceed the range of fp16, and data for it.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    wide_ranges.py MODEL.mlir DATA.npz                writes both
    wide_ranges.py --compare LOG REFERENCE            losses of the last steps within 1 %

`first` and `last` are ordinary layers. Between them `loud` multiplies numbers around 3e5,
and `quiet` numbers around 1e-7, whose gradients are correspondingly larger.
"""

import json
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
import accuracy_data

ROWS, WIDTH, OUTPUTS, BATCH = 256, 16, 8, 16


def matrix(draw, rows, columns):
    numbers = [draw.gauss(0, columns**-0.5) for _ in range(rows * columns)]
    data = struct.pack(f"<{len(numbers)}f", *numbers).hex()
    return f'dense<"0x{data}"> : tensor<{rows}x{columns}xf32>'


def write(model, data):
    draw = random.Random(3)
    layers = [("first", WIDTH), ("loud", WIDTH), ("quiet", WIDTH), ("last", OUTPUTS)]
    shape = f"tensor<{BATCH}x{WIDTH}xf32>"
    text = [f"sinter.state @{name} : tensor<{WIDTH}x{width}xf32> {{role = #sinter<role param>, "
            f"trainable, init = {matrix(draw, WIDTH, width)}}}" for name, width in layers]
    arguments = [f'%x: {shape} {{sinter.input = "x"}}']
    arguments += [f"%{name}: tensor<{WIDTH}x{width}xf32> {{sinter.state = @{name}}}"
                  for name, width in layers]
    end = f"tensor<{BATCH}x{OUTPUTS}xf32>"
    text.append(f"func.func @main({', '.join(arguments)}) -> ({end} {{sinter.output = \"y\"}}) {{")
    value, count = "%x", 0

    def scaled(value, factor, name):
        nonlocal count
        count += 1
        text.append(f'  %c{count} = sinter.constant dense<{factor}> : {shape} loc("{name}")')
        text.append(f'  %s{count} = sinter.mul {value}, %c{count} : {shape} loc("{name}")')
        return f"%s{count}"

    for name, width in layers:
        factor = {"loud": "3.0e5", "quiet": "1.0e-7"}.get(name)
        if factor:
            value = scaled(value, factor, name + "/in")
        result = end if name == "last" else shape
        text.append(f"  %y_{name} = sinter.dot_general {value}, %{name} batch [] x [] contract [1] "
                    f"x [0] : ({shape}, tensor<{WIDTH}x{width}xf32>) -> {result} loc(\"{name}\")")
        value = f"%y_{name}"
        if factor:
            value = scaled(value, {"loud": "3.3e-6", "quiet": "1.0e7"}[name], name + "/out")
    text += [f"  return {value} : {end}", "}"]
    with open(model, "w", encoding="utf-8") as file:
        file.write("\n".join(text) + "\n")
    x = [draw.gauss(0, 1) for _ in range(ROWS * WIDTH)]
    labels = [x[row * WIDTH + i] + 0.5 * x[row * WIDTH + i + 8] + draw.gauss(0, 0.5)
              for row in range(ROWS) for i in range(OUTPUTS)]
    accuracy_data.writeNpz(data, {
        "x": ("<f4", (ROWS, WIDTH), struct.pack(f"<{len(x)}f", *x)),
        "labels": ("<f4", (ROWS, OUTPUTS), struct.pack(f"<{len(labels)}f", *labels))})


def losses(path):
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.strip()]
    return lines[-1], [line["loss"] for line in lines if "step" in line][-50:]


def compare(log, reference):
    last, got = losses(log)
    _, expected = losses(reference)
    a, b = sum(got) / len(got), sum(expected) / len(expected)
    print(f"mean loss {a:.6g}, in fp32 {b:.6g}, {last.get('skipped_steps')} steps skipped")
    if not abs(a - b) <= 0.01 * b or last["skipped_steps"] > 40:
        sys.exit("further than allowed")


if __name__ == "__main__":
    if sys.argv[1] == "--compare":
        compare(*sys.argv[2:])
    else:
        write(*sys.argv[1:])
