"""Writes one pooling program twice: channels-last, and channels-first with transposes.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    pool_layouts.py LAST.mlir FIRST.mlir CHANNELS WINDOW STRIDE PAD

Inputs x and g are channels-last in both. Rounding makes equal elements in a window, and
one in ten is NaN: the first of the greatest gets the gradient.
"""

import sys

last, first = sys.argv[1:3]
channels, window, stride, pad = map(int, sys.argv[3:7])
N, SIZE = 3, 12
OUT = (SIZE + 2 * pad - window) // stride + 1
X, G = f"tensor<{N}x{SIZE}x{SIZE}x{channels}xf32>", f"tensor<{N}x{OUT}x{OUT}x{channels}xf32>"
XF, GF = f"tensor<{N}x{channels}x{SIZE}x{SIZE}xf32>", f"tensor<{N}x{channels}x{OUT}x{OUT}xf32>"
BITS = f"tensor<{N}x{SIZE}x{SIZE}x{channels}xi1>"


def numbers(spatial, other, channelsLast):
    lists = [other, spatial, spatial, other] if channelsLast else [other, other, spatial, spatial]
    return "array<i64: " + ", ".join(map(str, lists)) + ">"


def windows(channelsLast):
    return (f"{{window = {numbers(window, 1, channelsLast)}, strides = {numbers(stride, 1, channelsLast)}, "
            f"dilations = {numbers(1, 1, channelsLast)}, pads_low = {numbers(pad, 0, channelsLast)}, "
            f"pads_high = {numbers(pad, 0, channelsLast)}}}")


HEAD = f"""func.func @main(%x: {X} {{sinter.input = "x"}}, %g: {G} {{sinter.input = "g"}})
    -> ({G} {{sinter.output = "max"}}, {X} {{sinter.output = "dmax"}}, {X} {{sinter.output = "dsum"}}) {{
  %eight = sinter.constant dense<8.0> : {X}
  %limit = sinter.constant dense<7.2> : {X}
  %nan = sinter.constant dense<0x7FC00000> : {X}
  %scaled = sinter.mul %x, %eight : {X}
  %floor = sinter.floor %scaled : {X}
  %much = sinter.compare gt %scaled, %limit : {X}
  %v = sinter.where %much, %nan, %floor : {BITS}, {X}
"""

with open(last, "w", encoding="utf-8") as file:
    file.write(HEAD + f"""  %y = sinter.reduce_window max %v {windows(True)} : ({X}) -> {G}
  %a = sinter.reduce_window_grad max %v, %g {windows(True)} : ({X}, {G}) -> {X}
  %b = sinter.reduce_window_grad sum %v, %g {windows(True)} : ({X}, {G}) -> {X}
  return %y, %a, %b : {G}, {X}, {X}
}}
""")
with open(first, "w", encoding="utf-8") as file:
    file.write(HEAD + f"""  %vf = sinter.transpose %v perm [0, 3, 1, 2] : ({X}) -> {XF}
  %gf = sinter.transpose %g perm [0, 3, 1, 2] : ({G}) -> {GF}
  %yf = sinter.reduce_window max %vf {windows(False)} : ({XF}) -> {GF}
  %af = sinter.reduce_window_grad max %vf, %gf {windows(False)} : ({XF}, {GF}) -> {XF}
  %bf = sinter.reduce_window_grad sum %vf, %gf {windows(False)} : ({XF}, {GF}) -> {XF}
  %y = sinter.transpose %yf perm [0, 2, 3, 1] : ({GF}) -> {G}
  %a = sinter.transpose %af perm [0, 2, 3, 1] : ({XF}) -> {X}
  %b = sinter.transpose %bf perm [0, 2, 3, 1] : ({XF}) -> {X}
  return %y, %a, %b : {G}, {X}, {X}
}}
""")
