"""Models with broken tensors or external data; see broken_models.py.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

The folder of the models holds `weights` (64 bytes), `link` (a symbolic link to it), `hard`
(a file with two names) and `inside`, a symbolic link to a folder with a file `weights`.
"""

import struct

from onnx_bytes import *

INVALID, UNSUPPORTED = 2, 3
NAN, INF = float("nan"), float("inf")


def added(*parts, shape=(4, 4), type_=FLOAT):
    """x + w of this shape."""
    return model(graph(*parts, node("Add", ["x", "w"], ["y"], "sum"),
                       inputs=(("x", shape, type_),), outputs=(("y", shape, type_),)))


def weights(**entries):
    return added(external("w", (4, 4), {"location": "weights", **entries}))


def one(op, inputs, outputs, *parts, **attributes):
    return model(graph(*parts, node(op, [i[0] for i in inputs], [o[0] for o in outputs], "it",
                                    **attributes), inputs=inputs, outputs=outputs))


def constantWithExternalData(location):
    value_ = tensor("", (4, 4), extra=data(13, data(1, "location") + data(2, location))
                    + number(14, 1))
    return added(node("Constant", [], ["w"], "outside", value=value_))


BOTH = data(5, data(1, varint(2) + varint(4)) + number(2, FLOAT) + data(8, "w")
            + data(4, floats(8)) + data(9, floats(8)))
WRONG_FIELD = data(5, number(1, 2) + number(1, 4) + number(2, FLOAT) + data(8, "w")
                   + data(7, b"".join(map(varint, range(8)))))
OUT_OF_RANGE = data(5, number(1, 4) + number(2, 3) + data(8, "w")
                    + data(5, varint(1) + varint(2) + varint(300) + varint(4)))
SEGMENT = data(5, number(1, 4) + number(2, FLOAT) + data(3, number(1, 0) + number(2, 4))
               + data(8, "w") + data(9, floats(4)))
STRINGS = data(5, number(1, 4) + number(2, STRING) + data(8, "w") + data(6, "text") * 4)


def fourBits(count, raw):
    """x + the int4 initializer w, which is packed two to a byte."""
    return model(graph(initializer("w", (count,), 22, raw=raw),
                       node("Cast", ["w"], ["f"], to=FLOAT), node("Add", ["x", "f"], ["y"]),
                       inputs=(("x", (count,)),), outputs=(("y", (count,)),)))


def sparse(*indices):
    values = tensor("w", (len(indices),), raw=floats(len(indices)))
    places = tensor("", (len(indices),), INT64, raw=ints(*indices))
    return data(15, data(1, values) + data(2, places) + number(3, 4) + number(3, 4))


CASES = {
    "T-raw-empty": (added(initializer("w", (4, 4), raw=b"")), INVALID, "w"),
    "T-raw-and-floats": (added(BOTH, shape=(2, 4)), INVALID, "w"),
    "T-wrong-field": (added(WRONG_FIELD, shape=(2, 4)), INVALID, "w"),
    "T-int8-out-of-range": (added(OUT_OF_RANGE, shape=(4,), type_=3), INVALID, "w"),
    "T-int4-short": (fourBits(3, b"\x21"), INVALID, "w"),
    "T-int4-long": (fourBits(3, b"\x21\x43\x65"), INVALID, "w"),
    "T-segment": (added(SEGMENT, shape=(4,)), UNSUPPORTED, "w"),
    "T-strings": (added(STRINGS, shape=(4,), type_=STRING), UNSUPPORTED, "string"),
    "T-scalar-matmul": (one("MatMul", (("x", (4, 4)), ("s", ())), (("y", (4,)),)), INVALID, "it"),
    "T-scalar-softmax": (one("Softmax", (("x", ()),), (("y", ()),), axis=1), INVALID, "it"),
    "T-declared-type": (one("Relu", (("x", (2, 4)),), (("y", (2, 4), INT64),)), INVALID, "y"),
    "T-sparse-out-of-range": (added(sparse(3, 99)), INVALID, "w"),
    "T-sparse-negative": (added(sparse(-1, 2)), INVALID, "w"),
    "T-sparse-unsorted": (added(sparse(9, 3)), INVALID, "w"),
    "E-drive-letter": (weights(location="C:\\weights"), INVALID, "w"),
    "E-device-path": (weights(location="\\\\?\\weights"), INVALID, "w"),
    "E-empty-location": (weights(location=""), INVALID, "w"),
    "E-dot-dot-inside": (weights(location="inside/../../weights"), INVALID, "w"),
    "E-linked-folder": (weights(location="inside/weights"), INVALID, "w"),
    "E-hard-link": (weights(location="hard"), INVALID, "w"),
    "E-folder": (weights(location="."), INVALID, "w"),
    "E-memory-marker": (weights(location="*/_ORT_MEM_ADDR_/*", offset="4096", length="64"),
                        INVALID, "w"),
    "E-offset-past-end": (weights(offset="16", length="64"), INVALID, "w"),
    "E-offset-negative": (weights(offset="-4"), INVALID, "w"),
    "E-offset-spaces": (weights(offset=" 4 "), INVALID, "w"),
    "E-unknown-key": (weights(__class__="os"), INVALID, "w"),
    "E-constant-node-outside": (constantWithExternalData("../weights"), INVALID, "outside"),
}

LEGAL = {
    "T-int4-odd": fourBits(3, b"\x21\x03"),
    "T-not-finite": added(initializer("w", (4,), raw=struct.pack("<4f", NAN, INF, -INF, 1e-45)),
                          shape=(4,)),
    "T-no-rows": model(graph(initializer("w", (4, 2), raw=floats(8)),
                             node("MatMul", ["x", "w"], ["y"]),
                             inputs=(("x", (0, 4)),), outputs=(("y", (0, 2)),))),
    "T-no-columns": one("ReduceSum", (("x", (3, 0)),), (("y", (1, 1)),)),
    "T-empty-image": model(graph(initializer("w", (2, 3, 1, 1), raw=floats(6)),
                                 node("Conv", ["x", "w"], ["y"]),
                                 inputs=(("x", (0, 3, 4, 4)),), outputs=(("y", (0, 2, 4, 4)),))),
    "E-two-tensors-overlap": model(graph(
        external("w", (4,), {"location": "weights", "offset": "0"}),
        external("v", (4,), {"location": "weights", "offset": "8", "length": "16"}),
        node("Add", ["x", "w"], ["a"]), node("Add", ["a", "v"], ["y"]),
        inputs=(("x", (4,)),), outputs=(("y", (4,)),))),
}
