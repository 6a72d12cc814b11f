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

import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import planting
from defects import DEFECTS

LIMIT_S = 300  # of one bisection


def problems(tree):
    """One line for each defect that cannot be planted."""
    yield from planting.misplaced(tree, DEFECTS)
    for defect in DEFECTS:
        if not defect.names:
            yield f"{defect.name}: expects nothing"
        if not os.path.exists(modelOf(tree, defect)):
            yield f"{defect.name}: {modelOf(tree, defect)} is not there"


def modelOf(tree, defect):
    model = defect.command.split()[0]
    folder = "mutations" if "/" in model else "models"
    return os.path.join(tree, "test", folder, model)


def build(tree):
    return planting.build(tree, ["sinter-inspect"])


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
    with planting.planted(tree, defect):
        isBuilt, log = build(tree)
        if not isBuilt:
            print(log, file=sys.stderr)
            return "does not compile", 0
        code, output, seconds = bisect(tree, defect)
        lacks = missing(defect, code, output)
        if show or lacks:
            print(output, end="")
        return lacks, seconds


def main():
    parser = planting.argumentParser(__doc__)
    parser.add_argument("--show", action="store_true", help="print what bisect says")
    arguments = parser.parse_args()
    tree = os.path.abspath(arguments.tree or os.path.join(HERE, "..", ".."))
    wrong = list(problems(tree))
    for line in wrong:
        print(line)
    if wrong:
        return 1
    chosen = planting.choose(DEFECTS, arguments, "defects")
    if not chosen:
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
