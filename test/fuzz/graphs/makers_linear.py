"""Makers of products, convolutions and pooling.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

from builder import Skip, broadcast, maker
from graph import F32, F64, I64, count

EQUATIONS = ["ij,jk->ik", "bij,bjk->bik", "ij->ji", "ij->", "ij,ij->", "bij,bkj->bik", "i,j->ij",
             "bhqd,bhkd->bhqk", "ij,j->i", "ijk->ik", "ij,kj", "bij,jk", "ii->i", "bii->b",
             "ij,jk,kl->il", "abc,cd->abd", "abcd,cde->abe", "...i,ij->...j", "ji,jk->ik"]


@maker("linear", weight=3)
def matMul(b):
    """By an input or a weight; matrices, vectors, and batches that broadcast."""
    type_ = b.r.of([F32] * 7 + [F64])
    x = b.any(type_=type_, ranks=[1, 2, 3, 4], most=4)
    inner, columns = x.shape[-1], b.r.of([1, 3, 8, 16, 17])
    if x.rank == 1 or b.r.chance(0.15):
        y = b.new((inner,) if b.r.chance() else (inner, columns), type_)
    else:
        batch = x.shape[:-2] if b.r.chance(0.3) else ()
        batch = tuple(1 if b.r.chance(0.3) else s for s in batch)
        y = b.new((*batch, inner, columns), type_)
    rows = x.shape[-2:-1] if x.rank > 1 else ()
    ends = y.shape[-1:] if y.rank > 1 else ()
    shape = broadcast(x.shape[:-2], y.shape[:-2]) + rows + ends
    b.node("MatMul", [x, y], [(type_, shape, x.most * y.most * inner)])


@maker("linear")
def matMulLeft(b):
    x = b.any(rank=b.r.between(2, 3), most=4)
    w = b.new((b.r.of([1, 5, 16]), x.shape[-2]))
    b.node("MatMul", [w, x], [(F32, (*x.shape[:-2], w.shape[0], x.shape[-1]),
                               2 * x.most * x.shape[-2])])


@maker("linear", 7, weight=2)
def gemm(b):
    x = b.any(rank=2, most=4)
    transA, transB = b.maybe(b.r.below(2)), b.maybe(b.r.below(2))
    rows, inner = x.shape[::-1] if transA else x.shape
    columns = b.r.of([1, 4, 8, 13, 16])
    y = b.new((columns, inner) if transB else (inner, columns))
    z = None
    if b.opset < 11 or b.r.chance(0.7):
        z = b.new(b.r.of([(columns,), (1, columns), (rows, 1), (rows, columns), (1,), ()]))
    b.node("Gemm", [x, y, z], [(F32, (rows, columns), 4 * inner * x.most + 4)], transA=transA,
           transB=transB, alpha=b.maybe(b.r.of([0.5, 1.0, -1.25])),
           beta=b.maybe(b.r.of([0.5, 1.0, 2.0])))


@maker("linear", 12)
def einsum(b):
    equation = b.r.of(EQUATIONS)
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if not arrow:
        letters = [c for c in left if c.isalpha()]
        right = "".join(sorted({c for c in letters if letters.count(c) == 1}))
    batch = b.shape(b.r.below(2)) if "..." in equation else ()
    sizes = {}
    first = [v for v in b.values(lambda v: v.type == F32 and v.size > 0 and v.most < 20
                                 and v.rank == len(terms[0]))] if "." not in terms[0] else []
    operands = []
    for number, term in enumerate(terms):
        letters = term.replace("...", "")
        if number == 0 and first and len(set(letters)) == len(letters):
            value = b.r.of(first)
            sizes.update(zip(letters, value.shape))
        else:
            shape = tuple(sizes.setdefault(c, b.r.of([1, 2, 3, 5, 8])) for c in letters)
            value = b.new((batch if "..." in term else ()) + shape)
        operands.append(b.bounded(value, 2))
    shape = (batch if "..." in right else ()) + tuple(
        sizes[c] for c in right.replace("...", ""))
    summed = count([n for c, n in sizes.items() if c not in right])
    b.node("Einsum", operands, [(F32, shape, summed * 2 ** len(terms))], equation=equation)


def image(b, least=3, channels=None, dims=None):
    """A value [N, C, spatial..]."""
    dims = dims or b.r.of([1, 2, 2, 2, 2, 3])
    found = b.values(lambda v: v.type == F32 and v.rank == dims + 2 and v.size > 0
                     and all(least <= s for s in v.shape[2:])
                     and (channels is None or v.shape[1] in channels))
    if found and b.r.chance(0.85):
        return b.bounded(b.r.of(found[-3:]), 4)
    sides = {1: [5, 8, 13, 17], 2: [4, 5, 7, 8, 9], 3: [3, 4, 5]}[dims]
    return b.new((b.r.between(1, 3), b.r.of(channels or [1, 2, 3, 4, 6, 8]),
                  *[b.r.of(sides) for _ in range(dims)]), fixed=False)


def windows(b, x, kernel, strides, dilations, ceil=False):
    """Padding attributes, and the spatial sizes of the result."""
    dims = x.rank - 2
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    way = b.r.of(["none", "pads", "pads", "SAME_UPPER", "SAME_LOWER", "VALID"])
    if way in ("SAME_UPPER", "SAME_LOWER"):
        if ceil or any(d != 1 for d in dilations) or any(t > k for t, k in zip(strides, kernel)):
            way = "none"
        else:
            return {"auto_pad": way}, [-(-s // t) for s, t in zip(x.shape[2:], strides)]
    pads = [0] * (2 * dims)
    if way == "pads":
        pads = [min(b.r.below(3), k - 1) for k in kernel + kernel]
    sizes = []
    for i, size in enumerate(x.shape[2:]):
        room = size + pads[i] + pads[i + dims] - extents[i]
        if room < 0:
            raise Skip
        steps = -(-room // strides[i]) if ceil else room // strides[i]
        if ceil and steps * strides[i] >= size + pads[i]:
            raise Skip  # implementations differ in windows that begin in the padding
        sizes.append(steps + 1)
    given = {"pads": pads} if way == "pads" else {"auto_pad": way} if way == "VALID" else {}
    return given, sizes


@maker("conv", weight=3)
def conv(b):
    x = image(b)
    dims, channels = x.rank - 2, x.shape[1]
    group = b.r.of([1, 1, channels] + [2] * (channels % 2 == 0))
    out = group * b.r.of([1, 2, 3, 4, 8])
    kernel = [b.r.of([1, 2, 3, 3]) for _ in range(dims)]
    strides = [b.r.of([1, 1, 2, 3])] * dims if b.r.chance() else [1] * dims
    dilations = [b.r.of([1, 2])] * dims if b.r.chance(0.3) else [1] * dims
    given, sizes = windows(b, x, kernel, strides, dilations)
    w = b.new((out, channels // group, *kernel), most=1.0)
    bias = b.new((out,)) if b.r.chance() else None
    most = x.most * w.size / out + 2
    b.node("Conv", [x, w, bias], [(F32, (x.shape[0], out, *sizes), most)],
           group=group if group > 1 or b.r.chance() else None,
           kernel_shape=b.maybe(kernel),
           strides=strides if max(strides) > 1 else b.maybe(strides),
           dilations=dilations if max(dilations) > 1 else b.maybe(dilations), **given)


@maker("conv", weight=2)
def convTranspose(b):
    x = image(b, least=1)
    dims, channels = x.rank - 2, x.shape[1]
    group = b.r.of([1, 1, channels])
    out = b.r.of([1, 2, 3, 4])
    kernel = [b.r.of([1, 2, 3]) for _ in range(dims)]
    strides = [b.r.of([1, 2, 3]) for _ in range(dims)]
    dilations = [b.r.of([1, 1, 2])] * dims
    extra = [b.r.below(s) for s in strides]
    pads = [min(b.r.below(2), k - 1) for k in kernel + kernel]
    sizes = [(s - 1) * t + e + (k - 1) * d + 1 - pads[i] - pads[i + dims]
             for i, (s, t, e, k, d) in enumerate(zip(x.shape[2:], strides, extra, kernel, dilations))]
    if min(sizes) < 1:
        raise Skip
    w = b.new((channels, out, *kernel), most=1.0)
    bias = b.new((out * group,)) if b.r.chance() else None
    b.node("ConvTranspose", [x, w, bias],
           [(F32, (x.shape[0], out * group, *sizes), x.most * w.size + 2)],
           group=group if group > 1 else None, strides=strides, dilations=dilations,
           pads=pads if any(pads) else None, output_padding=extra if any(extra) else None,
           kernel_shape=b.maybe(kernel))


@maker("conv", 11, weight=2)
def pool(b):
    x = image(b)
    dims = x.rank - 2
    op = b.r.of(["MaxPool", "MaxPool", "AveragePool", "AveragePool", "LpPool"])
    kernel = [b.r.of([1, 2, 3, 3]) for _ in range(dims)]
    strides = [b.r.of([1, 2, 3]) for _ in range(dims)]
    mayDilate = op == "MaxPool" or b.opset >= (19 if op == "AveragePool" else 18)
    dilations = [b.r.of([1, 2])] * dims if mayDilate and b.r.chance(0.3) else [1] * dims
    ceil = (op != "LpPool" or b.opset >= 18) and b.r.chance(0.4)
    given, sizes = windows(b, x, kernel, strides, dilations, ceil)
    outputs = [(F32, (x.shape[0], x.shape[1], *sizes), x.most * (27 if op == "LpPool" else 1))]
    if op == "MaxPool" and x.apart and b.r.chance(0.4):
        outputs.append((I64, outputs[0][1], x.size))
        given["storage_order"] = b.maybe(b.r.below(2))
    if op == "AveragePool":
        given["count_include_pad"] = b.maybe(b.r.below(2))
    if op == "LpPool":
        given["p"] = b.maybe(b.r.of([1, 2, 3]))
    if ceil:
        given["ceil_mode"] = 1
    b.node(op, [x], outputs, kernel_shape=kernel,
           strides=strides if max(strides) > 1 else b.maybe(strides),
           dilations=dilations if max(dilations) > 1 else None, **given)


@maker("conv")
def globalPool(b):
    x = image(b, least=1)
    op = b.r.of(["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
    b.node(op, [x], [(F32, x.shape[:2] + (1,) * (x.rank - 2), x.most * x.size)],
           **({"p": b.maybe(b.r.of([1, 2, 3]))} if op == "GlobalLpPool" else {}))
