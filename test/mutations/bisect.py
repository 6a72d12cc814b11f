#!/usr/bin/env python3
"""Plants defects that make numbers wrong, one at a time, and checks that bisect names each.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    bisect.py --list                          the defects, and whether their places are still there
    bisect.py --tree=FOLDER [--only=TEXT] [--first=NAME] [--show]   plants them in a built tree,
                                              which is restored

A defect changes one place of the sources (defects.py). sinter-inspect is built with it and
bisects a small model that reaches the place; its output must name the pass or the kernel, and
the node. FOLDER is a clone of the project with a build in build/release; nothing else may use it.
"""

import argparse
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from defects import DEFECTS

LIMIT_S = 300  # of one bisection


def problems(tree):
    """One line for each defect that cannot be planted."""
    for defect in DEFECTS:
        path = os.path.join(tree, defect.file)
        count = -1
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                count = file.read().count(defect.old)
        if count != 1:
            yield (f"{defect.name}: {defect.file} "
                   + ("is not there" if count < 0 else f"has its place {count} times"))
        if not defect.names:
            yield f"{defect.name}: expects nothing"
        if not os.path.exists(modelOf(tree, defect)):
            yield f"{defect.name}: {modelOf(tree, defect)} is not there"
    names = [defect.name for defect in DEFECTS]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"two defects are called {name}"


def modelOf(tree, defect):
    model = defect.command.split()[0]
    folder = "mutations" if "/" in model else "models"
    return os.path.join(tree, "test", folder, model)


def build(tree):
    built = subprocess.run(["ninja", "-C", os.path.join(tree, "build", "release"),
                            "sinter-inspect"], capture_output=True, text=True)
    return built.returncode == 0, built.stdout[-2000:]


def bisect(tree, defect):
    """Exit code, output and seconds."""
    program = os.path.join(tree, "build", "release", "bin", "sinter-inspect")
    command = [program, "bisect", modelOf(tree, defect)] + defect.command.split()[1:]
    begin = time.time()
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return None, "", time.time() - begin
    return result.returncode, result.stdout + result.stderr, time.time() - begin


def missing(defect, code, output):
    """What the output lacks; "" if nothing."""
    if code is None:
        return f"takes more than {LIMIT_S} s"
    if code != defect.code:
        return f"ends with {code}"
    lines = output.splitlines()
    for name in defect.names:
        if not any(re.match(name, line) for line in lines):
            return f"no line matches {name}"
    return ""


def plant(tree, defect, show):
    """What is missing, "" if nothing, and the seconds of the bisection."""
    path = os.path.join(tree, defect.file)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(defect.old, defect.new))
        isBuilt, log = build(tree)
        if not isBuilt:
            print(log, file=sys.stderr)
            return "does not compile", 0
        code, output, seconds = bisect(tree, defect)
        lacks = missing(defect, code, output)
        if show or lacks:
            print(output, end="")
        return lacks, seconds
    finally:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--tree")
    parser.add_argument("--only", default="")
    parser.add_argument("--first", default="", help="the name of the first one to plant")
    parser.add_argument("--show", action="store_true", help="print what bisect says")
    arguments = parser.parse_args()
    tree = os.path.abspath(arguments.tree or os.path.join(HERE, "..", ".."))
    wrong = list(problems(tree))
    for line in wrong:
        print(line)
    if wrong:
        return 1
    chosen = [d for d in DEFECTS if arguments.only in d.name or arguments.only in d.file]
    names = [defect.name for defect in chosen]
    if arguments.first:
        chosen = chosen[names.index(arguments.first):]
    if arguments.list or not arguments.tree:
        for defect in chosen:
            print(f"{defect.name:28} {defect.file}")
        print(f"{len(chosen)} defects")
        return 0
    # An earlier run may have left a program with a defect in it.
    isBuilt, log = build(tree)
    if not isBuilt:
        print(log)
        return 1
    for command in sorted({defect.command for defect in chosen}):
        sound = next(defect for defect in chosen if defect.command == command)
        code, output, _ = bisect(tree, sound)
        if code != 0:
            print(f"{command}: ends with {code} before anything is planted\n{output}")
            return 1
    named = 0
    for defect in chosen:
        lacks, seconds = plant(tree, defect, arguments.show)
        named += not lacks
        print(f"{defect.name:28} {'NOT NAMED: ' + lacks if lacks else 'named'} ({seconds:.1f} s)",
              flush=True)
    print(f"{named} of {len(chosen)} defects were named")
    return named != len(chosen)


if __name__ == "__main__":
    sys.exit(main())
