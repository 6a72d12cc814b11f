"""Broken ONNX models by name, each with the expected exit code and words of the error.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Groups: W bytes on the wire, N names, G graph structure, T tensors, E external data, A
attributes. LEGAL are models at the edge that must compile.
"""

import broken_operators
import broken_structure
import broken_tensors
from onnx_bytes import *

INVALID, UNSUPPORTED, MEMORY = 2, 3, 6
GOOD = model(graph(node("Relu", ["x"], ["y"], "relu")))
WEIGHT = initializer("w", (4, 4), raw=floats(16))


def matmul(*parts, **options):
    return model(graph(*parts, node("MatMul", ["x", "w"], ["y"], "product")), **options)


def one(op, weight=None, outputs=(("y", (2, 4)),), inputs=(("x", (2, 4)),), **attributes):
    """One node named `it` on x, and on the initializer w if there is one."""
    names = [i[0] for i in inputs] + (["w"] if weight else [])
    return model(graph(weight or b"", node(op, names, ["y"], "it", **attributes),
                       inputs=inputs, outputs=outputs))


def nested(depth):
    """If in If in If ..: deeper than any exporter goes, and than protobuf reads."""
    leaf = body = graph(node("Relu", ["x"], ["y"]), inputs=())
    for _ in range(depth):
        branches = (data(5, data(1, "then_branch") + data(6, body) + number(20, 5))
                    + data(5, data(1, "else_branch") + data(6, leaf) + number(20, 5)))
        body = graph(data(1, data(1, "c") + data(2, "y") + data(4, "If") + branches), inputs=())
    return body + data(5, tensor("c", (), 9, b"\1")) + data(11, value("x", (2, 4)))


def function(name, nodes):
    return data(25, data(1, name) + data(4, "a") + data(5, "b")
                + b"".join(data(7, n) for n in nodes)
                + data(9, number(2, 17)) + data(10, "local"))


def call(target, inputs, outputs):
    """The body of a NodeProto (without its own field number)."""
    return (b"".join(data(1, i) for i in inputs) + b"".join(data(2, o) for o in outputs)
            + data(4, target) + data(7, "local"))


LOCAL = opset() + opset(1, "local")
CALL = graph(data(1, call("f0", ["x"], ["y"])))
LAUGHS = b"".join(function(f"f{i}", [call(f"f{i + 1}", ["a"], ["t"]),
                                      call(f"f{i + 1}", ["t"], ["b"])]) for i in range(40))

CASES = {
    "W-empty": (b"", INVALID, "empty"),
    "W-one-byte": (b"\x08", INVALID, "model"),
    "W-text": (b"this is no model\n" * 9, INVALID, "model"),
    "W-gzip": (b"\x1f\x8b\x08\x00" + bytes(40), INVALID, "gzip"),
    "W-truncated": (GOOD[:-5], INVALID, "model"),
    "W-long-varint": (b"\x08" + b"\xff" * 12 + b"\x01", INVALID, "model"),
    "W-length-past-end": (b"\x3a\xff\xff\xff\xff\x07" + bytes(16), INVALID, "model"),
    "W-deep-groups": (b"\x0b" * 4000, INVALID, "model"),
    "G-no-graph": (number(1, 8) + opset(), INVALID, "graph"),
    "G-no-output": (model(graph(node("Relu", ["x"], ["y"]), outputs=())), INVALID, "output"),
    "G-cycle": (model(graph(node("Add", ["x", "b"], ["a"], "first"),
                            node("Relu", ["a"], ["b"], "second"),
                            node("Relu", ["b"], ["y"], "third"))), INVALID, "first"),
    "G-unsorted": (model(graph(node("Relu", ["a"], ["y"], "late"),
                               node("Relu", ["x"], ["a"], "early"))), INVALID, "late"),
    "G-duplicate-name": (model(graph(node("Relu", ["x"], ["y"]),
                                     node("Abs", ["x"], ["y"], "again"))), INVALID, "again"),
    "G-undefined-input": (model(graph(node("Relu", ["nothing"], ["y"], "lost"))), INVALID,
                          "nothing"),
    "G-unproduced-output": (model(graph(node("Relu", ["x"], ["z"]))), INVALID, "y"),
    "G-missing-operand": (model(graph(node("Add", ["x"], ["y"], "half"))), INVALID, "half"),
    "G-empty-operand": (model(graph(node("Add", ["x", ""], ["y"], "half"))), INVALID, "half"),
    "G-no-opset": (model(graph(node("Relu", ["x"], ["y"])), opsets=b""), INVALID, "opset"),
    "G-opset-9999": (model(graph(node("Relu", ["x"], ["y"])), opsets=opset(9999)), INVALID,
                     "9999"),
    "G-ir-version-0": (model(graph(node("Relu", ["x"], ["y"])), ir=0), INVALID, "ir_version"),
    "G-unknown-op": (model(graph(node("Relu", ["x"], ["a"]), node("Frobnicate", ["a"], ["b"], "f"),
                                 node("Grumble", ["b"], ["y"], "g"))), UNSUPPORTED, "Frobnicate"),
    "G-unknown-domain": (model(graph(node("Magic", ["x"], ["y"], "m", domain="com.example")),
                               opsets=opset() + opset(1, "com.example")),
                         UNSUPPORTED, "Magic"),
    "G-recursion": (model(CALL, opsets=LOCAL, extra=function("f0", [call("f0", ["a"], ["b"])])),
                    INVALID, "f0"),
    "G-billion-laughs": (model(CALL, opsets=LOCAL, extra=LAUGHS), INVALID, ""),
    "G-nested-ifs": (model(nested(60)), INVALID, ""),
    "T-negative-dim": (matmul(initializer("w", (-4, 4), raw=floats(16))), INVALID, "w"),
    "T-overflow": (matmul(initializer("w", (1 << 32, 1 << 32), raw=b"")), INVALID, "w"),
    "T-raw-too-short": (matmul(initializer("w", (4, 4), raw=floats(15))), INVALID, "w"),
    "T-raw-not-whole": (matmul(initializer("w", (4, 4), raw=floats(16)[:-1])), INVALID, "w"),
    "T-no-data": (matmul(initializer("w", (4, 4))), INVALID, "w"),
    "T-type-0": (matmul(initializer("w", (4, 4), type_=0, raw=floats(16))), INVALID, "w"),
    "T-type-999": (matmul(initializer("w", (4, 4), type_=999, raw=floats(16))), INVALID, "w"),
    "T-rank-100000": (matmul(initializer("w", (1,) * 100000, raw=floats(1))), INVALID, "w"),
    "T-type-mismatch": (matmul(initializer("w", (4, 4), type_=INT64, raw=ints(*range(16)))),
                        INVALID, "product"),
    "T-shape-mismatch": (matmul(initializer("w", (3, 4), raw=floats(12))), INVALID, "product"),
    "E-parent-folder": (matmul(external("w", (4, 4), {"location": "../secret"})), INVALID, "w"),
    "E-absolute": (matmul(external("w", (4, 4), {"location": "/etc/passwd"})), INVALID, "w"),
    "E-symlink": (matmul(external("w", (4, 4), {"location": "link"})), INVALID, "w"),
    "E-missing-file": (matmul(external("w", (4, 4), {"location": "gone"})), INVALID, "gone"),
    "E-no-location": (matmul(external("w", (4, 4), {"offset": "0"})), INVALID, "w"),
    "E-offset-wraps": (matmul(external("w", (4, 4), {"location": "weights", "length": "64",
                                                     "offset": "18446744073709551600"})),
                       INVALID, "w"),
    "E-length-differs": (matmul(external("w", (4, 4), {"location": "weights", "length": "60"})),
                         INVALID, "w"),
    "E-offset-no-number": (matmul(external("w", (4, 4), {"location": "weights",
                                                         "offset": "1e9"})), INVALID, "w"),
    "A-stride-0": (one("Conv", initializer("w", (2, 3, 3, 3), raw=floats(54)),
                       (("y", (1, 2, 6, 6)),), (("x", (1, 3, 8, 8)),), strides=[0, 1]),
                   INVALID, "it"),
    "A-group-does-not-divide": (one("Conv", initializer("w", (2, 3, 3, 3), raw=floats(54)),
                                    (("y", (1, 2, 6, 6)),), (("x", (1, 3, 8, 8)),), group=2),
                                INVALID, "it"),
    "A-pads-of-wrong-length": (one("Conv", initializer("w", (2, 3, 3, 3), raw=floats(54)),
                                   (("y", (1, 2, 6, 6)),), (("x", (1, 3, 8, 8)),), pads=[1, 1]),
                               INVALID, "it"),
    "A-kernel-huge": (one("MaxPool", None, (("y", (1, 3, 1, 1)),), (("x", (1, 3, 8, 8)),),
                          kernel_shape=[1 << 62, 2]), INVALID, "it"),
    "A-axis-out-of-range": (one("Softmax", axis=7), INVALID, "it"),
    "A-axis-least-int": (one("Softmax", axis=-(1 << 63)), INVALID, "it"),
    "A-reshape-two-unknown": (one("Reshape", initializer("w", (2,), INT64, ints(-1, -1))),
                              INVALID, "it"),
    "A-reshape-product": (one("Reshape", initializer("w", (2,), INT64, ints(3, 3))), INVALID, "it"),
    "A-expand-huge": (one("Expand", initializer("w", (3,), INT64, ints(1 << 40, 2, 4))), INVALID,
                      "it"),
    "A-wrong-type": (one("Softmax", axis="last"), INVALID, "it"),
    "A-missing-attribute": (one("Cast"), INVALID, "it"),
    "A-permutation": (one("Transpose", perm=[0, 0]), INVALID, "it"),
    "A-einsum": (one("Einsum", equation="ij->->k"), INVALID, "it"),
}
PARTS = (broken_structure, broken_tensors, broken_operators)
for part in PARTS:
    assert not CASES.keys() & part.CASES.keys()
    CASES |= part.CASES
LEGAL = {name: content for part in PARTS for name, content in part.LEGAL.items()}
