"""Makers of larger structures: losses, attention, transforms, sequences, windows.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

from builder import Skip, maker
from graph import BOOL, F32, I32, I64, Node, Value, count


@maker("loss", 13)
def loss(b):
    x = b.any(ranks=[2, 3, 4], most=20)
    classes, rest = x.shape[1], x.shape[:1] + x.shape[2:]
    labels = b.feed(b.tensor(rest, b.r.of([I64, I32]), classes - 1, 0), classes)
    weights = b.new((classes,), F32, 1.5, 0.5) if b.r.chance(0.4) else None
    reduction = b.maybe(b.r.of(["none", "mean", "sum"]))
    ignored = b.maybe(b.r.below(classes), 0.3)
    if ignored is not None and all(n == ignored for n in
                                   (b.graph.inputs.get(labels.name)
                                    or b.graph.initializers[labels.name]).numbers):
        raise Skip  # the mean of no rows
    given = {"reduction": reduction, "ignore_index": ignored}
    shape = rest if reduction == "none" else ()
    most = 60 * count(rest)
    if b.r.chance():
        scores = b.same("LogSoftmax", x, 50, axis=1)
        return b.node("NegativeLogLikelihoodLoss", [scores, labels, weights],
                      [(F32, shape, most)], **given)
    outputs = [(F32, shape, most)] + ([(F32, x.shape, 50)] if b.r.chance(0.4) else [])
    b.node("SoftmaxCrossEntropyLoss", [x, labels, weights], outputs, **given)


@maker("attention", 23, weight=3)
def attention(b):
    batch, queries, keys = b.r.between(1, 2), b.r.of([1, 3, 5, 8]), b.r.of([1, 3, 5, 8])
    if queries == 1 and b.r.chance(0.4):  # one word after many
        keys = b.r.of([37, 128, 256])
    heads, shared = b.r.of([(1, 1), (2, 1), (4, 2), (3, 3)])
    depth, width = b.r.of([1, 2, 4, 8]), b.r.of([1, 4, 5])
    asked = {"scale": b.maybe(0.7), "softcap": b.maybe(2.0, 0.2)}
    if b.r.chance(0.6):
        inputs = [b.new((batch, heads, queries, depth)), b.new((batch, shared, keys, depth)),
                  b.new((batch, shared, keys, width))]
        shape = (batch, heads, queries, width)
    else:
        inputs = [b.new((batch, queries, heads * depth)), b.new((batch, keys, shared * depth)),
                  b.new((batch, keys, shared * width))]
        shape = (batch, queries, heads * width)
        asked.update(q_num_heads=heads, kv_num_heads=shared)
    way = b.r.below(4)
    if way == 0:
        asked["is_causal"] = 1
    elif way == 1:
        inputs.append(b.new(b.r.of([(queries, keys), (batch, 1, queries, keys)])))
    elif way == 2:  # no row is masked whole
        mask = b.tensor((queries, keys), BOOL)
        for row in range(queries):
            mask.numbers[row * keys] = True
        inputs.append(b.feed(mask))
    b.node("Attention", inputs, [(F32, shape, 2)], **asked)


@maker("attention", 23)
def rotary(b):
    batch, heads, steps, depth = b.r.between(1, 2), b.r.between(1, 3), b.r.between(1, 5), b.r.of(
        [2, 4, 8])
    x = b.new((batch, heads, steps, depth))
    angles = (batch, steps, depth // 2)
    b.same("RotaryEmbedding", x, 4, inputs=[b.new(angles), b.new(angles)],
           interleaved=b.maybe(b.r.below(2)))


@maker("transform", 17)
def dft(b):
    inverse = b.maybe(b.r.below(2))
    x = b.new((b.r.between(1, 3), b.r.of([1, 2, 4, 5, 8, 12]), b.r.of([1, 2])))
    oneSided = not inverse and x.shape[2] == 1 and b.r.chance()
    size = x.shape[1] // 2 + 1 if oneSided else x.shape[1]
    given = {"inverse": inverse, "onesided": 1 if oneSided else None}
    inputs = [x]
    if b.opset >= 20:
        inputs += [None, b.constant([b.r.of([1, -2])], I64, ())]
    else:
        given["axis"] = b.maybe(1)
    b.node("DFT", inputs, [(F32, (x.shape[0], size, 2), 2 * x.size)], **given)


@maker("sequence", 11)
def sequence(b):
    """A sequence that is built, changed and joined."""
    x = b.any(ranks=[1, 2, 3], most=50)
    parts = [x, b.partner(x)]
    parts = [p for p in parts if p.shape == x.shape]
    made = b.name()
    b.graph.nodes.append(Node("SequenceConstruct", [p.name for p in parts], [made]))
    b.used.update(p.name for p in parts)
    if b.r.chance():
        last = b.name()
        b.graph.nodes.append(Node("SequenceInsert", [made, x.name], [last]))
        made, parts = last, [*parts, x]
    taken = b.constant([b.r.between(-len(parts), len(parts) - 1)], I64, ())
    before = Node("SequenceAt", [made, taken.name], [b.name()])
    most = max(p.most for p in parts)
    if b.r.chance():
        b.graph.nodes.append(before)
        b.used.add(taken.name)
        out = b.name()
        b.graph.nodes.append(Node("Abs", before.outputs, [out]))
        return b.keep(Value(out, F32, x.shape, most))
    axis = b.axis(x.rank)
    shape = tuple(s * len(parts) if i == axis % x.rank else s for i, s in enumerate(x.shape))
    out = b.name()
    b.graph.nodes.append(Node("ConcatFromSequence", [made], [out], {"axis": axis}))
    b.keep(Value(out, F32, shape, most))


@maker("transform", 18)
def col2Im(b):
    sides = [b.r.between(3, 6), b.r.between(3, 6)]
    block = [b.r.between(1, 3), b.r.between(1, 3)]
    strides = [b.r.of([1, 2]), b.r.of([1, 2])]
    pads = [b.r.below(2) if b.r.chance(0.3) else 0] * 4
    steps = [(s + 2 * pads[0] - k) // t + 1 for s, k, t in zip(sides, block, strides)]
    x = b.new((b.r.between(1, 2), b.r.between(1, 3) * count(block), count(steps)))
    b.node("Col2Im", [x, b.constant(sides), b.constant(block)],
           [(F32, (x.shape[0], x.shape[1] // count(block), *sides), 20)],
           strides=strides if max(strides) > 1 else b.maybe(strides),
           pads=pads if any(pads) else None)
