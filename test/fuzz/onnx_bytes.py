"""ONNX messages as bytes, right or wrong on purpose; Python's standard library only.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

A message is the concatenation of its fields; the functions below know the field numbers.
"""

import struct

FLOAT, INT64, STRING = 1, 7, 8


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def attribute(name, value):
    """An int, a float, a string, bytes (a tensor) or a list of ints."""
    body = data(1, name)
    if isinstance(value, bool) or isinstance(value, int):
        body += number(3, value) + number(20, 2)
    elif isinstance(value, float):
        body += varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    elif isinstance(value, str):
        body += data(4, value) + number(20, 3)
    elif isinstance(value, bytes):
        body += data(5, value) + number(20, 4)
    else:
        body += b"".join(number(8, v) for v in value) + number(20, 7)
    return data(5, body)


def node(op, inputs, outputs, name="", domain="", **attributes):
    return data(1, b"".join(data(1, i) for i in inputs) + b"".join(data(2, o) for o in outputs)
                + (data(3, name) if name else b"") + data(4, op)
                + b"".join(attribute(k, v) for k, v in attributes.items())
                + (data(7, domain) if domain else b""))


def tensor(name, dims, type_=FLOAT, raw=None, extra=b""):
    return (b"".join(number(1, d) for d in dims) + number(2, type_)
            + (data(8, name) if name else b"") + (data(9, raw) if raw is not None else b"")
            + extra)


def initializer(*arguments, **options):
    return data(5, tensor(*arguments, **options))


def external(name, dims, entries):
    """An initializer whose bytes lie in another file."""
    extra = b"".join(data(13, data(1, k) + data(2, v)) for k, v in entries.items())
    return initializer(name, dims, extra=extra + number(14, 1))


def value(name, dims, type_=FLOAT):
    """A ValueInfo; dimensions are ints or names."""
    shape = b"".join(data(1, data(2, d) if isinstance(d, str) else number(1, d)) for d in dims)
    return data(1, name) + data(2, data(1, number(1, type_) + data(2, shape)))


def graph(*parts, inputs=(("x", (2, 4)),), outputs=(("y", (2, 4)),)):
    return (b"".join(parts) + data(2, "g") + b"".join(data(11, value(*i)) for i in inputs)
            + b"".join(data(12, value(*o)) for o in outputs))


def opset(version=17, domain=""):
    return data(8, (data(1, domain) if domain else b"") + number(2, version))


def model(body, ir=8, opsets=None, extra=b""):
    return number(1, ir) + (opset() if opsets is None else opsets) + data(7, body) + extra


def floats(count, value_=0.5):
    return struct.pack(f"<{count}f", *[value_] * count)


def ints(*values):
    return struct.pack(f"<{len(values)}q", *values)


def graphAttribute(name, body):
    return data(5, data(1, name) + data(6, body) + number(20, 5))


def nodeWith(op, inputs, outputs, name, *attributes, domain=""):
    """A node whose attributes are bytes already."""
    return data(1, b"".join(data(1, i) for i in inputs) + b"".join(data(2, o) for o in outputs)
                + data(3, name) + data(4, op) + b"".join(attributes)
                + (data(7, domain) if domain else b""))
