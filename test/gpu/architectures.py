"""Compares networks with PyTorch in float64: every model of the inference tests, ResNet-50 with
all of its layers and two encoder layers; with libraries and with only generated kernels.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import glob
import os
import re

import bundle as bundles
from npz import readNpz

GROUP = "architectures"
SMALL = ["lenet", "gru"]
KERNEL_TESTS = ["resnet50", "encoder-post", "encoder-pre"]


def readTest(path):
    """(model, inputs, reference, tolerance)"""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    ran = re.search(r"RUN: sinter-run (\S+) --inputs=(\S+) --outputs=%t.npz\n", text)
    compared = re.search(r"compare_npz.py %t.npz (\S+) --tolerance=(\S+)", text)
    if not (ran and compared):
        raise SystemExit(f"prepare.py: {path}: its lines are of another form")
    return (*ran.groups(), *compared.groups())


def tests(small):
    root = os.path.join(bundles.ROOT, "test", "e2e")
    if small:
        return [os.path.join(root, "inference", name + ".test") for name in SMALL]
    return sorted(glob.glob(os.path.join(root, "inference", "*.test"))) + \
        [os.path.join(root, "kernels", name + ".test") for name in KERNEL_TESTS]


def shapes(inputs):
    """sinterc's options for open dimensions, which sinter-run has from the arrays."""
    arrays = readNpz(inputs.replace("%models", bundles.MODELS))
    return [f"--shape={name}={'x'.join(map(str, array.shape))}"
            for name, array in arrays.items() if array.shape]


def fileOf(name, libraries):
    """simulated.py runs the same programs."""
    return f"networks/{name}-{libraries}.so"


def prepare(bundle):
    def make(job):
        path, libraries = job
        name = os.path.basename(path)[:-len(".test")]
        model, inputs, reference, tolerance = readTest(path)
        file = fileOf(name, libraries)
        bundle.compile(model, file, *shapes(inputs), f"--libraries={libraries}")
        bundle.addModel([inputs, reference])
        return {"name": name + ("" if libraries == "all" else ", no libraries"), "file": file,
                "inputs": inputs, "reference": reference, "tolerance": tolerance}
    for script in ("compare_npz.py", "npz.py"):
        bundle.add(os.path.join(bundles.ROOT, "tools", "scripts", script))
    bundle.write("architectures", bundle.inParallel(
        make, [(path, libraries) for libraries in ("all", "none") for path in tests(bundle.small)]))


def run(context, results):
    def check(network):
        since = results.seconds()
        out = os.path.join(context.scratch, os.path.basename(network["file"]) + ".npz")
        inputs, reference = context.models([network["inputs"], network["reference"]])
        if context.attempt(GROUP, network["name"], context.runner(
                network["file"], inputs, f"--outputs={out}"), 90) is None:
            return
        context.run(GROUP, network["name"], context.script(
            "compare_npz.py", out, reference, f"--tolerance={network['tolerance']}"), 60,
                    lambda text: "; ".join(text.strip().splitlines()), env=None,
                    since=since)
    context.inParallel(check, context.list("architectures"))
