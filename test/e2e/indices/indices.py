"""Tests indices out of range, one at a time, in a library of every operator that takes indices.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    indices.py write FOLDER           operators.onnx, words.onnx, sound.npz and wild.npz
    indices.py check LIBRARY.so       of operators.onnx, by the C names sinter_operators_X

words.onnx classifies rows of words; row 21 of wild.npz has word 10^12 in its third place, of a
vocabulary of 7. Each index input is given its least and its greatest index, which must run, and then the
neighbours of these and distant ones in one element after the other: each must fail, in one line
that names the node and the index. A run after that must give the same bytes as the first.
"""

import argparse
import ctypes
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.join(HERE, "..", "..", "fuzz"),
                 os.path.join(HERE, "..", "..", "..", "tools", "scripts")]
import onnx_bytes as ob
from npz import writeNpz

INT32, BOOL = 6, 9
FAR = 10**12


class Index:
    """An input of indices: `columns` has the bounds [lower, upper) of each last coordinate."""

    def __init__(self, node, shape, *columns, kind=ob.INT64, also=()):
        self.node, self.shape, self.columns, self.kind, self.also = node, shape, columns, kind, also

    @property
    def count(self):
        count = 1
        for size in self.shape:
            count *= size
        return count

    def bounds(self, element):
        return self.columns[element % len(self.columns)]

    def wild(self, element):
        lower, upper = self.bounds(element)
        far = 2**31 - 1 if self.kind == INT32 else FAR
        return [v for v in (lower - 1, upper, far, -far) if v not in self.also]


def both(size):
    """Of a dimension whose indices may count from its end."""
    return (-size, size)


INDICES = {
    "gather": Index("look_up", (2, 2), both(5)),
    "gather32": Index("look_up_32", (3,), both(5), kind=INT32),
    "again": Index("look_up_again", (2,), both(5)),
    "elements": Index("elements", (3, 2), both(4)),
    "nd": Index("tuples", (3, 2), both(4), both(5)),
    "batched": Index("tuples_in_batches", (2, 1), both(3)),
    "scatter": Index("write_elements", (3, 1), both(4)),
    "scatter_nd": Index("write_tuples", (2, 2), both(4), both(5)),
    "one_hot": Index("one_hot", (3,), both(6)),
    "lengths": Index("reverse", (2,), (0, 5)),
    "writes": Index("write_cache", (2,), (0, 4)),
    "nll": Index("nll", (3,), (0, 5), also=(-1,)),
    "cross_entropy": Index("cross_entropy", (3,), (0, 5)),
    "unpool": Index("unpool", (1, 1, 2, 2), (0, 16)),
    "positions": Index("rotate", (1, 2), (0, 6)),
    "sequences": Index("recur", (2,), (0, 4), kind=INT32),
    "keys": Index("attend", (2,), (0, 4)),
    "then": Index("then_look_up", (2,), both(5)),
}
TABLES = {"t53": (5, 3), "t34": (3, 4), "t452": (4, 5, 2), "t23": (2, 3), "u31": (3, 1),
          "t45": (4, 5), "u2": (2,), "t42": (4, 2), "cache": (2, 6, 2), "new": (2, 3, 2),
          "scores": (3, 5), "pooled": (1, 1, 2, 2), "heads": (1, 1, 2, 4), "angles": (6, 2), "steps": (3, 2, 2), "w": (1, 9, 2),
          "r": (1, 9, 3), "q": (2, 1, 3, 4)}
OUTPUTS = {"look_up": (2, 2, 3), "look_up_32": (3, 3), "look_up_again": (2, 3),
           "elements": (3, 2), "tuples": (3, 2), "tuples_in_batches": (2,),
           "write_elements": (3, 4), "write_tuples": (4, 5), "one_hot": (3, 6),
           "reverse": (4, 2), "write_cache": (2, 6, 2), "nll": (3,), "cross_entropy": (),
           "unpool": (1, 1, 4, 4), "rotate": (1, 1, 2, 4), "recur": (3, 1, 2, 3), "attend": (2, 1, 3, 4),
           "choose": (2, 3)}


def branch(name, *nodes):
    return b"".join(nodes) + ob.data(2, name) + ob.data(12, ob.value("value", (2, 3)))


def write(folder):
    def node(op, inputs, name, output=None, **attributes):
        return ob.node(op, inputs, [output or name + "_y"], name, **attributes)

    parts = [
        node("Gather", ["t53", "gather"], "look_up"),
        node("Gather", ["t53", "gather32"], "look_up_32"),
        node("Gather", ["t53", "again"], "look_up_again"),
        node("GatherElements", ["t34", "elements"], "elements", axis=1),
        node("GatherND", ["t452", "nd"], "tuples"),
        node("GatherND", ["t23", "batched"], "tuples_in_batches", batch_dims=1),
        node("ScatterElements", ["t34", "scatter", "u31"], "write_elements", axis=1),
        node("ScatterND", ["t45", "scatter_nd", "u2"], "write_tuples"),
        node("OneHot", ["one_hot", "depth", "values"], "one_hot"),
        node("ReverseSequence", ["t42", "lengths"], "reverse", time_axis=0, batch_axis=1),
        node("TensorScatter", ["cache", "new", "writes"], "write_cache", axis=1),
        node("NegativeLogLikelihoodLoss", ["scores", "nll"], "nll", ignore_index=-1,
             reduction="none"),
        node("SoftmaxCrossEntropyLoss", ["scores", "cross_entropy"], "cross_entropy"),
        node("MaxUnpool", ["pooled", "unpool"], "unpool", kernel_shape=[2, 2], strides=[2, 2]),
        node("RotaryEmbedding", ["heads", "angles", "angles", "positions"], "rotate"),
        node("GRU", ["steps", "w", "r", "", "sequences"], "recur", hidden_size=3),
        node("Attention", ["q", "q", "q", "", "", "", "keys"], "attend"),
        ob.nodeWith("If", ["condition"], ["choose_y"], "choose",
                    ob.graphAttribute("then_branch", branch(
                        "then", node("Gather", ["t53", "then"], "then_look_up", "value"))),
                    ob.graphAttribute("else_branch", branch(
                        "else", node("Slice", ["t53", "begin", "end"], "else_slice", "value")))),
        ob.initializer("depth", [], ob.INT64, ob.ints(6)),
        ob.initializer("values", [2], raw=struct.pack("<2f", 0, 1)),
        ob.initializer("begin", [1], ob.INT64, ob.ints(0)),
        ob.initializer("end", [1], ob.INT64, ob.ints(2)),
    ]
    for name, shape in TABLES.items():
        count = Index("", shape).count
        parts.append(ob.initializer(name, shape, raw=struct.pack(
            f"<{count}f", *[(i * 7 % 11) / 4 - 1 for i in range(count)])))
    inputs = [(name, i.shape, i.kind) for name, i in INDICES.items()]
    body = ob.graph(*parts, inputs=inputs + [("condition", (), BOOL)],
                    outputs=[(name + "_y", shape) for name, shape in OUTPUTS.items()])
    with open(os.path.join(folder, "operators.onnx"), "wb") as file:
        file.write(ob.model(body, ir=10, opsets=ob.opset(24)))


ROWS, LENGTH, VOCABULARY = 40, 4, 7


def writeTraining(folder):
    """A network that looks words up, and rows of them."""
    def weights(name, *shape):
        count = Index("", shape).count
        return ob.initializer(name, shape, raw=struct.pack(
            f"<{count}f", *[(i * 5 % 13) / 10 - 0.6 for i in range(count)]))

    body = ob.graph(
        ob.node("Gather", ["table", "words"], ["vectors"], "look_up"),
        ob.node("ReduceMean", ["vectors", "axis"], ["mean"], "mean", keepdims=0),
        ob.node("Gemm", ["mean", "fc.weight", "fc.bias"], ["logits"], "fc"),
        weights("table", VOCABULARY, 3), weights("fc.weight", 3, 3), weights("fc.bias", 3),
        ob.initializer("axis", [1], ob.INT64, ob.ints(1)),
        inputs=[("words", ("B", LENGTH), ob.INT64)], outputs=[("logits", ("B", 3))])
    with open(os.path.join(folder, "words.onnx"), "wb") as file:
        file.write(ob.model(body, opsets=ob.opset(18)))
    words = [(i * i + 3 * i) % VOCABULARY for i in range(ROWS * LENGTH)]
    labels = ob.ints(*[sum(words[LENGTH * i:LENGTH * (i + 1)]) % 3 for i in range(ROWS)])
    for name, third in ("sound", words[21 * LENGTH + 2]), ("wild", FAR):
        words[21 * LENGTH + 2] = third
        writeNpz(os.path.join(folder, name + ".npz"),
                 {"words": ("<i8", (ROWS, LENGTH), ob.ints(*words)),
                  "labels": ("<i8", (ROWS,), labels)})


class Program:
    def __init__(self, path):
        self.library, self.program = ctypes.CDLL(os.path.abspath(path)), ctypes.c_void_p()
        self.error = self.library.sinter_operators_last_error
        self.error.restype = ctypes.c_char_p
        if self.library.sinter_operators_create(1, ctypes.byref(self.program)):
            sys.exit(f"create: {self.error().decode()}")

    def run(self, values, condition):
        """The status, and the outputs' bytes."""
        kept = [(ctypes.c_int32 if INDICES[name].kind == INT32 else ctypes.c_int64)
                .__mul__(len(v))(*v) for name, v in values.items()]
        kept.append(ctypes.c_bool(condition))
        outputs = [ctypes.create_string_buffer(4 * Index("", s).count) for s in OUTPUTS.values()]
        addresses = [(ctypes.c_void_p * len(list_))(*[ctypes.addressof(v) for v in list_])
                     for list_ in (kept, outputs)]
        status = self.library.sinter_operators_run(self.program, *addresses)
        return status, [output.raw for output in outputs]


def check(path):
    program = Program(path)

    def filled(which):
        return {name: [index.bounds(e)[which] - which for e in range(index.count)]
                for name, index in INDICES.items()}

    failures = 0

    def expect(what, isSo):
        nonlocal failures
        if not isSo:
            failures += 1
            print(f"{what}: {program.error().decode()}")

    sound = {}
    for which in (0, 1):
        for condition in (False, True):
            sound[which, condition] = program.run(filled(which), condition)
            expect(f"bound {which} of all indices runs", sound[which, condition][0] == 0)
    count = 0
    for name, index in INDICES.items():
        for element in range(index.count):
            for wild in index.wild(element):
                values = filled(1)
                values[name][element] = wild
                status, _ = program.run(values, True)
                message = program.error().decode()
                lower, upper = index.bounds(element)
                expect(f"{name}[{element}] = {wild} fails, naming {index.node}", status == 1
                       and message == f"node '{index.node}': index {wild} is out of range: it must "
                       f"lie in [{lower}, {upper - 1}]")
                count += 1
        expect(f"after {name} all is as before", program.run(filled(1), True) == sound[1, True])
    values = filled(1)
    values["then"] = [FAR, -FAR]
    expect("a branch that is not taken checks nothing",
           program.run(values, False) == sound[1, False])
    print(f"{count} wild indices, {failures} failures")
    return failures > 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["write", "check"])
    parser.add_argument("path")
    arguments = parser.parse_args()
    if arguments.command == "write":
        write(arguments.path)
        writeTraining(arguments.path)
    else:
        sys.exit(check(arguments.path))
