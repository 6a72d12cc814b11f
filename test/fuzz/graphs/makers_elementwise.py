"""Makers of elementwise nodes.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

from builder import Skip, broadcast, fits, maker
from graph import BOOL, F16, F32, F64, FLOATS, I32, I64, I8, U32, U8

# op: first opset, bound of the input, of the result (None: that of the input)
PLAIN = {"Relu": (6, 99, None), "Sigmoid": (6, 30, 1), "Tanh": (6, 99, 1), "Erf": (9, 99, 1),
         "Softplus": (1, 30, 31), "Softsign": (1, 99, 1), "HardSwish": (14, 99, None),
         "Mish": (18, 20, 20), "Abs": (6, 99, None), "Neg": (6, 99, None), "Sin": (7, 20, 1),
         "Cos": (7, 20, 1), "Atan": (7, 99, 1.6), "Exp": (6, 3, 21), "Sinh": (9, 3, 11),
         "Cosh": (9, 3, 11), "Asinh": (9, 99, 6), "Identity": (1, 99, None), "Tan": (7, 1, 1.6)}
# op: first opset, attributes and their values, growth of the bound
WITH_ATTRIBUTES = {
    "LeakyRelu": (6, {"alpha": [0.01, 0.3, 1.5, -0.5]}, 1.5),
    "Elu": (6, {"alpha": [1.0, 0.5, 2.0]}, 2), "Celu": (12, {"alpha": [1.0, 0.5, 2.0]}, 2),
    "Selu": (6, {"alpha": [1.67, 1.2], "gamma": [1.05, 0.7]}, 2.5),
    "HardSigmoid": (6, {"alpha": [0.2, 0.4], "beta": [0.5, 0.3]}, 1),
    "ThresholdedRelu": (10, {"alpha": [1.0, 0.4, 0.0]}, 1),
    "Shrink": (9, {"lambd": [0.5, 0.2], "bias": [0.0, 0.3]}, 2),
    "Gelu": (20, {"approximate": ["none", "tanh"]}, 1)}


@maker("elementwise", weight=3)
def plain(b):
    op = b.r.of([o for o, (first, *_) in PLAIN.items() if b.opset >= first])
    _, bound, result = PLAIN[op]
    type_ = b.r.of([F32] * 6 + [F64, F16])
    x = b.any(type_=type_, ranks=[0, 1, 2, 3, 4], most=bound)
    keeps = op in ("Neg", "Identity")
    b.same(op, x, min(result or x.most, 100), keeps and x.apart)


@maker("elementwise")
def withAttributes(b):
    op = b.r.of([o for o, (first, *_) in WITH_ATTRIBUTES.items() if b.opset >= first])
    _, attributes, growth = WITH_ATTRIBUTES[op]
    x = b.any(most=20)
    b.same(op, x, max(x.most, 1) * growth,
           **{name: b.maybe(b.r.of(values)) for name, values in attributes.items()})


@maker("elementwise")
def ofDomain(b):
    """Functions that are not defined, or steep, somewhere."""
    op = b.r.of(["Sqrt", "Log", "Reciprocal", "Acosh", "Acos", "Asin", "Atanh"])
    x = b.any(most=20)
    if op in ("Acos", "Asin", "Atanh"):
        x = b.node("Mul", [b.same("Tanh", x, 1), b.constant([0.9], F32, ())],
                   [(F32, x.shape, 0.9)])
        return b.same(op, x, 4)
    b.same(op, b.positive(x, 1.25 if op == "Acosh" else 0.5), x.most + 2)


@maker("elementwise")
def rounding(b):
    x = b.apart()
    b.same(b.r.of(["Floor", "Ceil", "Sign"] + ["Round"] * (b.opset >= 11)), x, x.most + 1)


@maker("elementwise", weight=4)
def binary(b):
    op = b.r.of(["Add", "Sub", "Mul", "Div", "Max", "Min"])
    type_ = b.r.of([F32] * 7 + [F64, F16]) if b.opset >= 8 else F32
    x = b.any(type_=type_, ranks=[0, 1, 2, 3, 4], most=20)
    y = b.bounded(b.partner(x), 20)
    if op == "Div":
        y = b.positive(y)
    most = {"Add": x.most + y.most, "Sub": x.most + y.most, "Mul": x.most * y.most,
            "Div": 2 * x.most}.get(op, max(x.most, y.most))
    operands = [y, x] if op != "Div" and b.r.chance(0.3) else [x, y]
    b.node(op, operands, [(type_, broadcast(x.shape, y.shape), most)])


@maker("elementwise")
def variadic(b):
    x = b.any(most=20)
    rest = [b.bounded(b.partner(x), 20) for _ in range(b.r.below(3))]
    op = b.r.of(["Sum", "Mean", "Max", "Min"])
    b.node(op, b.r.shuffled([x, *rest]),
           [(F32, x.shape, sum(v.most for v in [x, *rest]))])


@maker("elementwise", 7)
def prelu(b):
    x = b.any(most=20)
    slope = b.partner(x)
    b.same("PRelu", x, x.most * max(1, slope.most), inputs=[b.bounded(slope, 2)])


@maker("elementwise", 12)
def power(b):
    x = b.bounded(b.any(), 3)
    if b.r.chance():
        exponent = b.r.of([2.0, 3.0, 1.0, 0.0, 4.0])
        return b.same("Pow", x, 3 ** 4 + 1, inputs=[b.constant([exponent], F32, b.r.of([(), (1,)]))])
    y = b.bounded(b.partner(x), 2)
    b.node("Pow", [b.positive(x), y], [(F32, x.shape, 16)])


@maker("elementwise", 11)
def clip(b):
    x = b.any()
    bounds = [b.maybe(-0.71), b.maybe(0.93)]
    b.same("Clip", x, inputs=[None if v is None else b.constant([v], F32, ()) for v in bounds])


@maker("elementwise", 9)
def compareAndChoose(b):
    x = b.apart() if b.r.chance() else b.any(type_=(I64, I32))
    ops = ["Less", "Greater"] + ["Equal"] * (x.type != F32 or b.opset >= 11) + [
        "LessOrEqual", "GreaterOrEqual"] * (b.opset >= 12)
    y = b.constant([b.r.of([0.0, 0.5])] if x.type == F32 else [2], x.type, ())
    if x.type != F32 and b.r.chance():
        y = b.partner(x)
    test = b.node(b.r.of(ops), [x, y], [(BOOL, broadcast(x.shape, y.shape), 1)])
    if b.r.chance(0.3):
        other = b.partner(test)
        test = b.node(b.r.of(["And", "Or", "Xor"]), [test, other],
                      [(BOOL, test.shape, 1)])
    if b.r.chance(0.2):
        test = b.same("Not", test)
    if b.r.chance(0.8):
        found = [v for v in b.values(lambda v: v.type == F32 and fits(v.shape, test.shape))]
        u = b.r.of(found) if found else b.new(test.shape)
        v = b.partner(test, F32)
        b.node("Where", [test, u, v], [(F32, broadcast(test.shape, u.shape, v.shape),
                                        max(u.most, v.most))])


@maker("elementwise", 9)
def whereOfInput(b):
    x = b.any()
    test = b.partner(x, BOOL)
    y = b.partner(x)
    b.node("Where", [test, *b.r.shuffled([x, y])], [(F32, x.shape, max(x.most, y.most))])


@maker("elementwise", 14)
def integers(b):
    type_ = b.r.of([I64, I32, U8, I8])
    x = b.any(type_=type_)
    if x.most > 1000 or (type_ in (U8, I8) and x.most > 60):
        raise Skip
    op = b.r.of(["Add", "Mul", "Sub", "Div", "Mod", "Max", "Min"])
    if type_ in (U8, I8) and op in ("Mul", "Sub"):
        op = "Add"
    if op in ("Div", "Mod"):
        y = b.new(x.shape, type_, 7, 1, fixed=b.r.chance())
        if op == "Mod" and type_ != U8 and b.r.chance(0.4):
            return b.same("Mod", x, inputs=[y], fmod=1)
        return b.same(op, x, inputs=[y])  # the quotient is rounded to 0
    y = b.partner(x)
    b.node(op, [x, y], [(type_, x.shape, x.most * y.most if op == "Mul" else x.most + y.most)])


@maker("elementwise", 13)
def remainder(b):
    x = b.apart()
    b.same("Mod", x, inputs=[b.constant([b.r.of([0.7, -0.7, 1.3])], F32, ())], fmod=1)


@maker("elementwise", 18)
def bits(b):
    type_ = b.r.of([I64, I32, U8])
    x = b.any(type_=type_)
    op = b.r.of(["BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"])
    if op == "BitwiseNot":
        return b.same(op, x, 255)
    y = b.partner(x)
    b.node(op, [x, y], [(type_, x.shape, 255)])


@maker("elementwise", 11)
def shift(b):
    type_ = b.r.of([U8, U32])
    x = b.new(b.shape(b.r.between(1, 3)), type_, 31, 0)
    y = b.new(x.shape, type_, 3, 0)
    b.node("BitShift", [x, y], [(type_, x.shape, 255)], direction=b.r.of(["LEFT", "RIGHT"]))


@maker("elementwise", 13, weight=2)
def cast(b):
    if b.r.chance(0.4):
        x = b.apart()
        to = b.r.of([I32, I64, I8, BOOL, F64, F16, F32])
    else:
        x = b.any(type_=(I64, I32, BOOL, U8, I8))
        to = b.r.of([F32, F32, F64, I32, I64])
    if x.most > 100:
        raise Skip
    if b.opset >= 15 and b.r.chance(0.2):
        like = b.new((b.r.between(1, 3),), to, 1, 0 if to == U8 else None)
        return b.node("CastLike", [x, like], [(to, x.shape, x.most)])
    b.node("Cast", [x], [(to, x.shape, x.most, x.apart and to in (F64, F32))], to=to)


@maker("elementwise", 13)
def isSpecial(b):
    x = b.any()
    op = b.r.of(["IsNaN", "IsInf"])
    b.node(op, [x], [(BOOL, x.shape, 1)],
           **({"detect_negative": b.maybe(0)} if op == "IsInf" else {}))


@maker("elementwise", 7)
def dropout(b):
    b.same("Dropout", b.any())
