"""Pairs of models with a known difference: sinter-inspect diff reports it and nothing else.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

usage: diff_pairs.py MODELS FOLDER [--only=TEXT] [--seed=N]

MODELS is test/models. Edited models are written into FOLDER. Prints a line for each pair that
failed and one that sums up; the exit code is 1 if one failed. The seed chooses nodes, weights
and orders.
"""

import json
import os
import random
import struct
import subprocess
import sys

import onnx_edit as onnx

# Operators of one operand, with results of its shape, and one to put in their place.
UNARY = {"Relu": "Tanh", "Tanh": "Sigmoid", "Sigmoid": "Tanh", "HardSwish": "Relu",
         "Erf": "Tanh", "Sqrt": "Exp", "Exp": "Sqrt"}

RENAMED = ["lenet", "mlp", "gpt2", "bert", "resnet-basic", "fusion-resnet50", "mobilenet-v2",
           "unet-nearest", "densenet", "vit", "convnext", "lstm", "gru-bidirectional", "keras",
           "train-gat-sgd", "dynamo-gpt2", "fusion-layers-separate", "super-resolution"]
EDITED = ["lenet", "mlp", "resnet-basic", "fusion-resnet50", "mobilenet-v3", "unet-nearest",
          "densenet", "bert", "fusion-layers-packed", "dynamo-convnext"]


def argument(name):
    """The value of --NAME=VALUE; "" without."""
    return next((a.split("=", 1)[1] for a in sys.argv[3:] if a.startswith(f"--{name}=")), "")


def randomOf(pair):
    return random.Random(pair + argument("seed"))


def diff(a, b, *flags):
    """The exit code and the JSON of a diff."""
    run = subprocess.run(["sinter-inspect", "diff", a, b, "--json", *flags], capture_output=True,
                         text=True)
    if run.returncode > 1:
        raise RuntimeError(f"exit code {run.returncode}: {run.stderr.strip()}")
    return run.returncode, json.loads(run.stdout)


def beginsAt(a, b, node):
    """The numbers of the two models differ, and begin to do so at one op, of `node`."""
    code, found = diff(a, b, "--numeric")
    begins = found["numbers"]["begins"]
    expect(code == 1 and [n for op in begins for n in op["nodes"]] == [node], begins)


def named(changes):
    return [change["name"] for change in changes]


def lists(graph):
    return {key: named(graph[key]) for key in ("changed", "gone", "added", "types")}


def expect(condition, what):
    if not condition:
        raise RuntimeError(str(what))


def only(graph, **expected):
    """The lists of a difference are those expected; others are empty."""
    found = lists(graph)
    for key, value in found.items():
        expect(value == expected.get(key, []), f"{key}: {value}, expected {expected.get(key, [])}")


class Pairs:
    def __init__(self, models, folder):
        self.models, self.folder, self.count, self.failed = models, folder, 0, 0

    def path(self, name):
        return os.path.join(self.models, name + ".onnx")

    def edited(self, model, name):
        path = os.path.join(self.folder, name.replace(" ", "-") + ".onnx")
        model.dropValueInfo()
        model.save(path)
        return path

    def check(self, name, test):
        self.count += 1
        try:
            test(name)
        except (RuntimeError, AssertionError, KeyError, IndexError) as error:
            self.failed += 1
            print(f"FAILED {name}: {error}")


# ---- Edits ---------------------------------------------------------------------------------


def rename(model, seed):
    """Other names for nodes, values and weights, and another order of all three."""
    rng = randomOf(seed)
    kept = model.outputs() | set(model.named(onnx.GRAPH_INPUT)) | {""}
    values = sorted({name for node in model.nodes
                     for name in node.texts(onnx.INPUT) + node.texts(onnx.OUTPUT)} - kept)
    fresh = [f"v{i}" for i in range(len(values))]
    rng.shuffle(fresh)
    new = dict(zip(values, fresh))
    names = {}
    for i, node in enumerate(model.nodes):
        names[node.text(onnx.NAME)] = f"renamed{(i * 7919) % 10007}"
        node.set(onnx.NAME, [names[node.text(onnx.NAME)]])
        for field in (onnx.INPUT, onnx.OUTPUT):
            if node.texts(field):
                node.set(field, [new.get(name, name) for name in node.texts(field)])
    for entry in model.rest:
        if entry[0] == onnx.INITIALIZER:
            tensor = onnx.Node(onnx.parse(entry[2]))
            tensor.set(8, [new.get(tensor.text(8), tensor.text(8))])
            entry[2] = onnx.write(tensor.fields)
    weights = [f for f in model.rest if f[0] == onnx.INITIALIZER]
    rng.shuffle(weights)
    model.rest = [f for f in model.rest if f[0] != onnx.INITIALIZER] + weights
    made = {name: node for node in model.nodes for name in node.texts(onnx.OUTPUT)}
    waiting, done, ordered = list(model.nodes), set(), []
    while waiting:
        ready = [n for n in waiting
                 if all(i not in made or id(made[i]) in done for i in n.texts(onnx.INPUT))]
        node = rng.choice(ready)
        waiting.remove(node)
        done.add(id(node))
        ordered.append(node)
    model.nodes = ordered
    return names


def pickUnary(model, seed):
    """A node of UNARY that is not at the edge of the graph."""
    nodes = [n for n in model.nodes if n.text(onnx.OP) in UNARY
             and n.text(onnx.OUTPUT) not in model.outputs() and model.users(n.text(onnx.OUTPUT))]
    return randomOf(seed).choice(nodes)


def pickWeight(model, seed):
    """The name and the message of a weight of float32."""
    weights = [(name, f) for name, f in model.named(onnx.INITIALIZER).items()
               if onnx.floatsOf(onnx.parse(f[2])) and len(onnx.floatsOf(onnx.parse(f[2]))[1]) > 8]
    return randomOf(seed).choice(sorted(weights, key=lambda w: w[0]))


def readInstead(model, old, new, but=None):
    for node in model.nodes:
        if node is not but and old in node.texts(onnx.INPUT):
            node.set(onnx.INPUT, [new if i == old else i for i in node.texts(onnx.INPUT)])


# ---- Pairs ---------------------------------------------------------------------------------


def renamedPair(pairs, name):
    def test(pair):
        model = onnx.Model(pairs.path(name))
        rename(model, pair)
        code, found = diff(pairs.path(name), pairs.edited(model, pair))
        only(found["graph"])
        expect(code == 0 and found["same"] and found["graph"]["same"], "not the same")
        expect(len(found["graph"]["renamed"]) >= found["graph"]["nodes"] - 1, "too few renamed")
        code, found = diff(pairs.path(name), pairs.edited(model, pair), "--numeric")
        expect(code == 0 and found["numbers"]["same"], found["numbers"])
    pairs.check(f"{name} renamed and reordered", test)


def replacedPair(pairs, name):
    def test(pair):
        model = onnx.Model(pairs.path(name))
        node = pickUnary(model, pair)
        old = node.text(onnx.OP)
        node.set(onnx.OP, [UNARY[old]])
        path = pairs.edited(model, pair)
        code, found = diff(pairs.path(name), path)
        only(found["graph"], changed=[node.text(onnx.NAME)])
        expect(code == 1 and " -> " in found["graph"]["changed"][0]["details"][0], "no details")
        beginsAt(pairs.path(name), path, node.text(onnx.NAME))
    pairs.check(f"{name} with another operator", test)


def renamedAndReplacedPair(pairs, name):
    def test(pair):
        model = onnx.Model(pairs.path(name))
        node = pickUnary(model, pair)
        old = node.text(onnx.NAME)
        node.set(onnx.OP, [UNARY[node.text(onnx.OP)]])
        names = rename(model, pair)
        path = pairs.edited(model, pair)
        code, found = diff(pairs.path(name), path)
        only(found["graph"], changed=[old])
        expect(found["graph"]["changed"][0]["new_name"] == names[old], found["graph"]["changed"])
        beginsAt(pairs.path(name), path, names[old])
    pairs.check(f"{name} renamed and with another operator", test)


def insertedPair(pairs, name):
    def test(pair):
        model = onnx.Model(pairs.path(name))
        node = pickUnary(model, pair)
        out = node.text(onnx.OUTPUT)
        new = onnx.Node([[onnx.INPUT, onnx.BYTES, out.encode()],
                         [onnx.OUTPUT, onnx.BYTES, b"negated"],
                         [onnx.NAME, onnx.BYTES, b"inserted"], [onnx.OP, onnx.BYTES, b"Neg"]])
        readInstead(model, out, "negated")
        model.nodes.insert(model.nodes.index(node) + 1, new)
        path = pairs.edited(model, pair)
        code, found = diff(pairs.path(name), path)
        only(found["graph"], added=["inserted"])
        code, found = diff(path, pairs.path(name))
        only(found["graph"], gone=["inserted"])
    pairs.check(f"{name} with one more node, and back", test)


def removedPair(pairs, name):
    def test(pair):
        model = onnx.Model(pairs.path(name))
        node = pickUnary(model, pair)
        readInstead(model, node.text(onnx.OUTPUT), node.text(onnx.INPUT))
        model.nodes.remove(node)
        code, found = diff(pairs.path(name), pairs.edited(model, pair))
        only(found["graph"], gone=[node.text(onnx.NAME)])
    pairs.check(f"{name} without a node", test)


def weightPair(pairs, name):
    def test(pair):
        model = onnx.Model(pairs.path(name))
        weight, entry = pickWeight(model, pair)
        tensor = onnx.parse(entry[2])
        raw, values = onnx.floatsOf(tensor)
        values[5] += 0.5
        tensor[raw][2] = struct.pack(f"<{len(values)}f", *values)
        entry[2] = onnx.write(tensor)
        code, found = diff(pairs.path(name), pairs.edited(model, pair))
        only(found["graph"], changed=[weight])
        details = found["graph"]["changed"][0]["details"]
        expect(len(details) == 1 and details[0].startswith(
            f"1 of {len(values)} values, by at most 0.5, read by "), details)
    pairs.check(f"{name} with another weight", test)


def severalPair(pairs, name):
    """Other names, another value of every weight, one node more and up to three replaced."""
    def test(pair):
        model = onnx.Model(pairs.path(name))
        rng = randomOf(pair)
        candidates = [n for n in model.nodes if n.text(onnx.OP) in UNARY
                      and n.text(onnx.OUTPUT) not in model.outputs()
                      and model.users(n.text(onnx.OUTPUT))]
        replaced = rng.sample(candidates, min(3, len(candidates)))
        for node in replaced:
            node.set(onnx.OP, [UNARY[node.text(onnx.OP)]])
        weights = set()
        for weight, entry in model.named(onnx.INITIALIZER).items():
            tensor = onnx.parse(entry[2])
            if (found := onnx.floatsOf(tensor)) and len(found[1]) > 8:
                raw, values = found
                tensor[raw][2] = struct.pack(f"<{len(values)}f", *[v * 1.25 for v in values])
                entry[2] = onnx.write(tensor)
                weights.add(weight)
        old = {n.text(onnx.NAME) for n in replaced}
        # Not beside a replaced node: which of the two is new would be open.
        touched = {t for n in replaced for t in n.texts(onnx.INPUT) + n.texts(onnx.OUTPUT)}
        before = [n for n in candidates if n not in replaced
                  and n.text(onnx.OUTPUT) not in touched and n.text(onnx.INPUT) not in touched]
        for node in before[:1]:
            out = node.text(onnx.OUTPUT)
            readInstead(model, out, "negated")
            model.nodes.insert(model.nodes.index(node) + 1, onnx.Node(
                [[onnx.INPUT, onnx.BYTES, out.encode()], [onnx.OUTPUT, onnx.BYTES, b"negated"],
                 [onnx.NAME, onnx.BYTES, b"inserted"], [onnx.OP, onnx.BYTES, b"Neg"]]))
        names = rename(model, pair)
        code, found = diff(pairs.path(name), pairs.edited(model, pair))
        graph = found["graph"]
        nodes = {c["name"] for c in graph["changed"] if c["kind"] == "node"}
        expect(nodes == old, f"nodes {nodes}, expected {old}")
        expect({c["name"] for c in graph["changed"] if c["kind"] == "weight"} <= weights,
               lists(graph))
        expect(named(graph["added"]) == [names["inserted"] for _ in before[:1]]
               and not graph["gone"] and not graph["types"], lists(graph))
    pairs.check(f"{name} renamed with several changes", test)


def swappedPair(pairs, name):
    """A sum or difference of two nodes, its operands exchanged."""
    def test(pair):
        model = onnx.Model(pairs.path(name))
        made = {o for n in model.nodes if n.text(onnx.OP) != "Constant"
                for o in n.texts(onnx.OUTPUT)}
        node = randomOf(pair).choice(
            [n for n in model.nodes if n.text(onnx.OP) in ("Add", "Sub")
             and len(set(n.texts(onnx.INPUT))) == 2 and set(n.texts(onnx.INPUT)) <= made])
        node.set(onnx.INPUT, node.texts(onnx.INPUT)[::-1])
        code, found = diff(pairs.path(name), pairs.edited(model, pair))
        only(found["graph"], changed=[node.text(onnx.NAME)])
        expect(any("operand" in d for d in found["graph"]["changed"][0]["details"]), found)
    pairs.check(f"{name} with operands exchanged", test)


def exchangedPair(pairs, name, a, b):
    """The values of two weights of one shape exchanged: each changed, neither was renamed."""
    def test(pair):
        model = onnx.Model(pairs.path(name))
        entries = [model.named(onnx.INITIALIZER)[weight] for weight in (a, b)]
        tensors = [onnx.parse(entry[2]) for entry in entries]
        raws = [onnx.floatsOf(tensor)[0] for tensor in tensors]
        values = [tensor[raw][2] for tensor, raw in zip(tensors, raws)]
        for entry, tensor, raw, value in zip(entries, tensors, raws, values[::-1]):
            tensor[raw][2] = value
            entry[2] = onnx.write(tensor)
        code, found = diff(pairs.path(name), pairs.edited(model, pair))
        only(found["graph"], changed=[a, b])
        expect(not found["graph"]["renamed"], found["graph"]["renamed"])
    pairs.check(f"{name} with two biases exchanged", test)


def attributePair(pairs, name, op, attribute, edit):
    def test(pair):
        model = onnx.Model(pairs.path(name))
        node = randomOf(pair).choice(
            [n for n in model.nodes if n.text(onnx.OP) == op and n.attribute(attribute)
             and n.text(onnx.OUTPUT) not in model.outputs()])
        for key in attribute if isinstance(attribute, list) else [attribute]:
            fields = node.attribute(key)
            edit(fields)
            node.setAttribute(key, fields)
        code, found = diff(pairs.path(name), pairs.edited(model, pair))
        expect(lists(found["graph"])["changed"] == [node.text(onnx.NAME)], lists(found["graph"]))
        expect(not found["graph"]["gone"] and not found["graph"]["added"], lists(found["graph"]))
    pairs.check(f"{name} with another {attribute} of {op}", test)


def setFloat(value):
    def edit(fields):
        for field in fields:
            if field[0] == 2:
                field[2] = struct.pack("<f", value)
    return edit


def setInt(value):
    def edit(fields):
        for field in fields:
            if field[0] == 3:
                field[2] = value & ((1 << 64) - 1)
    return edit


def shapePair(pairs, name):
    def test(pair):
        path = pairs.path(name)
        code, found = diff(path, path, "--flags-a=--batch=2", "--flags-b=--batch=3")
        graph, program = found["graph"], found["programs"][0]
        only(graph, types=named(graph["types"]))
        expect(code == 1 and len(graph["types"]) > 5, "no types")
        expect(named(program["options"]) == ["batch"], program["options"])
    pairs.check(f"{name} with another batch", test)


# The flags of B, the options that then differ, and whether commands do.
FLAGS = [("lenet", "--batch=2", "--libraries=none", ["libraries"], True),
         ("bert", "", "--precision=bf16", ["precision"], True),
         ("mlp", "--batch=8", "-O1", ["opt_level"], False),
         ("mlp", "--batch=8", "--deterministic=arch", ["deterministic", "libraries"], True),
         ("lenet", "--batch=2", "--target=sim", None, True),
         ("mlp", "--batch=8 --target=cuda --gpu-arch=sm_90", "--libraries=none", ["libraries"], True),
         ("train-mlp-adam", "--train --batch=8", "--lr=0.5", ["training.lr"], False),
         ("train-mlp-adam", "--train --batch=8", "--optimizer=adam", None, True),
         ("train-mlp-adam", "--train --batch=8", "--clip-norm=1", None, True),
         ("train-mlp-adam", "--train --batch=8 --optimizer=adam", "--beta1=0.8",
          ["training.beta1"], True)]


def flagsPair(pairs, name, common, flags, options, hasCommands):
    def test(pair):
        path = pairs.path(name)
        code, found = diff(path, path, f"--flags-a={common or '--mcpu=native'}",
                           f"--flags-b={common} {flags}")
        only(found["graph"])
        program = found["programs"][0]
        if options:
            expect(named(program["options"]) == options, program["options"])
        differ = bool(program["changed"] or program["gone"] or program["added"])
        expect(code == 1 and differ == hasCommands, f"commands differ: {differ}")
    pairs.check(f"{name} with {flags}", test)


def samePair(pairs, name, flags):
    def test(pair):
        path = pairs.path(name)
        code, found = diff(path, path, f"--flags-a={flags}", f"--flags-b={flags}")
        expect(code == 0 and found["same"] and found["programs"][0]["same"], found)
    pairs.check(f"{name} twice with {flags}", test)


def allPairs(pairs, isWanted):
    for name in filter(isWanted, RENAMED):
        renamedPair(pairs, name)
    for i, name in enumerate(filter(isWanted, EDITED)):
        replacedPair(pairs, name)
        renamedAndReplacedPair(pairs, name)
        insertedPair(pairs, name)
        removedPair(pairs, name)
        weightPair(pairs, name)
        severalPair(pairs, name)
    for name in filter(isWanted, ["resnet-basic", "fusion-resnet50", "bert", "vit"]):
        swappedPair(pairs, name)
    if isWanted("bert"):
        exchangedPair(pairs, "bert", "layers.0.o.bias", "layers.1.o.bias")
    for case in [("densenet", "BatchNormalization", "epsilon", setFloat(0.25)),
                 ("dynamo-convnext", "LayerNormalization", "epsilon", setFloat(0.25)),
                 ("mlp", "Elu", "alpha", setFloat(0.75)),
                 ("fusion-layers-packed", "LayerNormalization", "epsilon", setFloat(0.25)),
                 ("bert-static", "Softmax", "axis", setInt(-2))]:
        if isWanted(case[0]):
            attributePair(pairs, *case)
    for name in filter(isWanted, ["lenet", "mlp", "resnet-basic"]):
        shapePair(pairs, name)
    for case in FLAGS:
        if isWanted(case[0]):
            flagsPair(pairs, *case)
    for name, flags in [("lenet", "--batch=2"), ("train-mlp-adam", "--train --batch=8")]:
        if isWanted(name):
            samePair(pairs, name, flags)


def main():
    models, folder = sys.argv[1:3]
    text = argument("only")
    os.makedirs(folder, exist_ok=True)
    pairs = Pairs(models, folder)
    allPairs(pairs, lambda name: text in name)
    print(f"{pairs.count - pairs.failed} of {pairs.count} pairs")
    return 1 if pairs.failed or not pairs.count else 0


if __name__ == "__main__":
    sys.exit(main())
