"""A small residual network with batch normalisation, in text form.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    residual.py ROWS > residual.mlir

ROWS images of 16x16 with 3 channels, a convolution to 16 channels, three blocks of two
convolutions, five classes.
"""

import sys

BLOCKS, CHANNELS = 3, 16
ROWS = int(sys.argv[1])
IMAGE = f"tensor<{ROWS}x{CHANNELS}x16x16xf32>"
VECTOR = f"tensor<{CHANNELS}xf32>"
PADS = ("{dilations = array<i64: 1, 1>, pads_high = array<i64: 1, 1>,"
        " pads_low = array<i64: 1, 1>, strides = array<i64: 1, 1>}")

states, arguments, lines = [], [f'%x: tensor<{ROWS}x3x16x16xf32> {{sinter.input = "x"}}'], []


def state(name, kind, value, role="param"):
    trainable = ", trainable" if role == "param" else ""
    states.append(f"  sinter.state @{name} : {kind} {{init = dense<{value}> : {kind},"
                  f" role = #sinter<role {role}>{trainable}}}")
    arguments.append(f"%{name}: {kind} {{sinter.state = @{name}}}")
    return "%" + name


def conv(name, x, kind):
    filters = f"tensor<{CHANNELS}x{kind.split('x')[1]}x3x3xf32>"
    weight = state(name + "_weight", filters, 0.05)
    lines.append(f"    %{name} = sinter.conv {x}, {weight} {PADS} : ({kind}, {filters}) -> {IMAGE}")
    return "%" + name


def norm(name, x):
    operands = [x] + [state(f"{name}_{part}", VECTOR, value, role) for part, value, role in (
        ("scale", 1.0, "param"), ("bias", 0.0, "param"), ("mean", 0.0, "buffer"),
        ("var", 1.0, "buffer"))]
    types = ", ".join([IMAGE] + 4 * [VECTOR])
    lines.append(f"    %{name} = sinter.batch_norm {', '.join(operands)}"
                 f" {{epsilon = 1.0e-5 : f64, momentum = 0.9 : f64}} : ({types}) -> {IMAGE}")
    return "%" + name


def op(name, kind, *operands):
    lines.append(f"    %{name} = sinter.{kind} {', '.join(operands)} : {IMAGE}")
    return "%" + name


x = conv("stem", "%x", f"tensor<{ROWS}x3x16x16xf32>")
for i in range(BLOCKS):
    y = op(f"r{i}", "relu", norm(f"n{i}a", conv(f"c{i}a", x, IMAGE)))
    y = norm(f"n{i}b", conv(f"c{i}b", y, IMAGE))
    x = op(f"y{i}", "relu", op(f"s{i}", "add", x, y))
head = f"tensor<5x{CHANNELS}xf32>"
weight = state("head", head, 0.1)
pooled, logits = f"tensor<{ROWS}x{CHANNELS}xf32>", f"tensor<{ROWS}x5xf32>"
lines.append(f"    %pooled = sinter.reduce sum {x} dims [2, 3] : ({IMAGE}) -> {pooled}")
lines.append(f"    %logits = sinter.dot_general %pooled, {weight} batch [] x [] contract [1] x [1]"
             f" : ({pooled}, {head}) -> {logits}")
print("module @residual {", *states,
      f"  func.func @main({', '.join(arguments)}) -> ({logits} {{sinter.output = \"logits\"}}) {{",
      *lines, f"    return %logits : {logits}", "  }", "}", sep="\n")
