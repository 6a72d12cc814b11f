#!/usr/bin/env python3
"""Checks the conventions of the tree: borders, names, headers, sizes, formatting, generated docs.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Run by CTest. Each check is first run on samples that it must reject and accept, which
shows that it can find something.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile

import device_names
import doc_paths
import include_rules
import pass_names
import phase_table
import tidiness
import vendor_names
import written_names
from tree import Tree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def sampleTree(files):
    """A temporary checkout holding `files` ({path: text}); the caller removes it."""
    root = tempfile.mkdtemp(prefix="sinter-house-")
    for path, text in files.items():
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
    return root


def selfTest(check, good, bad):
    """The samples that `check` judges wrongly."""
    problems = []
    for expectProblem, files in [(False, good)] + [(True, sample) for sample in bad]:
        root = sampleTree(files)
        try:
            found = check(Tree(root))
        finally:
            shutil.rmtree(root)
        if bool(found) != expectProblem:
            problems.append(f"self-test: {'accepts' if expectProblem else 'rejects'} "
                            f"{list(files)}: {found}")
    return problems


def formatting(tree):
    """None when clang-format is not here."""
    if not shutil.which("clang-format-19"):
        return None
    files = tree.sources(".h", ".cpp", ".c")
    result = subprocess.run(["clang-format-19", "--dry-run", "-Werror", *files],
                            cwd=tree.root, capture_output=True, text=True)
    bad = sorted({line.split(":")[0] for line in result.stderr.splitlines()
                  if "clang-format-violations" in line})
    return [f"{path}: not formatted (tools/dev format)" for path in bad]


def generatedDocs(build):
    """None when the tools that the docs are made from are not built."""
    if not os.path.exists(os.path.join(build, "bin", "sinterc")):
        return None
    result = subprocess.run(
        [sys.executable, os.path.join(ROOT, "tools/scripts/make_docs.py"),
         f"--build={build}", "--check"], capture_output=True, text=True)
    if result.returncode == 0:
        return []
    return (result.stdout + result.stderr).strip().splitlines() or ["make_docs.py failed"]


def addingAnOp():
    """Whether the patch that follows docs/add-an-op.md still fits."""
    result = subprocess.run([sys.executable, os.path.join(ROOT, "test/extend/run.py"), "--check"],
                            capture_output=True, text=True)
    return (result.stdout + result.stderr).strip().splitlines() if result.returncode else []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build folder")
    build = os.path.abspath(parser.parse_args().build)
    tree = Tree(ROOT)

    checks = [("include rules", include_rules.check, include_rules.GOOD, include_rules.BAD),
              ("pass names", pass_names.check, pass_names.GOOD, pass_names.BAD),
              ("device names", device_names.check, device_names.GOOD, device_names.BAD),
              ("vendor names", vendor_names.check, vendor_names.GOOD, vendor_names.BAD),
              ("names written once", written_names.check, written_names.GOOD,
               written_names.BAD),
              ("paths in pages", doc_paths.check, doc_paths.GOOD, doc_paths.BAD),
              ("table of phases", phase_table.check, phase_table.GOOD, phase_table.BAD)]
    for check, (good, bad) in tidiness.SAMPLES.items():
        checks.append((check.__name__, check, good, bad))
    results = []
    for name, check, good, bad in checks:
        results.append((f"{name}, samples", selfTest(check, good, bad)))
        results.append((name, check(tree)))
    results.append(("formatting", formatting(tree)))
    results.append(("generated docs", generatedDocs(build)))
    results.append(("adding an op", addingAnOp()))

    counts = [0, 0, 0]
    for name, problems in results:
        if problems is None:
            counts[2] += 1
            print(f"skipped: {name}: its tool is not here")
            continue
        counts[1 if problems else 0] += 1
        for problem in problems:
            print(f"{name}: {problem}")
    print(f"house: {counts[0]} passed, {counts[1]} failed, {counts[2]} skipped")
    return 1 if counts[1] else 0


if __name__ == "__main__":
    sys.exit(main())
