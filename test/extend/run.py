#!/usr/bin/env python3
"""Checks docs/add-an-op.md by adding an op: erfc, 1 - error function.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    run.py --check                 the patch fits the sources, and changes the files that the
                                   page names; seconds
    run.py --tree=FOLDER           also applies the patch to FOLDER, builds it and uses the op

FOLDER is a clone of the project that nothing else uses, with or without a build in
build/release; the patch stays applied in it. A build takes about 15 minutes.
"""

import argparse
import math
import os
import re
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PATCH = os.path.join(HERE, "add-an-op.patch")
PAGE = "docs/add-an-op.md"
sys.path[:0] = [os.path.join(ROOT, "tools/scripts"), os.path.join(ROOT, "test/fuzz")]
import npz  # noqa: E402
import onnx_bytes  # noqa: E402

TESTS = ["compiled values are those of the evaluation", "gradients agree with finite differences",
         "every op has a rule, a reason to have none, or cases"]
X = [-3.0, -1.0, -0.25, 0.0, 0.25, 1.0, 3.0, 9.0]


def patched(patch):
    """The files that a patch changes."""
    return re.findall(r"^diff --git a/(\S+) ", patch, re.M)


def check(root):
    """One line for each way in which page, patch and sources do not fit each other."""
    with open(PATCH, encoding="utf-8") as file:
        files = patched(file.read())
    with open(os.path.join(root, PAGE), encoding="utf-8") as file:
        numbered = re.findall(r"^\d\. \*\*`([^`]+)`\*\*", file.read(), re.M)
    result = subprocess.run(["git", "apply", "--check", PATCH], cwd=root,
                            capture_output=True, text=True)
    problems = result.stderr.strip().splitlines()
    for path in files:
        if path not in numbered and not path.startswith("test/"):
            problems.append(f"{PAGE} does not name {path}")
    return problems


def run(tree, *command):
    print("+", *command, flush=True)
    subprocess.run(command, cwd=tree, check=True)


def model():
    """y = Erfc(x), with x and y of shape [8]."""
    graph = onnx_bytes.graph(onnx_bytes.node("Erfc", ["x"], ["y"], "complement"),
                             inputs=(("x", (len(X),)),), outputs=(("y", (len(X),)),))
    return onnx_bytes.model(graph)


def useOp(tree):
    """Compiles and runs a model of one node on the CPU and on the simulated device."""
    onnx, inputs, outputs = (os.path.join(tree, "build", name)
                             for name in ("erfc.onnx", "erfc-in.npz", "erfc-out.npz"))
    with open(onnx, "wb") as file:
        file.write(model())
    npz.writeNpz(inputs, {"x": ("<f4", (len(X),), struct.pack(f"<{len(X)}f", *X))})
    for device in ("cpu", "sim:0"):
        run(tree, "build/release/bin/sinter-run", onnx, f"--inputs={inputs}",
            f"--outputs={outputs}", f"--device={device}")
        for x, y in zip(X, npz.readNpz(outputs)["y"].values):
            # 1 - erf(x) in float32 cancels for large x.
            if not abs(y - math.erfc(x)) <= 2e-7:
                sys.exit(f"run.py: on {device}, erfc({x}) is {y}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--tree")
    options = parser.parse_args()
    tree = os.path.abspath(options.tree or ROOT)
    problems = check(tree)
    if problems:
        sys.exit("\n".join(problems))
    if options.tree:
        run(tree, "git", "apply", PATCH)
        run(tree, "tools/dev", "build")
        useOp(tree)
        # Values against ir/eval, and the gradient against finite differences, of all ops.
        for test in TESTS:
            run(tree, "build/release/bin/sinter-op-tests", test)
    print(f"{PAGE}: the patch fits" + (", builds and computes" if options.tree else ""))


if __name__ == "__main__":
    main()
