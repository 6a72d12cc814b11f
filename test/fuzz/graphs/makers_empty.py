"""Makers of nodes with values that have no elements, and of what is computed from them.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

from builder import maker
from graph import BOOL, F32, I32, I64, U8

ROWS = [1, 3, 8]


def empty(b, rank, axis=None, type_=F32, fixed=None):
    """A value with size 0 in `axis`, or in any dimension."""
    shape = [b.r.of(ROWS) for _ in range(rank)]
    shape[b.r.below(rank) if axis is None else axis] = 0
    return b.new(shape, type_, fixed=fixed)


@maker("empty", 7, weight=2)
def elementwise(b):
    x = empty(b, b.r.between(1, 4))
    y = b.new([1 if b.r.chance(0.3) else s for s in x.shape])
    out = b.node(b.r.of(["Add", "Sub", "Mul", "Max"]), [x, y],
                 [(F32, [a if s == 1 else s for a, s in zip(x.shape, y.shape)], 4)])
    b.same(b.r.of(["Relu", "Tanh", "Exp", "Neg"]), out)


@maker("empty", 13, weight=2)
def reduced(b):
    """The sum of nothing is 0, its product 1; or nothing is reduced to nothing."""
    x = empty(b, b.r.between(1, 4))
    axes = b.r.some(range(x.rank))
    op = b.r.of(["ReduceSum", "ReduceSum", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare"])
    keeps = b.maybe(b.r.below(2))
    shape = [1 if i in axes else s for i, s in enumerate(x.shape) if i not in axes or keeps != 0]
    if op == "ReduceSum" or b.opset >= 18:
        return b.node(op, [x, b.constant(axes)], [(F32, shape, 1)], keepdims=keeps)
    b.node(op, [x], [(F32, shape, 1)], axes=axes, keepdims=keeps)


@maker("empty", 9, weight=2)
def products(b):
    """Products whose result is empty, and products over nothing, which are 0."""
    sizes = [b.r.of(ROWS) for _ in range(3)]
    sizes[b.r.below(3)] = 0
    rows, inner, columns = sizes
    if b.r.chance():
        batch = (b.r.between(1, 3),) if b.r.chance() else ()
        return b.node("MatMul", [b.new((*batch, rows, inner)), b.new((inner, columns))],
                      [(F32, (*batch, rows, columns), 1)])
    b.node("Gemm", [b.new((rows, inner)), b.new((inner, columns)), b.new((columns,))],
           [(F32, (rows, columns), 2)], alpha=b.maybe(0.5), beta=b.maybe(0.5))


@maker("empty", 13, weight=2)
def joined(b):
    """A value, and nothing, joined; a value cut into itself and nothing."""
    x = b.any(ranks=[1, 2, 3])
    axis = b.r.below(x.rank)
    none = b.new([0 if i == axis else s for i, s in enumerate(x.shape)])
    out = (F32, x.shape, x.most, x.apart)
    if b.r.chance():
        return b.node("Concat", b.r.shuffled([x, none]), [out], axis=axis)
    sizes = b.r.shuffled([0, x.shape[axis]])
    b.node("Split", [x, b.constant(sizes)],
           [(F32, [n if i == axis else s for i, s in enumerate(x.shape)], x.most)
            for n in sizes], axis=axis)


@maker("empty", 14, weight=2)
def moved(b):
    """Cut, transposed, reshaped, repeated and padded."""
    x = empty(b, b.r.between(2, 4))
    axis = b.r.below(x.rank)
    way = b.r.below(6)
    if way == 0:
        order = b.r.shuffled(range(x.rank))
        return b.node("Transpose", [x], [(F32, [x.shape[i] for i in order], 2)], perm=order)
    if way == 1:
        shape = b.r.shuffled([0, *(b.r.of(ROWS) for _ in range(b.r.below(3)))])
        return b.node("Reshape", [x, b.constant(shape)], [(F32, shape, 2)], allowzero=1)
    if way == 2:
        pads = [0] * (2 * x.rank)
        pads[axis], pads[axis + x.rank] = b.r.below(3), b.r.below(3)
        shape = [s + pads[i] + pads[i + x.rank] for i, s in enumerate(x.shape)]
        return b.node("Pad", [x, b.constant(pads), b.constant([1.5], F32, ())],
                      [(F32, shape, 2)])
    if way == 3:
        repeats = [b.r.below(3) for _ in range(x.rank)]
        return b.node("Tile", [x, b.constant(repeats)],
                      [(F32, [s * n for s, n in zip(x.shape, repeats)], 2)])
    if way == 4:
        whole = b.any(ranks=[2, 3])
        at = b.r.below(whole.shape[0] + 1)
        return b.node("Slice", [whole, b.constant([at]), b.constant([at]), b.constant([0])],
                      [(F32, (0, *whole.shape[1:]), whole.most)])
    b.node("Expand", [b.new([1] * x.rank), b.constant(list(x.shape))], [(F32, x.shape, 2)])


@maker("empty", 13, weight=2)
def indexed(b):
    """No indices; and updates of nothing."""
    x = b.any(ranks=[2, 3])
    type_ = b.r.of([I64, I32])
    axis = b.r.below(x.rank)
    way = b.r.below(4)
    if way == 0:
        none = b.new((0,), type_, fixed=None)
        shape = [0 if i == axis else s for i, s in enumerate(x.shape)]
        return b.node("Gather", [x, none], [(F32, shape, x.most)], axis=axis)
    shape = [0 if i == axis else s for i, s in enumerate(x.shape)]
    none = b.new(shape, type_)
    if way == 1:
        return b.node("GatherElements", [x, none], [(F32, shape, x.most)], axis=axis)
    if way == 2:
        return b.node("ScatterElements", [x, none, b.new(shape)], [(F32, x.shape, x.most)],
                      axis=axis)
    b.node("ScatterND", [x, b.new((0, 1), I64), b.new((0, *x.shape[1:]))],
           [(F32, x.shape, x.most)])


@maker("empty", 15, weight=2)
def networks(b):
    """Layers over a batch of no rows."""
    way = b.r.below(5)
    if way == 0:
        x = b.new((0, 3, 7, 7), fixed=False)
        out = b.node("Conv", [x, b.new((4, 3, 3, 3)), b.new((4,))], [(F32, (0, 4, 5, 5), 60)])
        return b.node(b.r.of(["MaxPool", "AveragePool"]), [out], [(F32, (0, 4, 4, 4), 60)],
                      kernel_shape=[2, 2])
    if way == 1:
        x = b.new((0, 4, 5), fixed=False)
        return b.same("BatchNormalization", x, 9, inputs=[
            b.new((4,)), b.new((4,)), b.new((4,)), b.new((4,), F32, 2.0, 0.5)])
    if way == 2 and b.opset >= 17:
        x = b.new((0, 4, 5), fixed=False)
        return b.same("LayerNormalization", x, 9, inputs=[b.new((5,)), b.new((5,))])
    if way == 3:
        x = b.new((b.r.between(1, 3), 0, 4), fixed=False)
        return b.node("LSTM", [x, b.new((1, 12, 4)), b.new((1, 12, 3))],
                      [(F32, (x.shape[0], 1, 0, 3), 1), (F32, (1, 0, 3), 1)], hidden_size=3)
    x = empty(b, 2, axis=0, fixed=False)
    b.same(b.r.of(["Softmax", "LogSoftmax"]), x, 1, axis=1)


@maker("empty", 11)
def chosen(b):
    """The largest none, a range of nothing, and conditions on nothing."""
    way = b.r.below(4)
    if way == 0:
        x = b.apart(ranks=[2])
        shape = (x.shape[0], 0)
        return b.node("TopK", [x, b.constant([0])], [(F32, shape, x.most), (I64, shape, 1)])
    if way == 1:
        return b.node("Range", [b.constant([3], I64, ()), b.constant([3], I64, ()),
                                b.constant([1], I64, ())], [(I64, (0,), 3)])
    if way == 2:
        none = b.new((0,), I64)
        return b.node("OneHot", [none, b.constant([4], I64, ()), b.constant([0.0, 1.0], F32)],
                      [(F32, (0, 4), 1)])
    x = empty(b, b.r.between(1, 3))
    to = b.r.of([I32, U8])
    b.node("Cast", [x], [(to, x.shape, 2)], to=to)
    less = b.node("Less", [x, b.constant([0.0], F32, ())], [(BOOL, x.shape, 1)])
    b.node("Where", [less, x, b.constant([1.0], F32, ())], [(F32, x.shape, 2)])
