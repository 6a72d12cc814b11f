"""A model graph in memory: values, nodes, ONNX's bytes of it; Python's standard library only.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

generate.py makes graphs, shrink.py changes them. The bytes depend on the graph alone.
"""

import copy
import os
import struct
import sys
from dataclasses import dataclass, field

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import onnx_bytes as m

F32, U8, I8, I32, I64, BOOL, F16, F64, U32 = 1, 2, 3, 6, 7, 9, 10, 11, 12
LETTERS = {F32: "f", U8: "B", I8: "b", I32: "i", I64: "q", BOOL: "?", F16: "e", F64: "d", U32: "I"}
MICROSOFT = "com.microsoft"
FLOATS, INTS = (F32, F16, F64), (U8, I8, I32, I64, U32)


def count(shape):
    number = 1
    for size in shape:
        number *= size
    return number


@dataclass
class Tensor:
    """Numbers in row-major order."""
    type: int
    shape: tuple
    numbers: list

    def raw(self):
        return struct.pack(f"<{len(self.numbers)}{LETTERS[self.type]}", *self.numbers)

    def bytes(self, name=""):
        return m.tensor(name, self.shape, self.type, raw=self.raw())


@dataclass
class Value:
    """What a name stands for. `most` bounds the magnitude of its numbers; `apart`: they are
    distinct, at least 1e-3 from each other, from 0 and from where roundings change."""
    name: str
    type: int
    shape: tuple
    most: float = 2.0
    apart: bool = False

    @property
    def rank(self):
        return len(self.shape)

    @property
    def size(self):
        return count(self.shape)


@dataclass
class Node:
    op: str
    inputs: list   # names; "" where an optional one is left out
    outputs: list
    attributes: dict = field(default_factory=dict)  # numbers, text, lists, Tensor, Graph
    domain: str = ""


@dataclass
class Graph:
    opset: int = 17
    nodes: list = field(default_factory=list)
    inputs: dict = field(default_factory=dict)        # name -> Tensor that is fed
    initializers: dict = field(default_factory=dict)  # name -> Tensor
    outputs: list = field(default_factory=list)       # (name, type)
    parameters: list = field(default_factory=list)    # of a body: (name, type, shape)
    values: dict = field(default_factory=dict)        # name -> Value

    def copy(self):
        return copy.deepcopy(self)

    def body(self):
        parts = [m.initializer(name, tensor.shape, tensor.type, raw=tensor.raw())
                 for name, tensor in self.initializers.items()]
        for number, node in enumerate(self.nodes):
            attributes = [encode(name, value) for name, value in node.attributes.items()]
            parts.append(m.nodeWith(node.op, node.inputs, node.outputs, f"{node.op}_{number}",
                                    *attributes, domain=node.domain))
        inputs = ([m.data(11, m.value(name, tensor.shape, tensor.type))
                   for name, tensor in self.inputs.items()]
                  + [m.data(11, m.value(name, shape, type_))
                     for name, type_, shape in self.parameters])
        outputs = [m.data(12, m.value(name, self.values[name].shape, type_)
                          if name in self.values else openValue(name, type_))
                   for name, type_ in self.outputs]
        return b"".join(parts) + m.data(2, "g") + b"".join(inputs + outputs)

    def bytes(self):
        version = 8 if self.opset < 19 else 9 if self.opset < 21 else 10 if self.opset < 23 else 11
        opsets = m.opset(self.opset)
        if any(node.domain == MICROSOFT for node in self.nodes):
            opsets += m.opset(1, MICROSOFT)
        return m.model(self.body(), ir=version, opsets=opsets)

    def write(self, folder):
        """model.onnx and test_data_set_0/input_N.pb, as in the ONNX backend suite."""
        data = os.path.join(folder, "test_data_set_0")
        os.makedirs(data, exist_ok=True)
        with open(os.path.join(folder, "model.onnx"), "wb") as file:
            file.write(self.bytes())
        for number, (name, tensor) in enumerate(self.inputs.items()):
            with open(os.path.join(data, f"input_{number}.pb"), "wb") as file:
                file.write(tensor.bytes(name))


def allNodes(graph):
    for node in graph.nodes:
        yield node
        for value in node.attributes.values():
            if isinstance(value, Graph):
                yield from allNodes(value)


def openValue(name, type_):
    """A ValueInfo without a shape, in bodies and where shrink.py changed the sizes."""
    return m.data(1, name) + m.data(2, m.data(1, m.number(1, type_)))


def encode(name, value):
    if isinstance(value, Tensor):
        return m.attribute(name, value.bytes())
    if isinstance(value, Graph):
        return m.graphAttribute(name, value.body())
    if isinstance(value, list) and value and isinstance(value[0], float):
        body = b"".join(m.varint(7 << 3 | 5) + struct.pack("<f", v) for v in value)
        return m.data(5, m.data(1, name) + body + m.number(20, 6))
    if isinstance(value, list) and value and isinstance(value[0], str):
        body = b"".join(m.data(9, v) for v in value)
        return m.data(5, m.data(1, name) + body + m.number(20, 8))
    return m.attribute(name, value)
