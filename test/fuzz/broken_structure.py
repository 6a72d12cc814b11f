"""Models broken as bytes, as graphs, or in their names; see broken_models.py.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

from onnx_bytes import *

INVALID, UNSUPPORTED = 2, 3
RELU = graph(node("Relu", ["x"], ["y"], "relu"))
CONDITION = initializer("c", (), 9, b"\1")


def functions(*nodesOf, body=None):
    """A model that calls local function f0; function i has the nodes of nodesOf[i]."""
    parts = b"".join(
        data(25, data(1, f"f{i}") + data(4, "a") + data(5, "b") + nodes
             + data(9, number(2, 17)) + data(9, data(1, "local") + number(2, 1))
             + data(10, "local")) for i, nodes in enumerate(nodesOf))
    return model(graph(call("f0", "x", "y", 1)), opsets=opset() + opset(1, "local"), extra=parts)


def call(target, operand, result, field=7):
    return data(field, data(1, operand) + data(2, result) + data(4, target) + data(7, "local"))


def branches(*nodes):
    """An If whose branches hold these nodes and give y."""
    body = graph(*nodes, inputs=())
    return nodeWith("If", ["c"], ["y"], "choice", graphAttribute("then_branch", body),
                    graphAttribute("else_branch", body))


def nestedIfs(depth):
    leaf = graph(node("Relu", ["x"], ["y"]), inputs=())
    small = graphAttribute("else_branch", leaf)
    head, tail, length = [], [], len(leaf)  # outermost last; so that 10000 take no time
    name = data(2, "g") + data(12, value("y", (2, 4)))
    for _ in range(depth):
        kind = number(20, 5)
        inner = data(1, "then_branch") + b"\x32" + varint(length)
        attribute_ = len(inner) + length + len(kind)
        front = (data(1, "c") + data(2, "y") + data(4, "If") + b"\x2a" + varint(attribute_))
        body = len(front) + attribute_ + len(small)
        head.append(b"\x0a" + varint(body) + front + inner)
        tail.append(kind + small + name)
        length = len(head[-1]) + length + len(tail[-1])
    inside = b"".join(reversed(head)) + leaf + b"".join(tail)
    return model(inside + CONDITION + data(11, value("x", (2, 4))))


def chain(length):
    """`length` nodes, one after another."""
    names = ["x"] + [f"v{i}" for i in range(length - 1)] + ["y"]
    return model(graph(*(node(("Neg", "Sigmoid")[i % 2], [names[i]], [names[i + 1]])
                         for i in range(length))))


CASES = {
    "W-length-2^63": (b"\x3a" + varint(1 << 63) + bytes(16), INVALID, "model"),
    "W-length-2^64-1": (b"\x3a" + varint((1 << 64) - 1) + bytes(16), INVALID, "model"),
    "W-deep-messages": (data(7, data(1, data(5, b"".join([data(6, data(1, data(5, b"")))] * 3)))),
                        INVALID, ""),
    "W-wire-type": (number(1, 8) + opset() + number(7, 12345), INVALID, "graph"),
    "W-field-0": (b"\x00\x05" + model(RELU), INVALID, "model"),
    "N-newline-and-escapes": (model(graph(node("Relu", ["lost"], ["y"], "a\nb\x1b[31mred\0"))),
                              INVALID, "lost"),
    "N-invalid-utf8": (number(1, 8) + opset() + data(7, data(1, data(1, b"\xff\xfe\xfd")
                                                             + data(2, "y") + data(4, "Relu"))
                                                     + data(12, value("y", (2, 4)))),
                       INVALID, ""),
    "N-64-KiB": (model(graph(node("Relu", ["lost" + "n" * 65536], ["y"], "m" * 65536))), INVALID,
                 "lost"),
    "G-empty-input-name": (model(graph(node("Relu", ["x"], ["y"]),
                                       inputs=(("", (2, 4)), ("x", (2, 4))))), INVALID, "input"),
    "G-empty-output-name": (model(graph(node("Relu", ["x"], ["y"]),
                                        outputs=(("", (2, 4)),))), INVALID, "output"),
    "G-output-is-input": (model(graph(node("Relu", ["x"], ["x"], "again"),
                                      node("Relu", ["x"], ["y"]))), INVALID, "again"),
    "G-initializer-is-result": (model(graph(initializer("w", (2, 4), raw=floats(8)),
                                            node("Relu", ["x"], ["w"], "again"),
                                            node("Add", ["x", "w"], ["y"]))), INVALID, "w"),
    "G-two-initializers": (model(graph(initializer("w", (2, 4), raw=floats(8)),
                                       initializer("w", (2, 4), raw=floats(8)),
                                       node("Add", ["x", "w"], ["y"]))), INVALID, "w"),
    "G-ifs-33-deep": (nestedIfs(33), INVALID, ""),
    "G-ifs-10000-deep": (nestedIfs(10000), INVALID, ""),
    "G-mutual-recursion": (functions(call("f1", "a", "b"), call("f0", "a", "b")), INVALID, "f0"),
    "G-recursion-in-branch": (
        functions(data(7, data(1, "a") + data(2, "b") + data(4, "If")
                       + graphAttribute("then_branch", graph(call("f0", "a", "b", 1), inputs=(),
                                                             outputs=(("b", (2, 4)),)))
                       + graphAttribute("else_branch", graph(call("f0", "a", "b", 1), inputs=(),
                                                             outputs=(("b", (2, 4)),))))),
        INVALID, "f0"),
    "G-opset-0": (model(RELU, opsets=opset(0)), INVALID, "opset"),
    "G-opset-twice": (model(RELU, opsets=opset(17) + opset(11)), INVALID, "opset"),
    "G-domain-not-imported": (model(graph(node("Magic", ["x"], ["y"], "m", domain="else.where"))),
                              INVALID, "else.where"),
    "G-ir-version-999": (model(RELU, ir=999), INVALID, "ir_version"),
    "G-captured-later": (model(graph(CONDITION, branches(node("Relu", ["late"], ["y"], "inner")),
                                     node("Neg", ["x"], ["late"], "after"))), INVALID, "late"),
    "G-loop-arity": (
        model(graph(initializer("n", (), INT64, ints(3)), CONDITION,
                    nodeWith("Loop", ["n", "c", "x"], ["y"], "loop",
                             graphAttribute("body", graph(
                                 node("Identity", ["going"], ["still"]),
                                 inputs=(("i", (), INT64), ("going", (), 9), ("v", (2, 4))),
                                 outputs=(("still", (), 9),)))))), INVALID, "loop"),
    "G-a-million-operands": (model(graph(node("Sum", ["x"] * 1_000_000, ["y"], "wide"))),
                             UNSUPPORTED, "wide"),
}

LEGAL = {
    "W-graph-in-two-pieces": number(1, 8) + opset() + data(7, graph(
        node("Relu", ["x"], ["y"]), outputs=())) + data(7, data(12, value("y", (2, 4)))),
    "W-packed-and-unpacked": model(graph(
        data(5, data(1, varint(2)) + number(1, 4) + number(2, FLOAT) + data(8, "w")
             + data(4, floats(3)) + b"".join(b"\x25" + floats(1) for _ in range(5))),
        node("Add", ["x", "w"], ["y"]))),
    "G-trailing-empty-operands": model(graph(node("Clip", ["x", "", ""], ["y"]))),
    "G-20000-nodes": chain(20_000),
    "N-quotes-and-slashes": model(graph(
        node("Relu", ['in"put'], ["../../out put"], "$(x) `y` 'z'"),
        inputs=(('in"put', (2, 4)),), outputs=(("../../out put", (2, 4)),))),
    "N-words-of-C": model(graph(node("Relu", ["int"], ["main"], "while"),
                                inputs=(("int", (2, 4)),), outputs=(("main", (2, 4)),))),
}
