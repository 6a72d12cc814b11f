"""Random model graphs that are valid ONNX.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

A graph depends only on its seed. Its inputs avoid ties and points where rounding changes a
result: sorting, comparisons and roundings read distinct numbers.
"""

import hashlib
import sys

import makers_control, makers_elementwise, makers_empty, makers_linear  # noqa: F401
import makers_microsoft, makers_quantized, makers_reduce, makers_shape, makers_whole  # noqa: F401
from builder import MAKERS, Builder, Skip
from half import halve

OPSETS = [11, 12, 13, 14, 15, 16, 17, 17, 18, 19, 20, 21, 22, 23]
HALF = 0.1  # share of graphs in float16
FAMILIES = sorted({family for family, *_ in MAKERS})


def generate(seed):
    """The graph of a seed: 3 to 12 nodes, all results that no node reads are outputs."""
    start = Builder(seed, 0)
    b = Builder(seed * 1_000_003 + 17, start.r.of(OPSETS))
    wanted = b.r.between(3, 12)
    isHalf = start.r.chance(HALF)
    # Some graphs are of few families, so that their operators meet often.
    families = b.r.some(FAMILIES) if b.r.chance(0.6) else FAMILIES
    makers = [function for family, first, last, function in MAKERS
              if first <= b.opset <= last and family in families]
    if not makers:
        makers = [function for _, first, last, function in MAKERS if first <= b.opset <= last]
    for _ in range(60):
        if len(b.graph.nodes) >= wanted:
            break
        before = b.graph.copy()
        number, used = b.number, set(b.used)
        try:
            b.r.of(makers)(b)
        except Skip:
            b.graph, b.number, b.used = before, number, used
    finish(b)
    return isHalf and halve(b.graph) or b.graph


def finish(b):
    """Outputs; and inputs and initializers that nothing reads are left out."""
    graph = b.graph
    made = [name for node in graph.nodes for name in node.outputs if name in graph.values]
    unread = [name for name in made if name not in b.used]
    extra = [name for name in made if name in b.used and b.r.chance(0.08)]
    graph.outputs = [(name, graph.values[name].type) for name in unread + extra]
    prune(graph)


def readBy(graph):
    """All names that nodes read, in bodies too."""
    names = set()
    for node in graph.nodes:
        names.update(node.inputs)
        for value in node.attributes.values():
            if hasattr(value, "nodes"):
                names |= readBy(value) | {name for name, _ in value.outputs}
    return names


def prune(graph):
    """Leaves out nodes, inputs and initializers that no output needs."""
    while True:
        read = readBy(graph) | {name for name, _ in graph.outputs}
        kept = [n for n in graph.nodes if any(name in read for name in n.outputs)]
        if len(kept) == len(graph.nodes):
            break
        graph.nodes = kept
    graph.inputs = {k: v for k, v in graph.inputs.items() if k in read}
    graph.initializers = {k: v for k, v in graph.initializers.items() if k in read}


def main():
    """generate.py COUNT: a hash of the graphs of the first seeds."""
    digest = hashlib.sha256()
    for seed in range(int(sys.argv[1])):
        graph = generate(seed)
        digest.update(graph.bytes())
        for name, tensor in graph.inputs.items():
            digest.update(tensor.bytes(name))
    print(digest.hexdigest())


if __name__ == "__main__":
    main()
