"""Reads, edits and writes ONNX files; Python's standard library only.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

A message is a list of [field, wire type, value], in the order of the file; the value of a
message or string is its bytes. Model edits the graph in place.
"""

import struct

INPUT, OUTPUT, NAME, OP, ATTRIBUTE = 1, 2, 3, 4, 5  # of a node
NODE, INITIALIZER, GRAPH_INPUT, GRAPH_OUTPUT, VALUE_INFO = 1, 5, 11, 12, 13  # of a graph
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
GRAPH = 7  # of a model


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def parse(data):
    fields, at = [], 0
    while at < len(data):
        key, at = varint(data, at)
        field, wire = key >> 3, key & 7
        if wire == VARINT:
            value, at = varint(data, at)
        elif wire == BYTES:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            size = 8 if wire == FIXED64 else 4
            value, at = data[at:at + size], at + size
        fields.append([field, wire, value])
    return fields


def packed(value):
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def write(fields):
    out = []
    for field, wire, value in fields:
        out.append(packed(field << 3 | wire))
        if wire == VARINT:
            out.append(packed(value))
        elif wire == BYTES:
            out += [packed(len(value)), value]
        else:
            out.append(value)
    return b"".join(out)


class Node:
    """A message that is edited in place: its fields."""

    def __init__(self, fields):
        self.fields = fields

    def texts(self, field):
        return [value.decode() for key, _, value in self.fields if key == field]

    def text(self, field):
        return (self.texts(field) or [""])[0]

    def set(self, field, values):
        """Replaces the strings of `field`, in the place of the first one."""
        at = next((i for i, f in enumerate(self.fields) if f[0] == field), 0)
        self.fields = [f for f in self.fields if f[0] != field]
        self.fields[at:at] = [[field, BYTES, value.encode()] for value in values]

    def attribute(self, name):
        """The fields of an attribute; None if there is none."""
        for field, _, value in self.fields:
            if field == ATTRIBUTE and Node(parse(value)).text(1) == name:
                return parse(value)
        return None

    def setAttribute(self, name, fields):
        for entry in self.fields:
            if entry[0] == ATTRIBUTE and Node(parse(entry[2])).text(1) == name:
                entry[2] = write(fields)


class Model:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.fields = parse(file.read())
        graph = next(f for f in self.fields if f[0] == GRAPH)
        parts = parse(graph[2])
        self.nodes = [Node(parse(value)) for field, _, value in parts if field == NODE]
        self.rest = [f for f in parts if f[0] != NODE]

    def save(self, path):
        body = [[NODE, BYTES, write(n.fields)] for n in self.nodes] + self.rest
        fields = [[f, w, write(body) if f == GRAPH else v] for f, w, v in self.fields]
        with open(path, "wb") as file:
            file.write(write(fields))

    def named(self, field):
        """Messages of the graph whose name is their field 1 (values) or 8 (initializers)."""
        key = 8 if field == INITIALIZER else 1
        return {Node(parse(f[2])).text(key): f for f in self.rest if f[0] == field}

    def outputs(self):
        return set(self.named(GRAPH_OUTPUT))

    def dropValueInfo(self):
        self.rest = [f for f in self.rest if f[0] != VALUE_INFO]

    def isPlain(self):
        """Whether no node has a graph of its own."""
        return not any(f == ATTRIBUTE and any(p[0] == 6 for p in parse(v))
                       for n in self.nodes for f, _, v in n.fields)

    def users(self, name):
        return [n for n in self.nodes if name in n.texts(INPUT)]


def floatsOf(tensor):
    """The fields of an initializer of float32 with raw bytes: [index of the bytes, values]."""
    kind = next(v for f, _, v in tensor if f == 2)
    raw = next((i for i, f in enumerate(tensor) if f[0] == 9), None)
    if kind != 1 or raw is None or len(tensor[raw][2]) < 4:
        return None
    data = tensor[raw][2]
    return raw, list(struct.unpack(f"<{len(data) // 4}f", data))
