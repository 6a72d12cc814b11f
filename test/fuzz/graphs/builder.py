"""What the makers of nodes use: random choices, values of the wanted kind, new nodes.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import random

from graph import BOOL, F16, F32, F64, FLOATS, Graph, I64, MICROSOFT, Node, Tensor, Value, count

SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19]
LARGEST = 4000  # elements of a value
# In some graphs: rows of several blocks, and reductions in parts.
LARGE_SIZES, LARGE_LARGEST = [1, 2, 3, 33, 64, 127, 256, 1000, 4099], 60000


class Skip(Exception):
    """The maker finds nothing to work on; another one is tried."""


class Random:
    """Choices that are made of random() alone, whose numbers no version of Python changes."""

    def __init__(self, seed):
        self.source = random.Random(seed)

    def unit(self):
        return self.source.random()

    def below(self, bound):
        return int(self.source.random() * bound)

    def between(self, first, last):
        return first + self.below(last - first + 1)

    def chance(self, share=0.5):
        return self.source.random() < share

    def of(self, choices):
        return choices[self.below(len(choices))]

    def shuffled(self, items):
        items = list(items)
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]
        return items

    def some(self, items):
        """At least one of them, in their order."""
        items = list(items)
        chosen = [i for i in items if self.chance()]
        return chosen or [self.of(items)]


def broadcast(*shapes):
    rank = max(map(len, shapes))
    result = []
    for axis in range(rank):
        sizes = {s[axis - rank + len(s)] for s in shapes if axis - rank + len(s) >= 0} - {1}
        if len(sizes) > 1:
            raise Skip
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


class Builder:
    def __init__(self, seed, opset):
        self.r = Random(seed)
        self.graph = Graph(opset=opset)
        self.opset = opset
        isLarge = self.r.chance(0.04)
        self.sizes = LARGE_SIZES if isLarge else SIZES
        self.largest = LARGE_LARGEST if isLarge else LARGEST
        self.number = 0
        self.used = set()

    # Names and numbers

    def name(self, stem="v"):
        self.number += 1
        return f"{stem}{self.number}"

    def spread(self, size, most=2.0):
        """Distinct numbers in [-most, most], away from 0 and from each other."""
        return [most * (-1 + 2 * (place + 0.37) / size) for place in
                self.r.shuffled(range(size))]

    def tensor(self, shape, type_=F32, most=2.0, low=None):
        """Random numbers; integers and bools in [low, most]."""
        size = count(shape)
        if type_ in FLOATS:
            numbers = self.spread(size, most)
            if low is not None:
                numbers = [low + (n + most) / (2 * most) * (most - low) for n in numbers]
            if type_ == F16:  # multiples of 2^-8 are exact
                numbers = [int(n * 256) / 256 for n in numbers]
        elif type_ == BOOL:
            numbers = [self.r.chance() for _ in range(size)]
        else:
            low = -int(most) if low is None else int(low)
            numbers = [self.r.between(low, int(most)) for _ in range(size)]
        return Tensor(type_, tuple(shape), numbers)

    def feed(self, tensor, most=2.0, apart=False, fixed=None):
        """A value of these numbers: an input of the graph or an initializer."""
        fixed = self.r.chance(0.4) if fixed is None else fixed
        name = self.name("w" if fixed else "x")
        (self.graph.initializers if fixed else self.graph.inputs)[name] = tensor
        return self.keep(Value(name, tensor.type, tensor.shape, most, apart))

    def keep(self, value):
        self.graph.values[value.name] = value
        return value

    def new(self, shape, type_=F32, most=2.0, low=None, fixed=None):
        return self.feed(self.tensor(shape, type_, most, low), most,
                         type_ in (F32, F64) and low is None, fixed)

    def constant(self, numbers, type_=I64, shape=None):
        """Known at compile time: an initializer, or a Constant node."""
        shape = (len(numbers),) if shape is None else shape
        tensor = Tensor(type_, tuple(shape), list(numbers))
        most = max([abs(float(n)) for n in numbers] + [0.0])
        if self.r.chance(0.3):
            return self.node("Constant", [], [(type_, shape, most)], value=tensor)
        return self.feed(tensor, most, fixed=True)

    def shape(self, rank, first=1):
        while True:
            shape = tuple(max(first, self.r.of(self.sizes)) for _ in range(rank))
            if count(shape) <= self.largest // 4:
                return shape

    # Values that are there

    def values(self, test):
        return [v for v in self.graph.values.values() if test(v)]

    def any(self, test=lambda v: True, type_=F32, rank=None, ranks=None, most=None):
        """One of the type and rank(s), mostly a recent one; a new one if there is none."""
        ranks = [rank] if rank is not None else ranks or [1, 2, 3, 4]
        types = type_ if isinstance(type_, tuple) else (type_,)
        found = self.values(lambda v: v.type in types and v.rank in ranks and v.size > 0
                            and test(v))
        if found and self.r.chance(0.85):
            fresh = [v for v in found if v.name not in self.used]
            value = self.r.of(fresh) if fresh and self.r.chance(0.6) else self.r.of(found)
        else:
            for _ in range(20):
                value = self.tryNew(types[0], self.r.of(ranks), test)
                if value:
                    break
            else:
                raise Skip
        return value if most is None else self.bounded(value, most)

    def tryNew(self, type_, rank, test):
        shape = self.shape(rank)
        if not test(Value("", type_, shape, 2.0, type_ in (F32, F64))):
            return None
        return self.new(shape, type_, 6 if type_ not in FLOATS and type_ != BOOL else 2.0,
                        0 if type_ in (2, 12) else None)

    def bounded(self, value, most):
        """The value, or what makes it small."""
        if value.most <= most:
            return value
        if value.type not in FLOATS:
            raise Skip
        if self.r.chance():
            out = self.node("Tanh", [value], [(value.type, value.shape, 1.0)])
            return out if most >= 1 else self.bounded(out, most)
        by = self.constant([float(value.most / most)], value.type, ())
        return self.node("Div", [value, by], [(value.type, value.shape, most)])

    def positive(self, value, least=0.5):
        """A value of at least `least`."""
        size = self.node("Abs", [value], [(value.type, value.shape, value.most)])
        by = self.constant([least], value.type, ())
        return self.node("Add", [size, by], [(value.type, value.shape, value.most + least)])

    def apart(self, test=lambda v: True, ranks=None):
        return self.any(lambda v: v.apart and test(v), ranks=ranks)

    def partner(self, value, type_=None, shape=None):
        """A value to broadcast with `value`: of the same shape, or with sizes 1, or of lower rank."""
        type_ = value.type if type_ is None else type_
        found = self.values(lambda v: v.type == type_ and v.size > 0 and v.name != value.name
                            and fits(v.shape, value.shape))
        if found and self.r.chance(0.6):
            return self.r.of(found)
        shape = list(value.shape)
        if self.r.chance(0.4):
            shape = [1 if self.r.chance(0.4) else s for s in shape]
        if self.r.chance(0.3):
            shape = shape[self.r.below(len(shape) + 1):]
        return self.new(shape, type_, *((6, 0 if type_ in (2, 12) else None)
                                        if type_ not in FLOATS and type_ != BOOL else ()))

    # Nodes

    def node(self, op, inputs, outputs, **attributes):
        """`outputs`: (type, shape, most[, apart]) each, or None for one that is left out. Returns
        the value, or a list of values. Attributes that are None are left out."""
        if any(o and count(o[1]) > self.largest for o in outputs):
            raise Skip
        values = [o and self.keep(Value(self.name(), o[0], tuple(o[1]), float(o[2]),
                                        len(o) > 3 and bool(o[3]))) for o in outputs]
        names = [i.name if i else "" for i in inputs]
        while names and not names[-1]:
            names.pop()
        self.used.update(names)
        self.graph.nodes.append(Node(op, names, [v.name if v else "" for v in values],
                                     {k: v for k, v in attributes.items() if v is not None}))
        return values[0] if len(values) == 1 else values

    def microsoft(self, op, inputs, outputs, **attributes):
        """A node of ONNX Runtime's own domain."""
        values = self.node(op, inputs, outputs, **attributes)
        self.graph.nodes[-1].domain = MICROSOFT
        return values

    def same(self, op, value, most=None, apart=False, inputs=(), **attributes):
        """A node whose result has the type and shape of `value`, its first input."""
        return self.node(op, [value, *inputs], [(value.type, value.shape,
                         value.most if most is None else most, apart)], **attributes)

    def maybe(self, value, share=0.5):
        """An attribute that is given or left at its default."""
        return value if self.r.chance(share) else None

    def axis(self, rank):
        axis = self.r.below(rank)
        return axis if self.r.chance(0.6) else axis - rank


def fits(shape, whole):
    return len(shape) <= len(whole) and all(
        a in (1, b) for a, b in zip(reversed(shape), reversed(whole)))


MAKERS = []  # (family, first opset, last opset, function)


def maker(family, first=1, last=99, weight=1):
    """Registers a function of a Builder that adds a node or a few."""
    def register(function):
        MAKERS.extend([(family, first, last, function)] * weight)
        return function
    return register
