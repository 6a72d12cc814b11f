"""Makers of quantised numbers.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

from builder import broadcast, maker
from graph import BOOL, F32, I32, I8, Tensor, U8, count
from makers_linear import windows


def scaleOf(b, shape=()):
    return b.constant([b.r.of([0.5, 0.25, 0.125, 0.0625]) for _ in range(count(shape))], F32, shape)


def zeroOf(b, type_, shape=()):
    numbers = [b.r.between(-3, 3) + (128 if type_ == U8 else 0) for _ in range(count(shape))]
    return b.constant(numbers, type_, shape)


def offGrid(b, shape, step=0.0625, rows=16):
    """Numbers a third of the way between two multiples of `step`."""
    numbers = [step * (b.r.between(-rows, rows) + 0.31) for _ in range(count(shape))]
    return b.feed(Tensor(F32, tuple(shape), numbers), rows * step + 1, fixed=False)


@maker("quantize", 13, weight=2)
def quantize(b):
    """Quantised and back, per tensor or per axis."""
    x = offGrid(b, b.shape(b.r.between(1, 3)))
    type_ = b.r.of([U8, I8])
    axis, shape = None, ()
    if b.r.chance(0.4):
        axis = b.axis(x.rank)
        shape = (x.shape[axis],)
    scale = b.constant([0.0625] * count(shape), F32, shape)
    zero = zeroOf(b, type_, shape) if b.r.chance(0.8) else None
    q = b.node("QuantizeLinear", [x, scale, zero], [(type_ if zero else U8, x.shape, 255)],
               axis=axis)
    if zero is None and b.r.chance():
        return q
    b.node("DequantizeLinear", [q, scale, zero], [(F32, x.shape, 16)], axis=axis)


@maker("quantize", 13)
def dequantize(b):
    type_ = b.r.of([U8, I8, I32])
    x = b.new(b.shape(b.r.between(1, 3)), type_, 100, 0 if type_ == U8 else None)
    zero = zeroOf(b, type_) if type_ != I32 and b.r.chance(0.7) else None
    b.node("DequantizeLinear", [x, scaleOf(b), zero], [(F32, x.shape, 64)])


@maker("quantize", 11)
def integerProducts(b):
    rows, inner, columns = (b.r.of([1, 3, 8, 17]) for _ in range(3))
    kinds = [b.r.of([U8, I8]), b.r.of([U8, I8])]
    batch = (b.r.between(1, 3),) if b.r.chance(0.3) else ()
    x = b.new((*batch, rows, inner), kinds[0], 100, 0 if kinds[0] == U8 else None)
    y = b.new((inner, columns), kinds[1], 100, 0 if kinds[1] == U8 else None)
    zeros = [zeroOf(b, kinds[i]) if b.r.chance() else None for i in range(2)]
    b.node("MatMulInteger", [x, y, *zeros], [(I32, (*batch, rows, columns), 1e6)])


@maker("quantize", 10)
def integerConv(b):
    kinds = [U8, b.r.of([U8, I8])]
    channels, side = b.r.between(1, 3), b.r.between(3, 7)
    x = b.new((1, channels, side, side), U8, 100, 0)
    w = b.new((b.r.between(1, 4), channels, 2, 2), kinds[1], 50, 0 if kinds[1] == U8 else None)
    zeros = [zeroOf(b, kind) if b.r.chance() else None for kind in kinds]
    pad = b.r.below(2)
    out = side - 1 + 2 * pad
    b.node("ConvInteger", [x, w, *zeros], [(I32, (1, w.shape[0], out, out), 1e6)],
           pads=[pad] * 4 if pad else None)


@maker("quantize", 11)
def dynamicQuantize(b):
    x = b.apart(ranks=[1, 2])
    b.node("DynamicQuantizeLinear", [x], [(U8, x.shape, 255), (F32, (), 1), (U8, (), 255)])


def coded(b, shape, type_=None, fixed=None):
    """Codes of 8 bits with their scale and zero point."""
    type_ = type_ or b.r.of([U8, I8])
    x = b.new(shape, type_, 100, 0 if type_ == U8 else None, fixed)
    return [x, scaleOf(b), zeroOf(b, type_)]


def resultScale(b):
    """Results are then no ties."""
    return b.constant([b.r.of([0.7310237, 1.3790321, 5.1702911])], F32, ())


@maker("quantize", 10, weight=2)
def qLinearMatMul(b):
    rows, inner, columns = (b.r.of([1, 3, 8, 17]) for _ in range(3))
    batch = (b.r.between(1, 3),) if b.r.chance(0.3) else ()
    x, y = coded(b, (*batch, rows, inner)), coded(b, (inner, columns))
    if b.r.chance(0.3):  # of each column
        y[1:] = [scaleOf(b, (columns,)), zeroOf(b, y[0].type, (columns,))]
    zero = zeroOf(b, x[0].type)
    b.node("QLinearMatMul", [*x, *y, resultScale(b), zero],
           [(zero.type, (*batch, rows, columns), 255)])


@maker("quantize", 10, weight=2)
def qLinearConv(b):
    channels, group = b.r.of([(1, 1), (2, 1), (3, 1), (4, 2), (3, 3)])
    out = group * b.r.between(1, 4)
    x = coded(b, (b.r.between(1, 2), channels, *(b.r.between(3, 7) for _ in range(2))), U8,
              fixed=False)
    kernel = [b.r.between(1, 3) for _ in range(2)]
    w = coded(b, (out, channels // group, *kernel))
    if b.r.chance(0.4):  # of each channel of the result
        w[1:] = [scaleOf(b, (out,)), b.constant([w[0].type == U8 and 128 or 0] * out, w[0].type)]
    strides, dilations = [b.r.between(1, 2) for _ in range(2)], [1, 1]
    given, sizes = windows(b, x[0], kernel, strides, dilations)
    bias = b.new((out,), I32, 900) if b.r.chance() else None
    b.node("QLinearConv", [*x, *w, resultScale(b), zeroOf(b, U8), bias],
           [(U8, (x[0].shape[0], out, *sizes), 255)], strides=strides,
           group=group if group > 1 or b.r.chance() else None, kernel_shape=b.maybe(kernel),
           **given)


@maker("quantize", 11)
def qLinearElementwise(b):
    """Of ONNX Runtime."""
    type_ = b.r.of([U8, I8])
    x = coded(b, b.shape(b.r.between(1, 3)), type_)
    shape = x[0].shape if b.r.chance(0.7) else tuple(b.r.of([1, s]) for s in x[0].shape)
    y = coded(b, shape, type_)
    operands = [*x, *y] if b.r.chance() else [*y, *x]
    b.microsoft(b.r.of(["QLinearAdd", "QLinearMul"]), [*operands, resultScale(b),
                zeroOf(b, type_) if b.r.chance(0.7) else None],
                [(type_, broadcast(x[0].shape, shape), 255)])


@maker("quantize", 13)
def qGemm(b):
    """Of ONNX Runtime."""
    rows, inner, columns = (b.r.of([1, 3, 8, 17]) for _ in range(3))
    transA, transB = (int(b.r.chance(0.3)) for _ in range(2))
    type_ = b.r.of([U8, I8])
    x = coded(b, (inner, rows) if transA else (rows, inner), type_)
    y = coded(b, (columns, inner) if transB else (inner, columns), b.r.of([I8, type_]))
    if b.r.chance(0.3):  # of each column
        y[1:] = [scaleOf(b, (columns,)), zeroOf(b, y[0].type, (columns,))]
    bias = b.new(b.r.of([(columns,), (1,), (rows, 1)]), I32, 900) if b.r.chance() else None
    result, out = [], (F32, (rows, columns), 1e5)
    if b.r.chance(0.7):
        result, out = [resultScale(b), zeroOf(b, type_)], (type_, (rows, columns), 255)
    b.microsoft("QGemm", [*x, *y, bias, *result], [out], transA=transA or None,
                transB=transB, alpha=b.maybe(0.5))


@maker("quantize", 13, weight=2)
def qLinearFunction(b):
    """Of ONNX Runtime: of one operand."""
    op = b.r.of(["Sigmoid", "LeakyRelu", "Softmax", "AveragePool", "GlobalAveragePool"])
    type_ = b.r.of([U8, I8])
    isPool = op.endswith("Pool")
    shape = b.shape(b.r.between(1, 3))
    if isPool:
        shape = (b.r.between(1, 2), b.r.between(1, 3), *(b.r.between(3, 7) for _ in range(2)))
    x = coded(b, shape, type_)
    given, out = {}, shape
    if op == "LeakyRelu":
        given = {"alpha": b.maybe(0.3)}
    elif op == "Softmax":
        given = {"axis": b.axis(len(shape)), "opset": b.r.of([11, 13])}
    elif op == "AveragePool":
        kernel, strides = ([b.r.between(1, 3) for _ in range(2)] for _ in range(2))
        given, sizes = windows(b, x[0], kernel, strides, [1, 1])
        given.update(kernel_shape=kernel, strides=strides, count_include_pad=b.maybe(1))
        out = (*shape[:2], *sizes)
    elif isPool:
        out = (*shape[:2], 1, 1)
    scale = resultScale(b)
    if op in ("Sigmoid", "Softmax"):
        scale = b.constant([0.0071310237], F32, ())
    b.microsoft("QLinear" + op, [*x, scale, zeroOf(b, type_)], [(type_, out, 255)], **given)


@maker("quantize", 13)
def qLinearParts(b):
    """Of ONNX Runtime: what puts codes of several scales together."""
    type_ = b.r.of([U8, I8])
    shape = b.shape(b.r.between(1, 3))
    result = [resultScale(b), zeroOf(b, type_)]
    if b.r.chance():
        condition = b.new(tuple(b.r.of([1, s]) for s in shape), BOOL)
        b.microsoft("QLinearWhere", [condition, *coded(b, shape, type_), *coded(b, shape, type_),
                    *result], [(type_, shape, 255)])
        return
    axis, parts, size = b.r.below(len(shape)), [], 0
    for _ in range(b.r.between(1, 3)):
        part = list(shape)
        part[axis] = b.r.between(1, 5)
        size += part[axis]
        parts += coded(b, tuple(part), type_)
    b.microsoft("QLinearConcat", [*result, *parts],
                [(type_, (*shape[:axis], size, *shape[axis + 1:]), 255)], axis=axis)


@maker("quantize", 13)
def quantizedToFloat(b):
    """Products of 8 bits that ONNX Runtime scales."""
    rows, inner, columns = (b.r.of([1, 3, 8, 17]) for _ in range(3))
    y = b.new((inner, columns), b.r.of([U8, I8]), 100, 0, fixed=True)
    shape = (columns,) if b.r.chance(0.4) else ()
    scale, zero = scaleOf(b, shape), zeroOf(b, y.type, shape) if b.r.chance() else None
    bias = b.new((columns,)) if b.r.chance() else None
    out = [(F32, (rows, columns), 1e4)]
    if b.r.chance(0.3):
        x = b.apart(lambda v: v.shape[1] == inner, ranks=[2])
        out = [(F32, (x.shape[0], columns), 1e5)]
        return b.microsoft("DynamicQuantizeMatMul", [x, y, scale, zero, bias], out)
    x = coded(b, (rows, inner))
    b.microsoft("MatMulIntegerToFloat", [x[0], y, x[1], scale, x[2], zero, bias], out)


@maker("quantize", 13)
def matMulNBits(b):
    """Weights of few bits in blocks, each with its scale."""
    bits, block = b.r.of([4, 4, 8]), b.r.of([16, 32])
    columns, inner = b.r.of([1, 3, 8, 16]), b.r.of([16, 32, 40, 64])
    blocks = -(-inner // block)
    x = b.any(lambda v: v.shape[-1] == inner, ranks=[2, 3], most=4)
    bytes_ = block * bits // 8
    w = b.new((columns, blocks, bytes_), U8, 255, 0, fixed=True)
    scale = b.constant([b.r.of([0.05, 0.11, 0.02]) for _ in range(columns * blocks)], F32,
                       (columns * blocks,))
    zero = None
    if b.r.chance():
        width = columns * -(-blocks * bits // 8)
        zero = b.constant([b.r.between(0, 255) for _ in range(width)], U8, (width,))
    b.microsoft("MatMulNBits", [x, w, scale, zero],
                [(F32, (*x.shape[:-1], columns), 4 * 255 * inner)], K=inner, N=columns, bits=bits,
                block_size=block, accuracy_level=b.maybe(0))
