"""Makers of reductions, normalisations, the softmax family and orders.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

from builder import Skip, maker
from graph import F32, FLOATS, I32, I64, count

REDUCES = ["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp"]


def reduced(shape, axes, keeps):
    return tuple(1 if i in axes else s for i, s in enumerate(shape) if keeps or i not in axes)


@maker("reduce", 11, weight=4)
def reduce(b):
    kind = b.r.of(REDUCES)
    x = b.any(type_=b.r.of([F32] * 6 + [I64, I32]), most=20)
    if x.type not in FLOATS and (kind not in ("Sum", "Max", "Min", "L1", "SumSquare")
                                 or x.most > 100):
        raise Skip
    if kind == "Prod":
        x = b.bounded(x, 1.2) if x.type in FLOATS else x
    if kind == "LogSum":
        x = b.positive(x)
    if kind == "LogSumExp":
        x = b.bounded(x, 4)
    axes = b.r.some(range(x.rank))
    byInput = b.opset >= (13 if kind == "Sum" else 18)
    given, inputs = {}, [x]
    way = b.r.below(6)
    if way == 0:
        axes = list(range(x.rank))  # the default
    elif way == 1 and byInput:
        axes, given = [], {"noop_with_empty_axes": 1}
        if kind not in ("Sum", "Mean", "Max", "Min", "Prod") and x.type in FLOATS:
            raise Skip  # whether the function applies was defined late
        if x.type not in FLOATS and kind in ("L1", "SumSquare"):
            raise Skip
    else:
        signed = [a - x.rank if b.r.chance(0.3) else a for a in axes]
        if byInput:
            inputs.append(b.constant(signed))
        else:
            given["axes"] = signed
    keeps = b.maybe(b.r.below(2))
    shape = reduced(x.shape, axes, keeps is None or keeps)
    terms = count([x.shape[a] for a in axes])
    most = {"SumSquare": terms * x.most ** 2, "Prod": 30, "Max": x.most, "Min": x.most,
            "Mean": x.most, "LogSum": 10, "LogSumExp": 14}.get(kind, terms * x.most)
    b.node("Reduce" + kind, inputs, [(x.type, shape, most)], keepdims=keeps, **given)


@maker("reduce", 12, weight=2)
def argReduce(b):
    x = b.apart()
    axis = b.axis(x.rank)
    keeps = b.maybe(b.r.below(2))
    shape = reduced(x.shape, [axis % x.rank], keeps is None or keeps)
    b.node(b.r.of(["ArgMax", "ArgMin"]), [x], [(I64, shape, x.shape[axis])],
           axis=b.maybe(axis) if axis == 0 else axis, keepdims=keeps,
           select_last_index=b.maybe(b.r.below(2)))


@maker("reduce", 11, weight=2)
def topK(b):
    x = b.apart()
    axis = b.axis(x.rank)
    k = b.r.between(1, x.shape[axis])
    shape = tuple(k if i == axis % x.rank else s for i, s in enumerate(x.shape))
    largest = b.maybe(b.r.below(2))
    b.node("TopK", [x, b.constant([k])], [(F32, shape, x.most, True), (I64, shape, 20)],
           axis=axis, largest=largest, sorted=b.maybe(1))


@maker("reduce", 11)
def cumSum(b):
    x = b.any(type_=b.r.of([F32] * 4 + [I64]), most=20)
    axis = b.axis(x.rank)
    b.same("CumSum", x, x.most * x.shape[axis], inputs=[b.constant([axis], b.r.of([I64, I32]), ())],
           exclusive=b.maybe(b.r.below(2)), reverse=b.maybe(b.r.below(2)))


@maker("softmax", weight=3)
def softmax(b):
    x = b.any(most=20)
    op = b.r.of(["Softmax", "LogSoftmax"])
    b.same(op, x, 1 if op == "Softmax" else 50,
           axis=b.maybe(b.axis(x.rank), 0.8 if b.opset >= 13 or x.rank > 1 else 1))


@maker("softmax", 13)
def hardmax(b):
    x = b.apart()
    b.same("Hardmax", x, 1, axis=b.maybe(b.axis(x.rank)))


def channels(b, shape, positive=False):
    return b.new(shape, F32, 1.5, 0.5 if positive else None)


EPSILONS = [1e-5, 1e-3, 0.1]


@maker("norm", 9, weight=2)
def batchNorm(b):
    x = b.any(ranks=[2, 3, 4], most=20)
    c = (x.shape[1],)
    fixed = [channels(b, c), channels(b, c), channels(b, c), channels(b, c, True)]
    b.same("BatchNormalization", x, 3 * x.most + 4, inputs=fixed,
           epsilon=b.maybe(b.r.of(EPSILONS)), momentum=b.maybe(0.7))


@maker("norm", 6)
def instanceNorm(b):
    x = b.any(ranks=[3, 4], most=20)
    c = (x.shape[1],)
    b.same("InstanceNormalization", x, 20, inputs=[channels(b, c), channels(b, c)],
           epsilon=b.r.of([1e-3, 0.1]))


@maker("norm", 17, weight=2)
def layerNorm(b):
    x = b.any(most=20)
    axis = b.axis(x.rank)
    last = x.shape[axis:] if axis < 0 else x.shape[axis:]
    bias = channels(b, last) if b.r.chance(0.7) else None
    rows = tuple(1 if i >= axis % x.rank else s for i, s in enumerate(x.shape))
    outputs = [(F32, x.shape, 20)]
    if b.r.chance(0.2):
        outputs += [(F32, rows, x.most), (F32, rows, 40)]
    b.node("LayerNormalization", [x, channels(b, last), bias], outputs,
           axis=axis if axis != -1 else b.maybe(axis), epsilon=b.r.of([1e-3, 0.1]))


@maker("norm", 21)
def groupNorm(b):
    groups = b.r.of([1, 2, 3])
    x = b.any(lambda v: v.shape[1] % groups == 0, ranks=[3, 4], most=20)
    c = (x.shape[1],)
    b.same("GroupNormalization", x, 20, inputs=[channels(b, c), channels(b, c)],
           num_groups=groups, epsilon=b.r.of([1e-3, 0.1]))


@maker("norm", 23)
def rmsNorm(b):
    x = b.any(most=20)
    axis = b.axis(x.rank)
    b.same("RMSNormalization", x, 20, inputs=[channels(b, x.shape[axis:])], axis=axis,
           epsilon=b.r.of([1e-3, 0.1]))


@maker("norm", 13)
def otherNorms(b):
    op = b.r.of(["LRN", "LpNormalization", "MeanVarianceNormalization"])
    x = b.any(ranks=[1, 2, 3, 4] if op == "LpNormalization" else [4], most=20)
    if op == "LRN":
        return b.same(op, x, 40, size=b.r.of([1, 2, 3, 5]), alpha=b.maybe(0.1),
                      beta=b.maybe(b.r.of([0.5, 0.75])), bias=b.maybe(b.r.of([1.0, 2.0])))
    if op == "LpNormalization":
        return b.same(op, b.positive(x), 1, axis=b.maybe(b.axis(x.rank)), p=b.maybe(b.r.of([1, 2])))
    axes = b.r.of([[0, 2, 3], [2, 3], [1]])
    if count([x.shape[a] for a in axes]) == 1:
        raise Skip  # 0/0 but for an epsilon that the standard leaves open
    b.same(op, x, 20, axes=axes)
