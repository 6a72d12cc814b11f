#!/usr/bin/env python3
"""Asks `sinter-inspect why` about every node and every pair of neighbours of models, and of training
programs about the gradients of all nodes, too.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    why_all.py [--models=FOLDER] [NAME...]        sinter-inspect must be in the PATH

The questions come from the graph of the imported model, not from the remarks that answer them. An
answer fails if it has no reason, if it says that two kernels have nothing to do with each other
although the plan has one read what the other writes, or has both read one value, or if a reason why
two names are apart is a remark about neither, as one about gradients where nodes are asked about. A
reason why two commands are apart must fit what these two are in the plan: generated kernels or calls of
libraries, with the nodes of the remark. Two nodes that are called one kernel must share a command in the
list of kernels, and a call that multiplies or convolves cannot compute a softmax, nor two products of which
one reads the other.
Prints one line
for each model, and `N passed, N failed, 0 skipped` for all questions.
"""

import argparse
import collections
import itertools
import json
import os
import re
import subprocess
import sys

# Names of test/models with the flags of the compilation.
MODELS = [
    "lenet --batch=2", "mlp --batch=2", "resnet-basic", "bert", "convnext", "densenet", "gpt2",
    "dynamo-vit", "lstm", "unet-bilinear", "mobilenet-v3", "ort-attention", "sampling",
    "resnet-bottleneck --target=sim", "bert --target=sim --precision=bf16", "vit --target=sim",
    "train-mlp-adam --train --optimizer=adam --batch=8", "train-cnn-adam --train",
    "train-bert-adamw --train", "train-gpt2-lm --train",
    "train-cnn-adam --train --target=sim --precision=bf16",
    "train-bert-adamw --train --target=sim --precision=fp16",
    "train-lstm-adam --train", "train-encoder-adamw --train --remat=all",
]
NODE_OPTIONS = ["fp32", "cpu", "not-library", "layout", "recomputed", "bytes"]
UNRELATED = "no pass recorded a reason"
CALLS = ("matmul", "conv", "attention")
# A value with more readers than this is not asked about pairwise.
MOST_READERS = 12


def inspect(*arguments):
    run = subprocess.run(["sinter-inspect", *arguments], capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(f"sinter-inspect {' '.join(arguments)[:200]}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def neighbours(graph):
    """The nodes, and the pairs of nodes of which one reads the other, or which read one value."""
    nodes, pairs = {}, {}
    for function in graph["functions"]:
        names = []
        for op in function["nodes"]:
            isNode = op["op"] not in ("input", "state", "control", "constant", "return")
            names.append([n for n in op["names"].split(", ") if n] if isNode else [])
        readers = collections.defaultdict(dict)
        for i, op in enumerate(function["nodes"]):
            nodes.update(dict.fromkeys(names[i]))
            for source in op["operands"]:
                readers[source].update(dict.fromkeys(names[i]))
                pairs.update(dict.fromkeys(itertools.product(names[source], names[i])))
        for users in readers.values():
            if len(users) <= MOST_READERS:
                pairs.update(dict.fromkeys(itertools.combinations(users, 2)))
    return list(nodes), [(a, b) for a, b in pairs if a != b]


class Memory:
    """Which commands wrote and read the bytes of a program, piece by piece."""

    def __init__(self):
        self.pieces = collections.defaultdict(list)  # [begin, end, commands]

    def overlapping(self, piece):
        begin, end = piece["offset"], piece["offset"] + piece["size"]
        return [p for p in self.pieces[piece["space"], piece["index"]] if p[0] < end and begin < p[1]]

    def forget(self, piece):
        space = piece["space"], piece["index"]
        old = self.overlapping(piece)
        self.pieces[space] = [p for p in self.pieces[space] if p not in old]

    def add(self, piece, command):
        self.pieces[piece["space"], piece["index"]].append(
            [piece["offset"], piece["offset"] + piece["size"], command])


def opsOfNodes(graph):
    """Of each node, what its ops are; and the pairs of products between which there is a softmax."""
    ops, pairs = collections.defaultdict(set), []
    for function in graph["functions"]:
        last = []  # of each op, the products before it, and of these the ones behind a softmax
        for op in function["nodes"]:
            names = [n for n in op["names"].split(", ") if n]
            for name in names:
                ops[name].add(op["op"])
            near, behind = set(), set()
            for source in op["operands"]:
                near |= last[source][0]
                behind |= last[source][1]
            if op["op"] == "softmax":
                near, behind = set(), near
            elif op["op"] == "dot_general":
                pairs += itertools.product(sorted(behind), names)
                near, behind = set(names), set()
            last.append((near, behind))
    return ops, pairs


def wronglyOne(pair, ops, isDependent, commands):
    """What is wrong with a pair being in one kernel, given the commands that have both; None: nothing."""
    if not commands:
        return "no kernel has both"
    for kernel in commands:
        if kernel["kind"] not in ("matmul", "conv"):
            continue
        if any(ops[node] == {"softmax"} for node in pair):
            return f"a {kernel['kind']} computes no softmax"
        if isDependent:
            return f"a {kernel['kind']} computes one of these products"
    return None


def isGradient(name):
    return name.startswith("grad(") and name.endswith(")")


def related(plan):
    """Of each program: its commands' nodes, and the pairs of commands that depend on each other or
    read one computed value."""
    programs = {}
    for program in plan:
        written, read, pairs = Memory(), Memory(), set()
        for number, command in enumerate(program["commands"]):
            pieces = [p for p in command["reads"] if p["space"] not in ("constant", "control")]
            for piece in pieces:
                for _, _, other in written.overlapping(piece) + read.overlapping(piece):
                    pairs.update({(other, number), (number, other)})
                read.add(piece, number)
            for piece in command["writes"]:
                written.forget(piece)
                read.forget(piece)
                written.add(piece, number)
        programs[program["name"]] = [set(c["nodes"]) for c in program["commands"]], pairs
    return programs


def areRelated(programs, entry, a, b):
    """Whether a command of `a` alone and one of `b` alone are related."""
    commands, pairs = programs[entry]
    ofA = [i for i, nodes in enumerate(commands) if a in nodes and b not in nodes]
    ofB = [i for i, nodes in enumerate(commands) if b in nodes and a not in nodes]
    return any(pair in pairs for pair in itertools.product(ofA, ofB))


def isAboutOthers(pair, reason):
    """Whether a reason is a remark about neither of two names, and does not say so; or one about
    gradients alone, where both names are nodes."""
    a, b = pair
    nodes, others = reason.get("nodes", []), reason.get("with", [])
    if not nodes and not others:
        return False
    if (a in nodes and b in others) or (b in nodes and a in others):
        return False
    if f": of {nodes[0] if nodes else 'an op without a node'} and " not in reason["text"]:
        return True
    return not any(map(isGradient, pair)) and any(
        names and all(map(isGradient, names)) for names in (nodes, others))


def commandAt(program, number):
    """The command "3", or "15.0": the first one in the body of command 15."""
    outer, _, inner = number.partition(".")
    command = program["commands"][int(outer)]
    return command["body"][int(inner)] if inner else command


def misfit(reason, plan, kernelKinds):
    """What is wrong with a reason "3 and 5 of @main: ...": None if it may be about these commands."""
    found = re.match(r"([\d.]+) and ([\d.]+) of @(\w+): ", reason["text"])
    if not found:
        return None
    commands = [commandAt(plan[found[3]], number) for number in found.groups()[:2]]
    text = reason["text"][found.end():]
    kinds = [c["kind"] for c in commands]
    if "each is a library call" in text and not all(k in CALLS for k in kinds):
        return f"the commands are {kinds}"
    named = re.search(r"(?:one|the reader) is a library call \((\w+)\)", text)
    if named and named[1] not in kinds:
        return f"the commands are {kinds}"
    if reason["pass"] in ("fuse-loops", "fuse-stages") and kinds != ["launch", "launch"]:
        return f"{reason['pass']} is about kernels, the commands are {kinds}"
    isContraction = [k in CALLS or kernelKinds.get(c["target"]) in CALLS for k, c in zip(kinds, commands)]
    if reason["pass"] == "fuse-epilogues" and not any(isContraction):
        return f"fuse-epilogues is about contractions, the commands are {kinds}"
    for names, command in zip((reason.get("nodes", []), reason.get("with", [])), commands):
        if names and not set(names) & set(command["nodes"]):
            return f"{names} are not of {command['kind']} {command['nodes']}"
    return None


def check(line, folder):
    name, *flags = line.split()
    model = os.path.join(folder, name + ".onnx")
    loads = [f for f in flags if not f.startswith(("--target", "--precision"))]
    graph = inspect("graph", model, *loads, "--stop-after=import", "--json")
    nodes, pairs = neighbours(graph)
    ops, products = opsOfNodes(graph)
    pairs += [pair for pair in products if pair not in pairs]
    dependent = set(products)
    if "--train" in flags:
        named, found = neighbours(inspect("graph", model, *loads, "--stop-after=train", "--json"))
        asked = set(nodes) | {n for n in named if isGradient(n)}
        nodes += [n for n in named if isGradient(n)]
        pairs += [p for p in found if asked.issuperset(p) and any(map(isGradient, p))]
    listed = inspect("kernels", model, *flags, "--json")
    kernels = [k["name"] for k in listed if k["name"] != k["kind"]]
    kernelKinds = {k["name"]: k["kind"] for k in listed}
    questions = [f"--{option}={node}" for node in nodes for option in NODE_OPTIONS]
    questions += [f"--kernel={kernel}" for kernel in kernels]
    questions += [f"--not-fused={a},{b}" for a, b in pairs]
    answers = inspect("why", model, *flags, *questions, "--json")
    assert len(answers) == len(questions)
    plan = inspect("plan", model, *flags, "--json")
    close = related(plan)
    plan = {program["name"]: program for program in plan}
    commands = [{"kind": kernelKinds.get(c["target"], c["kind"]), "nodes": set(c["nodes"])}
                for program in plan.values() for outer in program["commands"]
                for c in [outer, *outer.get("body", [])]]
    failures = {}  # question -> what is wrong
    for number, (question, answer) in enumerate(zip(questions, answers)):
        texts = [reason["text"] for reason in answer["reasons"]]
        if not answer["answer"] or not texts or not all(texts):
            failures[question] = "no reason"
        if question.startswith("--kernel=") and any("each is a library call" in text for text in texts):
            failures[question] = "a reason is about two library calls"
        if not question.startswith("--not-fused="):
            continue
        for reason in answer["reasons"]:
            if wrong := misfit(reason, plan, kernelKinds):
                failures[question] = f"{reason['text']}: {wrong}"
        a, b = pairs[number - len(questions) + len(pairs)]
        if "not in one kernel" not in answer["answer"]:
            shared = [c for c in commands if {a, b} <= c["nodes"]]
            if wrong := wronglyOne((a, b), ops, (a, b) in dependent, shared):
                failures[question] = f"{answer['answer']}: {wrong}"
        for reason in answer["reasons"]:
            if isAboutOthers((a, b), reason):
                failures[question] = f"a reason is about others: {reason['text']}"
        for text in texts:
            if UNRELATED in text:
                entry = text.split(":")[0].removeprefix("@")
                if areRelated(close, entry, a, b):
                    failures[question] = f"called unrelated in {entry}, but the plan relates them"
    print(f"{line}: {len(nodes)} nodes, {len(kernels)} kernels, {len(pairs)} pairs, "
          f"{len(questions)} questions, {len(failures)} failed", flush=True)
    for question, what in list(failures.items())[:5]:
        print(f"    {question}: {what}")
    return len(questions), len(failures)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--models", default=os.path.join(here, "..", "..", "models"))
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    asked = failed = 0
    for line in MODELS:
        if arguments.names and line.split()[0] not in arguments.names and line not in arguments.names:
            continue
        counts = check(line, arguments.models)
        asked, failed = asked + counts[0], failed + counts[1]
    print(f"{asked - failed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
