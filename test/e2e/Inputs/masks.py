"""Writes models with random masks as PyTorch's exporter writes them, and with a Dropout of ones in their place.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    masks.py FOLDER
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "fuzz"))
import onnx_bytes as m

BOOL = 9
ROWS = 8


def constant(name, value):
    return m.node("Constant", [], [name], value=m.tensor("", (), raw=m.floats(1, value)))


def written(i, p, divisor, isFolded):
    """The nodes of mask i, which reads ones{i} and makes mask{i}; the folded form is that of optimize=True."""
    bound = "p" + i if isFolded else "bound" + i
    nodes = [constant("p" + i, p), constant("divisor" + i, divisor),
             m.node("RandomUniformLike", ["ones" + i], ["rands" + i], low=0.0, high=1.0)]
    if not isFolded:
        nodes.append(m.node("CastLike", ["p" + i, "rands" + i], [bound]))
    nodes.append(m.node("Less", ["rands" + i, bound], ["sampled" + i]))
    nodes.append(m.node("Cast", ["sampled" + i], ["drawn" + i], to=1) if isFolded else
                 m.node("CastLike", ["sampled" + i, "ones" + i], ["drawn" + i]))
    return nodes + [m.node("Div", ["drawn" + i, "divisor" + i], ["mask" + i])]


def dropout(i, p):
    return [constant("ratio" + i, 1 - p), m.initializer("mode" + i, (), type_=BOOL, raw=b"\1"),
            m.node("Dropout", ["ones" + i, "ratio" + i, "mode" + i], ["mask" + i])]


def model(masks, declared=()):
    """Two products; one mask drops elements of the first, the other one rows of the second."""
    ones = [part for i, width in (("a", 4), ("b", 1)) for part in (
        m.initializer("shape" + i, (2,), type_=m.INT64, raw=m.ints(ROWS, width)),
        m.node("ConstantOfShape", ["shape" + i], ["ones" + i], value=m.tensor("", (1,), raw=m.floats(1, 1.0))))]
    weights = [m.initializer(name, (rows, columns), raw=m.floats(rows * columns, 0.3))
               for name, rows, columns in (("w", 3, 4), ("v", 4, 5))]
    return m.model(m.graph(
        *ones, *weights, *masks,
        m.node("MatMul", ["x", "w"], ["h"], name="first"),
        m.node("Mul", ["h", "maska"], ["hidden"], name="elements"),
        m.node("MatMul", ["hidden", "v"], ["scores"], name="second"),
        m.node("Mul", ["scores", "maskb"], ["y"], name="rows"),
        *(m.data(13, m.value(name, shape, type_)) for name, shape, type_ in declared),
        inputs=(("x", (ROWS, 3)),), outputs=(("y", (ROWS, 5)),)))


models = {
    "written": model(written("a", 0.75, 0.75, False) + written("b", 0.5, 0.5, False)),
    "folded": model(written("a", 0.75, 0.75, True) + written("b", 0.5, 0.5, True),
                    (("randsa", (ROWS, 4), m.FLOAT), ("sampleda", (ROWS, 4), BOOL))),
    "dropout": model(dropout("a", 0.75) + dropout("b", 0.5)),
    "other-divisor": model(written("a", 0.75, 0.5, False) + written("b", 0.5, 0.5, False)),
}
for name, bytes_ in models.items():
    with open(os.path.join(sys.argv[1], name + ".onnx"), "wb") as file:
        file.write(bytes_)
