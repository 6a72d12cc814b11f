"""The programs that test/gpu measures and compares: MLIR text.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Sizes are those of an H100 or H200, several times its second-level cache; small ones are for
the simulated device, whose times mean nothing.
"""

import math
import re
from typing import NamedTuple

BYTES = {"f32": 4, "bf16": 2, "f16": 2, "i64": 8}


class Program(NamedTuple):
    name: str
    text: str
    sizeBytes: int = 0  # inputs and outputs: what a kernel must move at least
    flops: float = 0
    options: tuple = ()  # sinterc's


def tensor(*shape, of="f32"):
    return f"tensor<{'x'.join(map(str, (*shape, of)))}>"


def sizeOf(type_):
    *shape, element = type_[len("tensor<"):-1].split("x")
    return math.prod(map(int, shape)) * BYTES[element]


def function(inputs, body, outputs):
    """@main. inputs: {name: type}; outputs: {name: (value, type)}."""
    arguments = ", ".join(f'%{name}: {type_} {{sinter.input = "{name}"}}'
                          for name, type_ in inputs.items())
    results = ", ".join(f'{type_} {{sinter.output = "{name}"}}'
                        for name, (_, type_) in outputs.items())
    lines = "\n".join("  " + line.strip() for line in body.strip().splitlines())
    values = ", ".join(value for value, _ in outputs.values())
    types = ", ".join(type_ for _, type_ in outputs.values())
    return (f"func.func @main({arguments}) -> ({results}) {{\n{lines}\n"
            f"  return {values} : {types}\n}}\n")


def moving(name, inputs, body, outputs):
    """A program that is measured by the bytes it moves."""
    types = [*inputs.values(), *(type_ for _, type_ in outputs.values())]
    return Program(name, function(inputs, body, outputs), sum(map(sizeOf, types)))


# --- generated kernels, by bandwidth ---------------------------------------------------------


def addGelu(rows, cols):
    T = tensor(rows, cols)
    return moving("add + gelu", {"x": T, "y": T}, f"""
        %0 = sinter.add %x, %y : {T}
        %1 = sinter.gelu tanh %0 : {T}""", {"out": ("%1", T)})


def softmax(rows, cols):
    T = tensor(rows, cols)
    return moving(f"softmax, {cols} columns", {"x": T},
                  f"%1 = sinter.softmax %x {{axis = 1 : i64}} : {T}", {"out": ("%1", T)})


def transpose(rows, cols):
    T, U = tensor(rows, cols), tensor(cols, rows)
    return moving("transpose", {"x": T}, f"%1 = sinter.transpose %x perm [1, 0] : ({T}) -> {U}",
                  {"out": ("%1", U)})


def layerNorm(rows, cols):
    T, C = tensor(rows, cols), tensor(cols)
    return moving("layer norm", {"x": T, "scale": C, "bias": C}, f"""
        %1 = sinter.layer_norm %x, %scale, %bias {{axis = 1 : i64, epsilon = 1.0e-5 : f64}}
          : ({T}, {C}, {C}) -> {T}""", {"out": ("%1", T)})


def layerNormGradient(rows, cols):
    """From what the forward pass keeps: the mean and 1 / standard deviation of each row."""
    T, C, R = tensor(rows, cols), tensor(cols), tensor(rows)
    return moving(
        "layer norm, gradient",
        {"x": T, "dy": T, "scale": C, "mean": R, "inverse": R}, f"""
        %part = sinter.constant dense<{1 / cols!r}> : {R}
        %m = sinter.broadcast %mean dims [0] : {R} -> {T}
        %i = sinter.broadcast %inverse dims [0] : {R} -> {T}
        %s = sinter.broadcast %scale dims [1] : {C} -> {T}
        %centred = sinter.sub %x, %m : {T}
        %unit = sinter.mul %centred, %i : {T}
        %g = sinter.mul %dy, %s : {T}
        %gu = sinter.mul %g, %unit : {T}
        %a0 = sinter.reduce sum %g dims [1] : ({T}) -> {R}
        %a1 = sinter.mul %a0, %part : {R}
        %a = sinter.broadcast %a1 dims [0] : {R} -> {T}
        %b0 = sinter.reduce sum %gu dims [1] : ({T}) -> {R}
        %b1 = sinter.mul %b0, %part : {R}
        %b = sinter.broadcast %b1 dims [0] : {R} -> {T}
        %ub = sinter.mul %unit, %b : {T}
        %0 = sinter.sub %g, %a : {T}
        %1 = sinter.sub %0, %ub : {T}
        %dx = sinter.mul %1, %i : {T}
        %du = sinter.mul %dy, %unit : {T}
        %dscale = sinter.reduce sum %du dims [0] : ({T}) -> {C}
        %dbias = sinter.reduce sum %dy dims [0] : ({T}) -> {C}""",
        {"dx": ("%dx", T), "dscale": ("%dscale", C), "dbias": ("%dbias", C)})


def crossEntropy(rows, cols):
    """The mean loss and its gradient, as a training step has them."""
    T, R, L, S, P = (tensor(rows, cols), tensor(rows), tensor(rows, of="i64"), tensor(),
                     tensor(rows, cols, of="i1"))
    I = tensor(rows, cols, of="i64")
    return moving(f"cross-entropy and gradient, {cols} classes", {"x": T, "labels": L}, f"""
        %part = sinter.constant dense<{1 / rows!r}> : {S}
        %parts = sinter.constant dense<{1 / rows!r}> : {T}
        %one = sinter.constant dense<1.0> : {T}
        %zero = sinter.constant dense<0.0> : {T}
        %losses = sinter.softmax_cross_entropy %x, %labels
          {{axis = 1 : i64, label_smoothing = 0.0 : f64}} : ({T}, {L}) -> {R}
        %sum = sinter.reduce sum %losses dims [0] : ({R}) -> {S}
        %loss = sinter.mul %sum, %part : {S}
        %classes = sinter.iota {{axis = 1 : i64}} : {I}
        %label = sinter.broadcast %labels dims [0] : {L} -> {I}
        %is = sinter.compare eq %label, %classes : {I}
        %target = sinter.where %is, %one, %zero : {P}, {T}
        %p = sinter.softmax %x {{axis = 1 : i64}} : {T}
        %0 = sinter.sub %p, %target : {T}
        %dx = sinter.mul %0, %parts : {T}""", {"loss": ("%loss", S), "dx": ("%dx", T)})


def adam(count):
    T, S = tensor(count), tensor()
    return moving("Adam", {"w": T, "g": T, "m": T, "v": T}, f"""
        %lr = sinter.constant dense<0.001> : {S}
        %decay = sinter.constant dense<0.0> : {S}
        %t = sinter.constant dense<7.0> : {S}
        %v0 = sinter.mul %v, %v : {T}
        %w1, %m1, %v1 = sinter.adam_update %w, %g, %m, %v0, %lr, %decay, %t
          {{beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64}}
          : ({T}, {T}, {T}, {T}, {S}, {S}, {S}) -> ({T}, {T}, {T})""",
                  {"w1": ("%w1", T), "m1": ("%m1", T), "v1": ("%v1", T)})


def kernels(small):
    if small:
        return [addGelu(64, 256), softmax(16, 512), softmax(4, 4096), transpose(64, 128),
                layerNorm(32, 96), layerNormGradient(32, 96), crossEntropy(8, 1000), adam(4096)]
    return [addGelu(8192, 4096), softmax(8192, 4096), softmax(2048, 16384), softmax(512, 65536),
            transpose(8192, 4096), layerNorm(32768, 1024), layerNormGradient(32768, 1024),
            crossEntropy(1024, 50304), adam(1 << 25)]


# --- library calls, by products ---------------------------------------------------------------


def product(side):
    T = tensor(side, side, of="bf16")
    return Program(f"product of bf16, {side}^3", function({"x": T, "w": T}, f"""
        %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : ({T}, {T}) -> {T}""",
                                                          {"out": ("%0", T)}),
                   flops=2.0 * side ** 3)


class GeluText:
    """The first product of a GPT-2 layer's MLP with its GELU, and the gradient by what the
    GELU is applied to, in bf16 as mixed precision has them. When they are separate, the GELU
    reads what was rounded, which no epilogue does."""

    def __init__(self, rows, narrow, wide):
        self.rows = tensor(rows, narrow, of="bf16"), tensor(rows, narrow)
        self.weights = tensor(narrow, wide, of="bf16"), tensor(narrow, wide)
        self.wide = tensor(rows, wide, of="bf16"), tensor(rows, wide)
        self.bias = tensor(wide, of="bf16")
        self.flops = 2.0 * rows * narrow * wide
        self.body, self.inputs, self.outputs = "", {}, {}

    def widen(self, name, types):
        self.body += f"%{name}_f = sinter.cast %{name} : {types[0]} -> {types[1]}\n"

    def round(self, to, value):
        self.body += f"%{to} = sinter.cast %{value} : {self.wide[1]} -> {self.wide[0]}\n"

    def product(self, to, x, w):
        self.inputs |= {x: self.rows[0], w: self.weights[0]}
        self.widen(x, self.rows)
        self.widen(w, self.weights)
        self.body += (f"%{to} = sinter.dot_general %{x}_f, %{w}_f batch [] x [] contract [1] x [0]"
                      f" : ({self.rows[1]}, {self.weights[1]}) -> {self.wide[1]}\n")

    def forward(self, isFused):
        self.product("p", "x", "w")
        self.inputs["b"] = self.bias
        self.body += f"%bs = sinter.broadcast %b dims [1] : {self.bias} -> {self.wide[0]}\n"
        self.widen("bs", self.wide)
        self.body += f"%sum = sinter.add %p, %bs_f : {self.wide[1]}\n"
        self.round("kept", "sum")
        self.widen("kept", self.wide)
        self.body += f"%g = sinter.gelu tanh %{'sum' if isFused else 'kept_f'} : {self.wide[1]}\n"
        self.round("y", "g")
        self.outputs["y"] = ("%y", self.wide[0])
        if not isFused:
            self.outputs["kept"] = ("%kept", self.wide[0])

    def gradient(self, isFused):
        self.product("q", "dy", "v")
        if not isFused:
            self.inputs["kept"] = self.wide[0]
            self.widen("kept", self.wide)
            self.round("r", "q")
            self.widen("r", self.wide)
        product = "q" if isFused else "r_f"
        self.body += f"%dg = sinter.gelu_grad tanh %{product}, %kept_f : {self.wide[1]}\n"
        self.round("dx", "dg")
        self.outputs["dx"] = ("%dx", self.wide[0])

    def program(self, name, *options):
        return Program(name, function(self.inputs, self.body, self.outputs), flops=self.flops,
                       options=options)


def gelus(small):
    """GELU and its gradient in epilogues, one call each; then either beside its call."""
    sizes = (32, 16, 64) if small else (16384, 768, 3072)
    fused, forward, gradient = (GeluText(*sizes) for _ in range(3))
    fused.forward(isFused=True)
    fused.gradient(isFused=True)
    forward.forward(isFused=False)
    gradient.gradient(isFused=False)
    return [fused.program("GELU and dGELU, fused", "--require=launches:0"),
            forward.program("GELU, separate"), gradient.program("dGELU, separate")]


def attention(batch, heads, length, width, isCausal):
    """Attention and its gradient, with heads where projections have them."""
    D, B = heads * width, "bf16"
    packed, out = tensor(batch, length, 3 * D, of=B), tensor(batch, length, D, of=B)
    split = tensor(batch, length, heads, width, of=B)
    head = tensor(batch, heads, length, width, of=B)
    stats = tensor(batch, heads, length)
    attributes = f"{{scale = {width ** -0.5!r} : f64{', causal' if isCausal else ''}}}"
    body = ""
    for i, name in enumerate("qkv"):
        body += f"""
        %{name}0 = sinter.slice %x starts [0, 0, {i * D}] limits [{batch}, {length}, {(i + 1) * D}]
          strides [1, 1, 1] : ({packed}) -> {out}
        %{name}1 = sinter.reshape %{name}0 : {out} -> {split}
        %{name} = sinter.transpose %{name}1 perm [0, 2, 1, 3] : ({split}) -> {head}"""
    body += f"""
        %o, %stats = sinter.attention %q, %k, %v {attributes}
          : ({head}, {head}, {head}) -> ({head}, {stats})
        %o1 = sinter.transpose %o perm [0, 2, 1, 3] : ({head}) -> {split}
        %y = sinter.reshape %o1 : {split} -> {out}
        %g1 = sinter.reshape %dy : {out} -> {split}
        %g = sinter.transpose %g1 perm [0, 2, 1, 3] : ({split}) -> {head}
        %dq, %dk, %dv = sinter.attention_grad %q, %k, %v, %o, %stats, %g {attributes}
          : ({head}, {head}, {head}, {head}, {stats}, {head}) -> ({head}, {head}, {head})"""
    for name in ("dq", "dk", "dv"):
        body += f"""
        %{name}1 = sinter.transpose %{name} perm [0, 2, 1, 3] : ({head}) -> {split}
        %{name}2 = sinter.reshape %{name}1 : {split} -> {out}"""
    body += f"""
        %dx = sinter.concat %dq2, %dk2, %dv2 axis 2 : ({out}, {out}, {out}) -> {packed}"""
    pairs = batch * heads * length * (length + 1) / 2 if isCausal else batch * heads * length ** 2
    return Program(f"attention, d={width} s={length}{' causal' if isCausal else ''}",
                   function({"x": packed, "dy": out}, body,
                            {"y": ("%y", out), "dx": ("%dx", packed)}),
                   flops=4.0 * pairs * width, options=("--require=launches:0",))


def attentions(small):
    if small:
        return [attention(1, 2, 16, 64, True)]
    # 16384 tokens each: BERT, ViT, a longer BERT, GPT-2.
    return [attention(128, 12, 128, 64, False), attention(83, 12, 197, 64, False),
            attention(32, 12, 512, 64, False), attention(16, 12, 1024, 64, True)]


def chain(count):
    """Products of ours that wait for each other: as many small kernels."""
    T = tensor(16, 16)
    body, value = "", "%x"
    for i in range(count):
        body += f"""
        %p{i} = sinter.dot_general {value}, %w batch [] x [] contract [1] x [0] : ({T}, {T}) -> {T}
        %v{i} = sinter.tanh %p{i} : {T}"""
        value = f"%v{i}"
    return Program(f"chain of {count} kernels", function({"x": T, "w": T}, body,
                                                         {"y": (value, T)}),
                   options=("--libraries=none", f"--require=launches:{count}"))


# --- products on tensor cores, with a bound of the difference ------------------------------------

# Batch, rows, columns, steps; which operands are transposed.
TENSOR_SHAPES = [(1, 17, 19, 23, "a"), (1, 64, 64, 128, ""), (1, 48, 72, 56, "ab"),
                 (1, 130, 34, 76, "a"), (3, 40, 24, 136, "ab"), (2, 16, 136, 264, "b"),
                 (1, 20, 24, 2048, "a")]


def boundedProducts(element):
    """Products of `element` on tensor cores (tf32: float32 that the op lets round), and for
    each result what two machines may differ by, which is computed in float32 without them.

    With K exact products p: the simulated device rounds K sums to nearest, at most
    K 2^-24 sum |p| in all. The hardware takes 4 products or more and the sum so far at once,
    aligns them to the largest, cuts each off at 24 bits or later, and so the new sum: at most
    (4 + 1 + 1) / 4 units of 2^-23 sum |p| for each product. Together K 2^-22 sum |p|; that sum
    is rounded itself, and of rounded operands: twice as much contains it."""
    inputs, outputs, body = {}, {}, ""
    storage = "f32" if element == "tf32" else element
    for n, (batch, rows, cols, steps, transposed) in enumerate(TENSOR_SHAPES):
        a = (batch, steps, rows) if "a" in transposed else (batch, rows, steps)
        b = (batch, cols, steps) if "b" in transposed else (batch, steps, cols)
        A, B, T = tensor(*a), tensor(*b), tensor(batch, rows, cols)
        N, M = tensor(*a, of=storage), tensor(*b, of=storage)
        inputs[f"a{n}"], inputs[f"b{n}"] = A, B
        sides = f"contract [{1 if 'a' in transposed else 2}] x [{2 if 'b' in transposed else 1}]"
        if element == "tf32":
            body += f"""
            %p{n} = sinter.dot_general %a{n}, %b{n} batch [0] x [0] {sides} {{tf32}}
              : ({A}, {B}) -> {T}"""
        else:
            body += f"""
            %na{n} = sinter.cast %a{n} : {A} -> {N}
            %nb{n} = sinter.cast %b{n} : {B} -> {M}
            %wa{n} = sinter.cast %na{n} : {N} -> {A}
            %wb{n} = sinter.cast %nb{n} : {M} -> {B}
            %p{n} = sinter.dot_general %wa{n}, %wb{n} batch [0] x [0] {sides} : ({A}, {B}) -> {T}"""
        body += f"""
            %aa{n} = sinter.abs %a{n} : {A}
            %ab{n} = sinter.abs %b{n} : {B}
            %s{n} = sinter.dot_general %aa{n}, %ab{n} batch [0] x [0] {sides} : ({A}, {B}) -> {T}
            %k{n} = sinter.constant dense<{steps * 2.0 ** -21!r}> : {T}
            %d{n} = sinter.mul %s{n}, %k{n} : {T}"""
        outputs[f"y{n}"] = (f"%p{n}", T)
        outputs[f"bound_y{n}"] = (f"%d{n}", T)
    return Program(f"tensor-cores-{element}", function(inputs, body, outputs),
                   options=("--libraries=none",))


def fileName(name):
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
