#!/usr/bin/env python3
"""Writes products for tensor cores, and the same products in float32.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    products.py FOLDER

Writes FOLDER/TYPE.mlir and FOLDER/TYPE-wide.mlir for bf16, f16 and tf32. Both have the same
inputs and outputs: the first computes contractions of such operands, the second rounds
operands and results to the type and contracts in float32. The operands are whole numbers,
small enough for every sum to be exact, so that the outputs are equal whatever the order.
"""

import os
import sys

# Batch, rows, columns, steps; which operands are transposed; what follows.
PRODUCTS = [
    (1, 1, 1, 131, "", ""),
    (1, 1, 40, 67, "", "relu"),
    (1, 3, 5, 7, "", ""),
    (1, 16, 8, 16, "", ""),
    (1, 17, 19, 23, "", "bias"),
    (1, 17, 19, 23, "a", "relu"),
    (1, 17, 19, 23, "b", ""),
    (1, 17, 19, 23, "ab", "residual"),
    (1, 64, 64, 64, "", "residual"),
    (1, 64, 64, 128, "a", "bias"),
    (1, 64, 64, 200, "b", "relu"),
    (1, 48, 72, 56, "ab", ""),
    (1, 33, 130, 40, "", "bias"),
    (1, 130, 34, 76, "a", "transpose"),
    (1, 62, 46, 70, "b", "transpose"),
    (3, 37, 29, 53, "", "relu"),
    (3, 40, 24, 136, "ab", "residual"),
    (2, 16, 136, 264, "b", "bias"),
    (1, 20, 24, 2048, "a", "bias"),  # split where results are float32
    (33, 140, 136, 24, "", "relu"),  # the largest tiles
    (20, 132, 136, 80, "ab", "bias"),
    (1, 17, 19, 23, "", "kept"),  # two results
    (2, 48, 72, 56, "b", "kept"),
    (1, 3, 1, 300, "", "kept"),
]
# Images, height and width, input and output channels, strides, dilations, padding,
# groups; channels last.
CONVOLUTIONS = [
    (2, 9, 16, 24, 1, 1, 1, 1, True),
    (1, 11, 8, 10, 2, 1, 1, 1, True),
    (2, 8, 6, 16, 1, 2, 2, 1, False),
    (1, 7, 16, 32, 1, 1, 0, 2, True),
]


class Program:
    """The text of a function; `element` is the operands' type, or None for float32."""

    def __init__(self, element, isWide):
        self.element, self.isWide = element, isWide
        self.arguments, self.lines, self.results, self.number = [], [], [], 0

    def add(self, text):
        self.number += 1
        self.lines.append(f"  %v{self.number} = sinter.{text}")
        return f"%v{self.number}"

    def cast(self, value, shape, fromType, toType):
        return self.add(f"cast {value} : tensor<{shape}x{fromType}> -> "
                        f"tensor<{shape}x{toType}>")

    def whole(self, shape):
        """Whole numbers, as float32."""
        name = f"i{len(self.arguments)}"
        self.arguments.append(f'%{name}: tensor<{shape}xf32> {{sinter.input = "{name}"}}')
        scale = self.add(f"constant dense<3.0> : tensor<{shape}xf32>")
        scaled = self.add(f"mul %{name}, {scale} : tensor<{shape}xf32>")
        return self.add(f"round {scaled} : tensor<{shape}xf32>")

    def operand(self, shape):
        value = self.whole(shape)
        if self.element is None:
            return value
        value = self.cast(value, shape, "f32", self.element)
        return self.cast(value, shape, self.element, "f32") if self.isWide else value

    def type(self):
        return "f32" if self.isWide or self.element is None else self.element

    def contract(self, text, shapes, result):
        """A contraction's result, as float32."""
        kind = self.type()
        flag = " {tf32}" if self.element is None and not self.isWide else ""
        operands = ", ".join(f"tensor<{shape}x{kind}>" for shape in shapes)
        value = self.add(text.replace("FLAG", flag) +
                         f" : ({operands}) -> tensor<{result}x{kind}>")
        if self.element is None:
            return value
        if self.isWide:
            value = self.cast(value, result, "f32", self.element)
        return self.cast(value, result, self.element, "f32")

    def finish(self, value, shape):
        self.results.append((value, shape))

    def product(self, batch, m, n, k, transposed, follows):
        a = f"{batch}x{k}x{m}" if "a" in transposed else f"{batch}x{m}x{k}"
        b = f"{batch}x{n}x{k}" if "b" in transposed else f"{batch}x{k}x{n}"
        dims = f"contract [{1 if 'a' in transposed else 2}] x [{2 if 'b' in transposed else 1}]"
        x, y = self.operand(a), self.operand(b)
        shape = f"{batch}x{m}x{n}"
        value = self.contract(f"dot_general {x}, {y} batch [0] x [0] {dims}FLAG", [a, b],
                              shape)
        if follows == "relu":
            value = self.add(f"relu {value} : tensor<{shape}xf32>")
        elif follows == "bias":
            bias = self.add(f"broadcast {self.whole(n)} dims [2] : tensor<{n}xf32> -> "
                            f"tensor<{shape}xf32>")
            value = self.add(f"add {value}, {bias} : tensor<{shape}xf32>")
        elif follows == "residual":
            value = self.add(f"sub {self.whole(shape)}, {value} : tensor<{shape}xf32>")
        elif follows == "kept":
            self.finish(value, shape)
            value = self.add(f"relu {value} : tensor<{shape}xf32>")
        elif follows == "transpose":
            value = self.add(f"transpose {value} perm [0, 2, 1] : (tensor<{shape}xf32>) -> "
                             f"tensor<{batch}x{n}x{m}xf32>")
            shape = f"{batch}x{n}x{m}"
        self.finish(value, shape)

    def convolution(self, images, size, inputs, outputs, stride, dilation, pad, groups, last):
        def image(extent, channels):
            return (f"{images}x{extent}x{extent}x{channels}" if last else
                    f"{images}x{channels}x{extent}x{extent}")
        out = (size + 2 * pad - dilation * 2 - 1) // stride + 1
        x, y = image(size, inputs), image(out, outputs)
        w = f"{outputs}x{inputs // groups}x3x3"
        group = f", groups = {groups}" if groups > 1 else ""
        attributes = "{" + ", ".join(
            f"{name} = array<i64: {value}, {value}>" for name, value in
            (("strides", stride), ("dilations", dilation), ("pads_low", pad),
             ("pads_high", pad))) + group + (", channels_last" if last else "") + "}"
        if self.element is None and not self.isWide:
            attributes = attributes[:-1] + ", tf32}"
        xs, ws, ys = self.operand(x), self.operand(w), self.operand(y)
        for name, operands, shapes, result in (
                ("conv", (xs, ws), [x, w], y),
                ("conv_input_grad", (ys, ws), [y, w], x),
                ("conv_filter_grad", (xs, ys), [x, y], w)):
            self.finish(self.contract(f"{name} {operands[0]}, {operands[1]} {attributes}",
                                      shapes, result), result)

    def text(self):
        types = ", ".join(f'tensor<{shape}xf32> {{sinter.output = "o{number}"}}'
                          for number, (_, shape) in enumerate(self.results))
        values = ", ".join(value for value, _ in self.results)
        plain = ", ".join(f"tensor<{shape}xf32>" for _, shape in self.results)
        return "\n".join([f"func.func @main({', '.join(self.arguments)}) -> ({types}) {{",
                          *self.lines, f"  return {values} : {plain}", "}", ""])


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, element in (("bf16", "bf16"), ("f16", "f16"), ("tf32", None)):
        for isWide in (False, True):
            program = Program(element, isWide)
            for product in PRODUCTS:
                program.product(*product)
            for convolution in CONVOLUTIONS:
                program.convolution(*convolution)
            with open(os.path.join(folder, name + ("-wide" if isWide else "") + ".mlir"),
                      "w", encoding="utf-8") as file:
                file.write(program.text())


if __name__ == "__main__":
    main()
