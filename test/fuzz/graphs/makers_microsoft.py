"""Makers of the float operators that ONNX Runtime's optimizer writes (com.microsoft).

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

from builder import Skip, maker
from graph import F32, I32, I64
from makers_linear import image


@maker("microsoft", weight=2)
def gelu(b):
    x = b.any(most=20)
    op = b.r.of(["Gelu", "BiasGelu", "FastGelu", "QuickGelu", "BiasSplitGelu"])
    out = (F32, x.shape, x.most + 2)
    bias = b.new(x.shape[-1:])
    if op in ("Gelu", "QuickGelu"):
        alpha = b.maybe(b.r.of([1.0, 1.702, 0.5])) if op == "QuickGelu" else None
        return b.microsoft(op, [x], [out], alpha=alpha)
    if op == "FastGelu":
        return b.microsoft(op, [x, bias if b.r.chance() else None], [out])
    if op == "BiasSplitGelu":
        if x.rank != 3 or x.shape[2] % 2:
            raise Skip
        out = (F32, (*x.shape[:2], x.shape[2] // 2), (x.most + 2) ** 2)
    b.microsoft(op, [x, bias], [out])


def activation(b):
    """Attributes of an activation that is fused, with its parameters."""
    name, parameters = b.r.of([("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.2]),
                               ("HardSigmoid", [0.3, 0.4])])
    return name, parameters


@maker("microsoft", 11)
def fusedConv(b):
    x = image(b, least=3)
    out = b.r.of([1, 3, 8])
    w = b.new((out, x.shape[1], *[b.r.of([1, 3])] * (x.rank - 2)), most=1.0)
    side = w.shape[2]
    shape = (x.shape[0], out, *[s - side + 1 for s in x.shape[2:]])
    bias = b.new((out,)) if b.r.chance(0.7) else None
    name, parameters = activation(b)
    other = b.new(shape) if bias and not parameters and b.r.chance(0.3) else None
    b.microsoft("FusedConv", [x, w, bias, other], [(F32, shape, x.most * w.size / out + 4)],
                activation=name, activation_params=parameters or None)


@maker("microsoft", 11)
def fusedGemm(b):
    x = b.any(rank=2, most=4)
    transB = b.maybe(b.r.below(2))
    columns = b.r.of([1, 4, 8, 13])
    y = b.new((columns, x.shape[1]) if transB else (x.shape[1], columns))
    name, parameters = activation(b)
    given = dict(zip(("activation_alpha", "activation_beta"), parameters))
    b.microsoft("FusedGemm", [x, y, b.new((columns,)) if b.r.chance(0.7) else None],
                [(F32, (x.shape[0], columns), 4 * x.shape[1] * x.most + 4)], transB=transB,
                alpha=b.maybe(b.r.of([0.5, -1.25])), activation=name, **given)


@maker("microsoft", weight=2)
def fusedMatMul(b):
    x = b.any(ranks=[2, 3, 4], most=4)
    transA, transB = b.maybe(b.r.below(2)), b.maybe(b.r.below(2))
    *batch, rows, inner = x.shape
    if transA:
        rows, inner = inner, rows
    columns = b.r.of([1, 3, 8, 16])
    y = b.new((*(batch if b.r.chance() else ()),
               *((columns, inner) if transB else (inner, columns))))
    b.microsoft(b.r.of(["FusedMatMul", "TransposeMatMul"]), [x, y],
                [(F32, (*batch, rows, columns), 4 * x.most * inner)], transA=transA, transB=transB,
                alpha=b.maybe(b.r.of([0.5, 1.0, -1.25])))


@maker("microsoft", weight=2)
def skipNorm(b):
    """Normalises the sum of two values, and mostly gives the sum too."""
    x = b.any(ranks=[3], most=20)
    skip = b.new(x.shape)
    row = x.shape[2:]
    epsilon = b.maybe(b.r.of([1e-5, 1e-3, 0.1]))
    bias = b.new(row) if b.r.chance() else None
    outputs = [(F32, x.shape, 2 * x.shape[2] + 4)]
    if b.r.chance():
        outputs += [None, None, (F32, x.shape, x.most + 4)]
    if row == (1,):
        raise Skip  # the variance is 0
    if b.r.chance():
        return b.microsoft("SkipSimplifiedLayerNormalization", [x, skip, b.new(row), bias], outputs,
                           epsilon=epsilon)
    beta = b.new(row) if b.r.chance(0.7) else None
    b.microsoft("SkipLayerNormalization", [x, skip, b.new(row), beta, bias], outputs,
                epsilon=epsilon)


@maker("microsoft", weight=2)
def embedNorm(b):
    batch, steps, width = b.r.between(1, 3), b.r.between(1, 5), b.r.of([2, 4, 8])
    words, segments = b.r.between(2, 9), b.r.between(1, 3)

    def indices(rows):
        return b.feed(b.tensor((batch, steps), I32, rows - 1, 0), rows, fixed=False)
    hasSegments = b.r.chance()
    inputs = [indices(words), indices(segments) if hasSegments else None,
              b.new((words, width), fixed=True), b.new((steps + b.r.below(3), width), fixed=True),
              b.new((segments, width), fixed=True) if hasSegments else None,
              b.new((width,)), b.new((width,))]
    outputs = [(F32, (batch, steps, width), 2 * width + 4), (I32, (batch,), steps)]
    if b.r.chance():
        inputs.append(b.feed(b.tensor((batch, steps), I32, 1, 0), 1, fixed=False))
    b.microsoft("EmbedLayerNormalization", inputs, outputs, epsilon=b.maybe(1e-3))


def hiddenKeys(b, batch, keys):
    """A mask that hides some keys, of a form that ONNX Runtime reads."""
    way = b.r.below(3)
    if way == 0:
        return None
    if way == 1:  # the number of visible keys
        return b.feed(b.tensor((batch,), I32, keys, 1), keys, fixed=False)
    mask = b.tensor((batch, keys), I32, 1, 0)
    for row in range(batch):
        mask.numbers[row * keys] = 1
    return b.feed(mask, 1, fixed=False)


@maker("microsoft", weight=2)
def attention(b):
    """One product gives queries, keys and values."""
    batch, steps, heads, size = (b.r.between(1, 2), b.r.of([1, 3, 5]), b.r.between(1, 3),
                                 b.r.of([1, 2, 4]))
    width = heads * size
    x = b.new((batch, steps, b.r.of([2, 4, 6])), fixed=False)
    inputs = [x, b.new((x.shape[2], 3 * width), most=1.0), b.new((3 * width,)),
              hiddenKeys(b, batch, steps)]
    b.microsoft("Attention", inputs, [(F32, (batch, steps, width), 2 * x.shape[2] + 2)],
                num_heads=heads, unidirectional=b.maybe(b.r.below(2) if steps > 1 else 0),
                scale=b.maybe(0.7, 0.3))


@maker("microsoft", weight=2)
def multiHeadAttention(b):
    batch, queries, keys = b.r.between(1, 2), b.r.of([1, 3, 5]), b.r.of([1, 3, 5])
    heads, size, width = b.r.between(1, 3), b.r.of([1, 2, 4]), b.r.of([1, 3, 4])
    inputs = [b.new((batch, queries, heads * size)), b.new((batch, keys, heads * size)),
              b.new((batch, keys, heads * width)),
              b.new((heads * (2 * size + width),)) if b.r.chance() else None]
    mask = hiddenKeys(b, batch, keys)
    inputs.append(mask)
    if b.r.chance(0.3):
        inputs.append(b.new((b.r.of([1, batch]), heads, queries, keys)))
    b.microsoft("MultiHeadAttention", inputs, [(F32, (batch, queries, heads * width), 4)],
                num_heads=heads, scale=b.maybe(0.7, 0.3))


@maker("microsoft", weight=2)
def groupQueryAttention(b):
    batch, steps = b.r.between(1, 2), b.r.of([1, 3, 5])
    heads, shared = b.r.of([(1, 1), (2, 1), (4, 2), (3, 3)])
    size = b.r.of([16, 32])  # ONNX Runtime knows no smaller ones
    rotates = b.r.chance()
    inputs = [b.new((batch, steps, n * size)) for n in (heads, shared, shared)]
    inputs += [None, None, b.constant([steps - 1] * batch, I32), b.constant([steps], I32, ())]
    if rotates:
        table = (steps + b.r.below(3), size // 2)
        inputs += [b.new(table, fixed=True), b.new(table, fixed=True)]
    caches = [(F32, (batch, shared, steps, size), 4)] * 2
    window = b.r.between(1, steps) if b.r.chance(0.3) else None
    b.microsoft("GroupQueryAttention", inputs, [(F32, (batch, steps, heads * size), 2), *caches],
                num_heads=heads, kv_num_heads=shared, do_rotary=int(rotates) or None,
                rotary_interleaved=b.maybe(b.r.below(2)) if rotates else None,
                local_window_size=window, scale=b.maybe(0.7, 0.3), softcap=b.maybe(2.0, 0.2))


@maker("microsoft")
def rotary(b):
    batch, heads, steps, size = (b.r.between(1, 2), b.r.between(1, 3), b.r.between(1, 5),
                                 b.r.of([2, 4, 8]))
    x = b.new((batch, heads, steps, size))
    table = (steps + b.r.below(3), size // 2)
    places = (b.constant([0], I64) if b.r.chance() else
              b.feed(b.tensor((batch, steps), I64, table[0] - 1, 0), steps, fixed=False))
    b.microsoft("RotaryEmbedding", [x, places, b.new(table, fixed=True), b.new(table, fixed=True)],
                [(F32, x.shape, 8)], interleaved=b.maybe(b.r.below(2)))


@maker("microsoft")
def biasSoftmax(b):
    x = b.any(ranks=[2, 3, 4], most=20)
    axis = b.r.between(1, x.rank - 1)
    shape = tuple(1 if i < axis and b.r.chance() else s for i, s in enumerate(x.shape))
    b.microsoft("BiasSoftmax", [x, b.new(shape)], [(F32, x.shape, 1)], axis=axis,
                is_inner_broadcast=0)
