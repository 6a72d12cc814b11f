"""Shrinks a failing graph as far as possible while it fails in the same way.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Candidates need not be valid: the importer refuses those that are not, which is another
failure.
"""

from generate import prune
from graph import Graph, I64, Tensor, count

AT_ONCE = 48  # candidates that run at once
TIMEOUT_SECONDS = 20  # of one; most take less than 1


def withoutOutputs(graph):
    for i in range(len(graph.outputs)):
        if len(graph.outputs) > 1:
            g = graph.copy()
            g.outputs = [graph.outputs[i]]
            yield g
    for i in range(len(graph.outputs)):
        if len(graph.outputs) > 2:
            g = graph.copy()
            del g.outputs[i]
            yield g


def cutAfter(graph):
    """The results of a node are the outputs."""
    for node in graph.nodes:
        for name in filter(None, node.outputs):
            if name in graph.types and (name, graph.types[name]) != graph.outputs[0]:
                g = graph.copy()
                g.outputs = [(name, graph.types[name])]
                yield g


def withoutNodes(graph):
    """A node's result is an input of the graph, or the node's own input."""
    for i, node in enumerate(graph.nodes):
        g = graph.copy()
        del g.nodes[i]
        for name in filter(None, node.outputs):
            if name not in graph.sizes:
                break
            type_, shape = graph.types[name], graph.sizes[name]
            number = count(shape)
            numbers = [2 * (-1 + 2 * ((7 * k + 3) % number + 0.37) / number)
                       for k in range(number)]
            g.inputs[name] = Tensor(type_, shape, numbers if type_ in (1, 10, 11) else
                                    [int(abs(n) * 2) for n in numbers])
        else:
            yield g
        g = graph.copy()
        del g.nodes[i]
        if node.inputs and node.inputs[0]:
            rename(g, {node.outputs[0]: node.inputs[0]})
            yield g


def rename(graph, names):
    for node in graph.nodes:
        node.inputs = [names.get(name, name) for name in node.inputs]
        for value in node.attributes.values():
            if isinstance(value, Graph):
                rename(value, names)
    graph.outputs = [(names.get(name, name), type_) for name, type_ in graph.outputs]


def withoutAttributes(graph):
    for i, node in enumerate(graph.nodes):
        for name in node.attributes:
            g = graph.copy()
            del g.nodes[i].attributes[name]
            yield g
        for k, name in enumerate(node.inputs):
            if name and k > 0:
                g = graph.copy()
                g.nodes[i].inputs[k] = ""
                while g.nodes[i].inputs and not g.nodes[i].inputs[-1]:
                    g.nodes[i].inputs.pop()
                yield g
        if len(node.outputs) > 1:
            g = graph.copy()
            g.nodes[i].outputs.pop()
            yield g


def sliced(tensor, axis, size):
    inner = count(tensor.shape[axis + 1:])
    row = max(tensor.shape[axis] * inner, 1)
    numbers = [n for first in range(0, len(tensor.numbers), row)
               for n in tensor.numbers[first:first + size * inner]]
    shape = tensor.shape[:axis] + (size,) + tensor.shape[axis + 1:]
    return Tensor(tensor.type, shape, numbers)


def replaceSize(graph, old, new):
    """All tensors and lists of integers, with a size replaced wherever it is."""
    for tensors in (graph.inputs, graph.initializers):
        for name, tensor in tensors.items():
            for axis, size in enumerate(tensor.shape):
                if size == old:
                    tensor = sliced(tensor, axis, new)
            if tensor.type == I64 and len(tensor.shape) <= 1:
                tensor = Tensor(I64, tensor.shape, [new if n == old else n
                                                    for n in tensor.numbers])
            tensors[name] = tensor
    for node in graph.nodes:
        for key, value in node.attributes.items():
            if isinstance(value, Tensor) and value.type == I64 and len(value.shape) <= 1:
                node.attributes[key] = Tensor(I64, value.shape,
                                              [new if n == old else n for n in value.numbers])


def smaller(graph):
    sizes = {s for tensors in (graph.inputs, graph.initializers) for t in tensors.values()
             for s in t.shape if s > 1}
    for size in sorted(sizes, reverse=True):
        for new in sorted({1, 2, size // 2, size - 1} - {0, size}):
            g = graph.copy()
            replaceSize(g, size, new)
            yield g
    for kind in ("inputs", "initializers"):
        for name, tensor in getattr(graph, kind).items():
            for axis, size in enumerate(tensor.shape):
                for new in sorted({1, size // 2, size - 1} - {0, size}) if size > 1 else ():
                    g = graph.copy()
                    getattr(g, kind)[name] = sliced(tensor, axis, new)
                    yield g


def fixedInputs(graph):
    for name in list(graph.inputs):
        if len(graph.inputs) > 1:
            g = graph.copy()
            g.initializers[name] = g.inputs.pop(name)
            yield g


def weightOf(graph):
    """What gets smaller, the most important first."""
    tensors = [*graph.inputs.values(), *graph.initializers.values()]
    return (len(graph.nodes), len(graph.outputs),
            sum(len(n.attributes) + len(list(filter(None, n.inputs))) + len(n.outputs)
                for n in graph.nodes),
            len(graph.inputs), sum(len(t.numbers) for t in tensors))


STEPS = [withoutOutputs, cutAfter, withoutNodes, withoutAttributes, smaller, fixedInputs]


def shrink(graph, mode, kind, runner, rounds=40):
    """The smallest graph found whose Result in `mode` is of `kind`."""
    graph = graph.copy()
    graph.types = {name: value.type for name, value in graph.values.items()}
    graph.sizes = {name: value.shape for name, value in graph.values.items()}
    graph.values = {}  # shapes of outputs are no longer known

    def firstThatFails(candidates):
        tried = {f"c{i}": (g, [mode] if mode != "oracle" else []) for i, g in enumerate(candidates)}
        results = runner.run(tried, TIMEOUT_SECONDS)
        for name, (g, _) in tried.items():
            if any(r.kind() == kind for r in results[name]):
                return g
        return None

    for _ in range(rounds):
        for step in STEPS:
            candidates = []
            for g in step(graph):
                prune(g)
                if g.outputs and g.nodes and weightOf(g) < weightOf(graph):
                    candidates.append(g)
            found = None
            while candidates and not found:
                found = firstThatFails(candidates[:AT_ONCE])
                candidates = candidates[AT_ONCE:]
            if found:
                graph = found
                break
        else:
            return graph
    return graph
