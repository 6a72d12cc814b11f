"""Models whose operators make no sense; see broken_models.py.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

from onnx_bytes import *

INVALID, UNSUPPORTED = 2, 3
LEAST, MOST = -(1 << 63), (1 << 63) - 1
IMAGE = (("x", (1, 3, 8, 8)),)


def it(op, *operands, inputs=(("x", (2, 4)),), output=("y", (2, 4)), since=17, **attributes):
    """One node named `it` on the inputs and on constants: (name, dims, bytes[, type]); of
    operator set `since`."""
    parts = [initializer(name, dims, *(type_ or [INT64]), raw=raw)
             for name, dims, raw, *type_ in operands]
    names = [i[0] for i in inputs] + [o[0] for o in operands]
    return model(graph(*parts, node(op, names, ["y"], "it", **attributes), inputs=inputs,
                       outputs=(output,)), opsets=opset(since))


def whole(name, *values, dims=None):
    return name, dims if dims is not None else (len(values),), ints(*values)


def conv(**attributes):
    return it("Conv", ("w", (2, 3, 3, 3), floats(54), FLOAT), inputs=IMAGE,
              output=("y", ("a", "b", "c", "d")), **attributes)


def pool(**attributes):
    return it("MaxPool", inputs=IMAGE, output=("y", ("a", "b", "c", "d")), **attributes)


def loop(trips):
    return model(graph(
        initializer("n", (), INT64, ints(trips)), initializer("c", (), 9, b"\1"),
        nodeWith("Loop", ["n", "c", "x"], ["y"], "it", graphAttribute("body", graph(
            node("Identity", ["going"], ["still"]), node("Neg", ["v"], ["w"]),
            inputs=(("i", (), INT64), ("going", (), 9), ("v", (2, 4))),
            outputs=(("still", (), 9), ("w", (2, 4))))))))


def scan(inputs):
    return model(graph(nodeWith(
        "Scan", ["x"], ["y"], "it",
        graphAttribute("body", graph(node("Neg", ["v"], ["w"]), inputs=(("v", (4,)),),
                                     outputs=(("w", (4,)),))),
        attribute("num_scan_inputs", inputs))))


def integers(op, left, right):
    """A fold of two integer constants."""
    return model(graph(initializer("a", (1,), INT64, ints(left)),
                       initializer("b", (1,), INT64, ints(right)),
                       node(op, ["a", "b"], ["q"], "it"), node("Add", ["x", "q"], ["y"]),
                       inputs=(("x", (1,), INT64),), outputs=(("y", (1,), INT64),)))


def arange(end, step):
    return model(graph(initializer("a", (), INT64, ints(0)), initializer("b", (), INT64, ints(end)),
                       initializer("d", (), INT64, ints(step)),
                       node("Range", ["a", "b", "d"], ["r"], "it"), node("Add", ["x", "r"], ["y"]),
                       inputs=(("x", (1,), INT64),), outputs=(("y", (1,), INT64),)))


CASES = {
    "A-kernel-0": (pool(kernel_shape=[0, 2]), INVALID, "it"),
    "A-kernel-negative": (pool(kernel_shape=[-2, 2]), INVALID, "it"),
    "A-kernel-of-wrong-length": (pool(kernel_shape=[2]), INVALID, "it"),
    "A-kernel-differs-from-weight": (conv(kernel_shape=[5, 5]), INVALID, "it"),
    "A-stride-negative": (conv(strides=[-1, 1]), INVALID, "it"),
    "A-dilation-0": (conv(dilations=[0, 1]), INVALID, "it"),
    "A-dilation-most": (conv(dilations=[MOST, 1]), INVALID, "it"),
    "A-pads-most": (conv(pads=[MOST, MOST, MOST, MOST]), INVALID, "it"),
    "A-group-0": (conv(group=0), INVALID, "it"),
    "A-axes-twice": (it("ReduceSum", whole("axes", 0, 0)), INVALID, "it"),
    "A-axes-least": (it("Squeeze", whole("axes", LEAST)), INVALID, "it"),
    "A-unsqueeze-twice": (it("Unsqueeze", whole("axes", 1, 1)), INVALID, "it"),
    "A-reshape-allowzero": (it("Reshape", whole("w", 0, -1), allowzero=1), INVALID, "it"),
    "A-reshape-negative": (it("Reshape", whole("w", -2, -4)), INVALID, "it"),
    "A-gather-known-index": (it("Gather", whole("i", 7)), INVALID, "it"),
    "A-slice-step-0": (it("Slice", whole("s", 0), whole("e", 2), whole("a", 0), whole("t", 0)),
                       INVALID, "it"),
    "A-slice-lengths": (it("Slice", whole("s", 0, 0), whole("e", 2)), INVALID, "it"),
    "A-split-sum": (it("Split", whole("p", 1, 9), axis=1), INVALID, "it"),
    "A-split-negative": (it("Split", whole("p", -1), axis=1), INVALID, "it"),
    "A-tile-huge": (it("Tile", whole("r", 1 << 50, 1 << 10)), INVALID, "it"),
    "A-tile-negative": (it("Tile", whole("r", -1, 1)), INVALID, "it"),
    "A-constant-of-shape-huge": (
        model(graph(initializer("s", (2,), INT64, ints(1 << 30, 1 << 30)),
                    node("ConstantOfShape", ["s"], ["c"], "it"), node("Add", ["x", "c"], ["y"]))),
        INVALID, "it"),
    "A-constant-of-shape-wraps": (
        model(graph(initializer("s", (2,), INT64, ints(1 << 32, 1 << 32)),
                    node("ConstantOfShape", ["s"], ["c"], "it"), node("Add", ["x", "c"], ["y"]))),
        INVALID, "it"),
    "A-range-huge": (arange(MOST, 1), INVALID, "it"),
    "A-range-step-0": (arange(9, 0), INVALID, "it"),
    "A-pad-huge": (it("Pad", whole("p", 0, 0, 1 << 59, 0)), INVALID, "it"),
    "A-pad-below-0": (it("Pad", whole("p", -2, 0, -1, 0)), INVALID, "it"),
    "A-onehot-depth-negative": (
        model(graph(initializer("d", (), INT64, ints(-3)), initializer("v", (2,), raw=floats(2)),
                    node("OneHot", ["x", "d", "v"], ["y"], "it"), inputs=(("x", (2,), INT64),))),
        INVALID, "it"),
    "A-topk-too-many": (it("TopK", whole("k", 99)), INVALID, "it"),
    "A-resize-scales": (it("Resize", ("roi", (0,), b"", FLOAT), ("s", (1,), floats(1), FLOAT)),
                        INVALID, "it"),
    "A-resize-huge": (it("Resize", ("roi", (0,), b"", FLOAT), ("s", (2,), floats(2, 1e18), FLOAT)),
                      INVALID, "it"),
    "A-col2im": (it("Col2Im", whole("i", 5, 5), whole("b", 9, 9), since=18), INVALID, "it"),
    "A-einsum-empty": (it("Einsum", equation=""), INVALID, "it"),
    "A-einsum-operands": (it("Einsum", equation="ij,jk->ik"), INVALID, "it"),
    "A-einsum-rank": (it("Einsum", equation="ijk->i"), INVALID, "it"),
    "A-missing-body": (it("If", inputs=(("x", (), 9),)), INVALID, "it"),
    "A-empty-tensor": (
        model(graph(initializer("s", (2,), INT64, ints(2, 4)),
                    node("ConstantOfShape", ["s"], ["c"], "it", value=tensor("", (1,))),
                    node("Add", ["x", "c"], ["y"]))), INVALID, "it"),
    "A-loop-most": (loop(MOST), UNSUPPORTED, "it"),
    "A-scan-inputs-0": (scan(0), INVALID, "it"),
    "A-scan-inputs-negative": (scan(-5), INVALID, "it"),
    "A-scan-inputs-many": (scan(99), INVALID, "it"),
    "A-cast-to-nothing": (it("Cast", to=77), INVALID, "it"),
    "A-lstm-directions": (it("LSTM", ("w", (1, 8, 4), floats(32), FLOAT),
                             ("r", (1, 8, 2), floats(16), FLOAT), inputs=(("x", (3, 1, 4)),),
                             output=("y", (3, 1, 1, 2)), hidden_size=2, direction="sideways"),
                          INVALID, "it"),
}

LEGAL = {
    "A-pads-beyond-kernel": pool(kernel_shape=[2, 2], pads=[5, 5, 5, 5]),
    "A-pad-reflect-there-and-back": it("Pad", whole("p", 2, 0, 2, 0), mode="reflect",
                                       output=("y", (6, 4))),
    "A-slice-far": it("Slice", whole("s", LEAST), whole("e", MOST), whole("a", 0)),
    "A-slice-far-back": it("Slice", whole("s", MOST), whole("e", LEAST), whole("a", 0),
                           whole("t", -1)),
    "A-divide-by-0": integers("Div", 7, 0),
    "A-divide-least": integers("Div", LEAST, -1),
    "A-modulo-0": integers("Mod", 7, 0),
    "A-modulo-least": integers("Mod", LEAST, -1),
    "A-einsum-scalar": it("Einsum", inputs=(("x", ()),), output=("y", ()), equation="->"),
}
