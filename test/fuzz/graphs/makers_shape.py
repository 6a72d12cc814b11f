"""Makers of nodes that move, cut, join and index.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

from builder import Skip, maker
from graph import BOOL, F32, F64, FLOATS, I32, I64, Tensor, U8, count

ANY = (F32, F32, F32, I64, I32, F64, BOOL, U8)


def something(b, ranks=(1, 2, 3, 4), test=lambda v: True):
    return b.any(test, type_=b.r.of([F32] * 6 + [I64, F64]), ranks=list(ranks))


def like(x, shape):
    """An output with the numbers of x."""
    return (x.type, tuple(shape), x.most, x.apart)


@maker("shape", 5, weight=2)
def reshape(b):
    x = something(b, (0, 1, 2, 3, 4))
    factors, rest = [], x.size
    for prime in (2, 3, 5, 7, 11, 13, 17, 19):
        while rest % prime == 0:
            factors.append(prime)
            rest //= prime
    shape = [1] * b.r.between(1, 4)
    for factor in factors + [rest]:
        shape[b.r.below(len(shape))] *= factor
    asked = list(shape)
    for i, size in enumerate(shape):
        if i < x.rank and x.shape[i] == size and b.r.chance(0.3):
            asked[i] = 0
    if b.r.chance():
        asked[b.r.below(len(asked))] = -1
    b.node("Reshape", [x, b.constant(asked)], [like(x, shape)])


@maker("shape", weight=2)
def transpose(b):
    x = something(b)
    order = b.r.shuffled(range(x.rank)) if b.r.chance(0.8) else None
    b.node("Transpose", [x], [like(x, [x.shape[i] for i in order or reversed(range(x.rank))])],
           perm=order)


@maker("shape", 10, weight=3)
def sliceOf(b):
    x = something(b)
    axes = b.r.some(range(x.rank))
    starts, ends, steps, shape = [], [], [], list(x.shape)
    for axis in axes:
        size, step = x.shape[axis], b.r.of([1, 1, 2, 3, -1, -2, 7])
        first = b.r.between(-size - 2, size + 2)
        last = b.r.of([b.r.between(-size - 2, size + 2), 1 << 62 if step > 0 else -(1 << 62)])
        taken = len(range(*slice(first, last, step).indices(size)))
        if taken == 0:  # no elements: take all
            first, last = (0, size) if step > 0 else (size - 1, -size - 1)
            taken = len(range(*slice(first, last, step).indices(size)))
        shape[axis] = taken
        starts.append(first)
        ends.append(last)
        steps.append(step)
    mayOmit = axes == list(range(len(axes)))
    type_ = I64 if b.r.chance(0.8) or any(abs(e) > 1 << 30 for e in ends) else I32
    inputs = [x, b.constant(starts, type_), b.constant(ends, type_)]
    plain = all(s == 1 for s in steps)
    if not (mayOmit and plain and b.r.chance()):
        signed = [a - x.rank if b.r.chance(0.3) else a for a in axes]
        inputs.append(None if mayOmit and b.r.chance(0.3) else b.constant(signed, type_))
        if not plain or b.r.chance():
            inputs.append(b.constant(steps, type_))
    b.node("Slice", inputs, [like(x, shape)])


@maker("shape", 11, weight=2)
def pad(b):
    x = something(b)
    modes = ["constant", "reflect", "edge"] + ["wrap"] * (b.opset >= 19)
    mode = b.maybe(b.r.of(modes), 0.8)
    byAxes = b.opset >= 18 and b.r.chance(0.4)
    axes = b.r.some(range(x.rank)) if byAxes else list(range(x.rank))
    pads, shape = [], list(x.shape)
    for axis in axes * 2:
        size = x.shape[axis]
        most = size - 1 if mode == "reflect" else size if mode == "wrap" else 3
        amount = min(b.r.below(4), most)
        if b.r.chance(0.15) and shape[axis] > 2 and mode in (None, "constant"):
            amount = -1
        pads.append(amount)
        shape[axis] += amount
    inputs = [x, b.constant(pads)]
    value = None
    if mode in (None, "constant") and b.r.chance():
        value = b.constant([1.5 if x.type in FLOATS else 3], x.type, ())
    if value or byAxes:
        inputs.append(value)
    if byAxes:
        inputs.append(b.constant([a - x.rank if b.r.chance(0.3) else a for a in axes]))
    b.node("Pad", inputs, [(x.type, tuple(shape), max(x.most, 3))], mode=mode)


@maker("shape", 4, weight=2)
def concat(b):
    x = something(b)
    axis = b.r.below(x.rank)
    found = b.values(lambda v: v.type == x.type and v.rank == x.rank and all(
        i == axis or s == t for i, (s, t) in enumerate(zip(v.shape, x.shape))))
    parts = [b.r.of(found) if b.r.chance(0.7) else b.new(
        x.shape, x.type, *((6,) if x.type not in FLOATS else ())) for _ in range(b.r.between(1, 3))]
    parts.insert(b.r.below(len(parts) + 1), x)
    shape = list(x.shape)
    shape[axis] = sum(p.shape[axis] for p in parts)
    b.node("Concat", parts, [(x.type, tuple(shape), max(p.most for p in parts))],
           axis=axis - x.rank if b.opset >= 11 and b.r.chance(0.3) else axis)


@maker("shape", 13, weight=2)
def split(b):
    x = something(b, test=lambda v: v.shape[-1] > 1)
    axis = b.r.of([i for i, s in enumerate(x.shape) if s > 1])
    size, parts = x.shape[axis], b.r.between(2, 3)
    given = {"axis": axis - x.rank if b.r.chance(0.3) else axis}
    if b.opset >= 18 and b.r.chance() and (parts - 1) * -(-size // parts) < size:
        chunk = -(-size // parts)
        sizes = [chunk] * (parts - 1) + [size - chunk * (parts - 1)]
        given["num_outputs"] = parts
        inputs = [x]
    elif size % parts == 0 and b.opset < 18 and b.r.chance():
        sizes, inputs = [size // parts] * parts, [x]
    else:
        first = b.r.between(1, size - 1)
        sizes = [first, size - first]
        inputs = [x, b.constant(sizes)]
    b.node("Split", inputs, [like(x, [n if i == axis else s for i, s in enumerate(x.shape)])
                             for n in sizes], **given)


@maker("shape", 13)
def squeeze(b):
    x = something(b, (1, 2, 3))
    if b.r.chance() and 1 in x.shape:
        axes = b.r.some([i for i, s in enumerate(x.shape) if s == 1])
        shape = [s for i, s in enumerate(x.shape) if i not in axes]
        if b.r.chance(0.2):
            return b.node("Squeeze", [x], [like(x, [s for s in x.shape if s != 1])])
        return b.node("Squeeze", [x, b.constant([a - x.rank if b.r.chance(0.3) else a
                                                 for a in axes])], [like(x, shape)])
    rank = x.rank + b.r.between(1, 2)
    axes = b.r.shuffled(range(rank))[:rank - x.rank]
    sizes = iter(x.shape)
    shape = [1 if i in axes else next(sizes) for i in range(rank)]
    b.node("Unsqueeze", [x, b.constant([a - rank if b.r.chance(0.3) else a for a in axes])],
           [like(x, shape)])


@maker("shape", 9)
def flatten(b):
    x = something(b, (0, 1, 2, 3, 4))
    axis = b.r.between(0, x.rank)
    b.node("Flatten", [x], [like(x, (count(x.shape[:axis]), count(x.shape[axis:])))], axis=axis)


@maker("shape", 8)
def expand(b):
    x = something(b, (0, 1, 2, 3))
    shape = [b.r.of([1, 2, 3]) if s == 1 else s for s in x.shape]
    shape = [b.r.of([1, 2, 3]) for _ in range(b.r.below(2))] + shape
    asked = [1 if b.r.chance(0.2) and i >= len(shape) - x.rank
             and x.shape[i - len(shape) + x.rank] == s else s for i, s in enumerate(shape)]
    if not asked:
        raise Skip
    b.node("Expand", [x, b.constant(asked)], [(x.type, tuple(shape), x.most)])


@maker("shape", 6)
def tile(b):
    x = something(b, (1, 2, 3))
    times = [b.r.of([1, 1, 2, 3]) for _ in x.shape]
    b.node("Tile", [x, b.constant(times)],
           [(x.type, tuple(s * n for s, n in zip(x.shape, times)), x.most)])


def places(b, shape, size, type_=None):
    """Indices in [-size, size), known at compile time or not."""
    type_ = type_ or b.r.of([I64, I64, I32])
    return b.feed(b.tensor(shape, type_, size - 1, -size), size, fixed=b.r.chance())


@maker("index", 11, weight=2)
def gather(b):
    x = something(b)
    axis = b.r.below(x.rank)
    indices = places(b, b.shape(b.r.below(3)) if b.r.chance(0.7) else (1,), x.shape[axis])
    b.node("Gather", [x, indices], [(x.type, x.shape[:axis] + indices.shape + x.shape[axis + 1:],
                                     x.most)], axis=axis - x.rank if b.r.chance(0.3) else axis)


@maker("index", 11)
def gatherElements(b):
    x = something(b)
    axis = b.r.below(x.rank)
    shape = tuple(b.r.between(1, 2 * s) if i == axis else b.r.between(1, s)
                  for i, s in enumerate(x.shape))
    b.node("GatherElements", [x, places(b, shape, x.shape[axis])], [(x.type, shape, x.most)],
           axis=axis - x.rank if b.r.chance(0.3) else axis)


def tuples(b, batch, sizes):
    """Indices whose last dimension goes over `sizes`."""
    numbers = []
    for _ in range(count(batch)):
        numbers += [b.r.between(-s, s - 1) for s in sizes]
    return b.feed(Tensor(I64, (*batch, len(sizes)), numbers), 20, fixed=b.r.chance())


@maker("index", 12)
def gatherNd(b):
    x = something(b)
    batch = b.r.below(min(x.rank, 2))
    depth = b.r.between(1, x.rank - batch)
    rows = x.shape[:batch] + b.shape(b.r.below(2))
    indices = tuples(b, rows, x.shape[batch:batch + depth])
    b.node("GatherND", [x, indices], [(x.type, rows + x.shape[batch + depth:], x.most)],
           batch_dims=batch if batch else b.maybe(0))


def reductions(b):
    """Attributes of a scatter, and whether equal indices are defined."""
    names = [None, None, "none"] + ["add", "mul"] * (b.opset >= 16) + ["max", "min"] * (
        b.opset >= 18)
    name = b.r.of(names)
    return ({} if name is None else {"reduction": name}) if b.opset >= 16 else {}, (
        name in ("add", "mul", "max", "min") and b.opset >= 16)


@maker("index", 11, weight=2)
def scatterElements(b):
    x = b.any(type_=b.r.of([F32] * 4 + [I64]), most=20)
    axis = b.r.below(x.rank)
    given, maybeTwice = reductions(b)
    shape = tuple(b.r.between(1, s) for s in x.shape)
    indices = places(b, shape, x.shape[axis])
    if not maybeTwice:  # each line along the axis has its own distinct indices
        tensor = b.graph.initializers.get(indices.name) or b.graph.inputs[indices.name]
        inner = count(shape[axis + 1:])
        for line in range(count(shape) // shape[axis]):
            first = line // inner * inner * shape[axis] + line % inner
            order = b.r.shuffled(range(x.shape[axis]))
            for i in range(shape[axis]):
                tensor.numbers[first + i * inner] = order[i]
    updates = b.new(shape, x.type, *((6,) if x.type == I64 else ()))
    most = x.most + updates.most * count(shape)
    b.node("ScatterElements", [x, indices, updates], [(x.type, x.shape, most)],
           axis=axis - x.rank if b.r.chance(0.3) else axis, **given)


@maker("index", 11, weight=2)
def scatterNd(b):
    x = b.any(type_=b.r.of([F32] * 4 + [I64]), most=20)
    depth = b.r.between(1, x.rank)
    given, maybeTwice = reductions(b)
    positions = count(x.shape[:depth])
    rows = b.r.between(1, min(positions, 9))
    chosen = ([b.r.below(positions) for _ in range(rows)] if maybeTwice
              else b.r.shuffled(range(positions))[:rows])
    numbers = []
    for place in chosen:
        index = []
        for size in reversed(x.shape[:depth]):
            index.insert(0, place % size - (size if b.r.chance(0.2) else 0))
            place //= size
        numbers += index
    indices = b.feed(Tensor(I64, (rows, depth), numbers), 20, fixed=b.r.chance())
    updates = b.new((rows, *x.shape[depth:]), x.type, *((6,) if x.type == I64 else ()))
    b.node("ScatterND", [x, indices, updates],
           [(x.type, x.shape, x.most + updates.most * rows)], **given)


@maker("shape", 11)
def depth(b):
    block = b.r.of([1, 2, 3])
    if b.r.chance():
        x = b.new((b.r.between(1, 2), block * block * b.r.between(1, 3), b.r.between(1, 5),
                   b.r.between(1, 5)))
        n, c, h, w = x.shape
        return b.node("DepthToSpace", [x], [like(x, (n, c // block ** 2, h * block, w * block))],
                      blocksize=block, mode=b.maybe(b.r.of(["DCR", "CRD"])))
    x = b.new((b.r.between(1, 2), b.r.between(1, 4), block * b.r.between(1, 3),
               block * b.r.between(1, 3)))
    n, c, h, w = x.shape
    b.node("SpaceToDepth", [x], [like(x, (n, c * block ** 2, h // block, w // block))],
           blocksize=block)


@maker("shape", 14)
def trilu(b):
    x = something(b, (2, 3))
    k = b.constant([b.r.between(-3, 3)], I64, ()) if b.r.chance() else None
    b.node("Trilu", [x, k], [(x.type, x.shape, x.most)], upper=b.maybe(b.r.below(2)))


@maker("index", 11)
def oneHot(b):
    depth_ = b.r.of([1, 3, 8])
    indices = places(b, b.shape(b.r.between(1, 2)), depth_)
    axis = b.r.between(-indices.rank - 1, indices.rank)
    shape = list(indices.shape)
    shape.insert(axis + len(shape) + 1 if axis < 0 else axis, depth_)
    b.node("OneHot", [indices, b.constant([depth_], I64, b.r.of([(), (1,)])),
                      b.constant([0.25, 1.5], F32)], [(F32, tuple(shape), 1.5)],
           axis=b.maybe(axis, 1 if axis != -1 else 0.5))


@maker("shape", 15)
def sizes(b):
    """Arithmetic of shapes, known at compile time."""
    x = b.any()
    first = b.maybe(b.r.below(x.rank))
    taken = x.shape[first or 0:]
    shape = b.node("Shape", [x], [(I64, (len(taken),), 20)], start=first)
    if b.r.chance():
        value = Tensor(F32, (1,), [1.25])
        y = b.node("ConstantOfShape", [shape], [(F32, taken, 1.25)], value=value)
        return b.node("Add", [x, y] if not first else [y, b.constant([0.5], F32, ())],
                      [(F32, x.shape if not first else taken, x.most + 2)])
    total = b.node("ReduceProd", [shape], [(I64, (1,), 4000)], keepdims=1)
    b.node("Reshape", [x, total], [like(x, (count(taken),))]) if not first else None


@maker("shape", 11)
def rangeOf(b):
    first, step = b.r.between(-3, 3), b.r.of([1, 2, -1])
    number = b.r.of([1, 3, 8, 13])
    x = b.node("Range", [b.constant([v], I64, ()) for v in
                         (first, first + number * step, step)], [(I64, (number,), 40)])
    b.node("Cast", [x], [(F32, (number,), 40)], to=F32)


@maker("shape", 9)
def eyeLike(b):
    x = b.any(rank=2)
    b.node("EyeLike", [x], [(F32, x.shape, 1)], k=b.maybe(b.r.between(-2, 2)))


@maker("shape", 10)
def reverseSequence(b):
    x = b.any(ranks=[2, 3, 4])
    time = b.r.below(2)
    steps, rows = x.shape[time], x.shape[1 - time]
    lengths = b.feed(b.tensor((rows,), I64, steps, 1), steps)
    b.node("ReverseSequence", [x, lengths], [like(x, x.shape)], time_axis=time,
           batch_axis=1 - time)


@maker("shape", 11)
def compress(b):
    x = something(b)
    axis = b.maybe(b.r.below(x.rank), 0.7)
    size = x.size if axis is None else x.shape[axis]
    chosen = [b.r.chance() for _ in range(size)]
    chosen[b.r.below(size)] = True
    test = b.constant(chosen, BOOL)
    shape = (sum(chosen),) if axis is None else tuple(
        sum(chosen) if i == axis else s for i, s in enumerate(x.shape))
    b.node("Compress", [x, test], [like(x, shape)], axis=axis)


@maker("resize", 13, weight=2)
def resize(b):
    x = b.any(rank=4)
    mode = b.r.of(["nearest", "linear", "linear", "cubic"])
    way = b.r.of(["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"])
    given = {"mode": b.maybe(mode, 1 if mode != "nearest" else 0.5),
             "coordinate_transformation_mode": b.maybe(way, 1 if way != "half_pixel" else 0.5)}
    if mode == "nearest":
        given["nearest_mode"] = b.maybe(b.r.of(["round_prefer_floor", "floor", "ceil",
                                                "round_prefer_ceil"]))
    if mode == "cubic":
        given["cubic_coeff_a"] = b.maybe(b.r.of([-0.5, -0.75]))
        given["exclude_outside"] = b.maybe(b.r.below(2))
    if b.opset >= 18 and mode != "nearest" and b.r.chance(0.3):
        given["antialias"] = 1
    spatial = [b.r.of([1, 2, 3, 5, 8]) for _ in range(2)]
    if b.r.chance():
        shape = x.shape[:2] + tuple(spatial)
        inputs = [x, None, None, b.constant(list(shape))]
    else:
        scales = [b.r.of([2.0, 1.0, 0.5, 3.0, 1.5]) for _ in range(2)]
        shape = x.shape[:2] + tuple(int(s * f) for s, f in zip(x.shape[2:], scales))
        if min(shape) < 1:
            raise Skip
        inputs = [x, None, b.constant([1.0, 1.0, *scales], F32)]
    b.node("Resize", inputs, [(F32, shape, 2 * x.most)], **given)


@maker("resize", 16)
def gridSample(b):
    x = b.any(rank=4)
    grid = b.new((x.shape[0], b.r.between(1, 5), b.r.between(1, 5), 2), most=1.2)
    names = ["linear", "nearest", "cubic"] if b.opset >= 20 else ["bilinear", "nearest", "bicubic"]
    mode = b.r.of(names)
    b.node("GridSample", [x, grid], [(F32, x.shape[:2] + grid.shape[1:3], 2 * x.most)],
           mode=b.maybe(mode, 1 if mode != names[0] else 0.5),
           padding_mode=b.maybe(b.r.of(["zeros", "border", "reflection"])),
           align_corners=b.maybe(b.r.below(2)))


@maker("shape", 18)
def centerCropPad(b):
    x = something(b)
    axes = b.r.some(range(x.rank))
    sizes_ = [b.r.between(1, 8) for _ in axes]
    shape = list(x.shape)
    for axis, size in zip(axes, sizes_):
        shape[axis] = size
    b.node("CenterCropPad", [x, b.constant(sizes_)], [(x.type, tuple(shape), x.most)], axes=axes)
