#!/usr/bin/env python3
"""Plants silent defects, one at a time, and checks that a test finds each.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    run.py --list                          the mutations, and whether their places are still there
    run.py --tree=FOLDER [--only=TEXT] [--first=NAME]   plants them in a built tree, which is restored

A mutation changes one place of the sources so that an error goes unreported: an attribute
that is not read, an option that is forgotten, an index that is not checked (silences.py).
The tests that are named with it run on the changed build; one of them must fail.
FOLDER is a clone of the project with a build in build/release; nothing else may use it.
"""

import os
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import planting
from silences import SILENCES

LIT = "/usr/lib/llvm-19/build/utils/lit/lit.py"
TOOLS = ["sinterc", "sinter-run", "sinter-inspect"]


def problems(tree):
    """One line for each mutation that cannot be planted."""
    yield from planting.misplaced(tree, SILENCES)
    for silence in SILENCES:
        for check in silence.checks:
            if "/" in check and not os.path.exists(os.path.join(tree, check)):
                yield f"{silence.name}: {check} is not there"
        if silence.old == silence.new:
            yield f"{silence.name}: changes nothing"


def targets(silence):
    """What the checks run: `program` or `program:test name` for unit tests, else lit."""
    wanted = set()
    for check in silence.checks:
        wanted.update(TOOLS if "/" in check else [check.split(":")[0]])
    return sorted(wanted)


def findProgram(tree, name):
    for folder, _, files in os.walk(os.path.join(tree, "build", "release")):
        if name in files and os.access(os.path.join(folder, name), os.X_OK):
            return os.path.join(folder, name)
    sys.exit(f"{name} was not built")


def fails(tree, check):
    build = os.path.join(tree, "build", "release")
    if "/" in check:
        folder, name = os.path.split(os.path.relpath(check, "test"))
        command = [sys.executable, LIT, "-q", os.path.join(build, "test", folder),
                   f"--filter=/{re.escape(name)}$"]
    else:
        program, _, test = check.partition(":")
        command = [findProgram(tree, program), "--abort"] + ([test] if test else [])
    # A check may leave processes that never end.
    process = subprocess.Popen(command, cwd=tree, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        return process.wait(timeout=900) != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


def build(tree, silences):
    return planting.build(
        tree, sorted({target for silence in silences for target in targets(silence)}))


def plant(tree, silence):
    """The check that failed, "" if none did; None where it does not compile."""
    with planting.planted(tree, silence):
        isBuilt, log = build(tree, [silence])
        if not isBuilt:
            print(log, file=sys.stderr)
            return None
        return next((check for check in silence.checks if fails(tree, check)), "")


def main():
    arguments = planting.argumentParser(__doc__).parse_args()
    tree = os.path.abspath(arguments.tree or os.path.join(HERE, "..", ".."))
    wrong = list(problems(tree))
    for line in wrong:
        print(line)
    if wrong:
        return 1
    chosen = planting.choose(SILENCES, arguments, "mutations")
    if not chosen:
        return 0
    # An earlier run may have left programs with a mutation in them.
    isBuilt, log = build(tree, chosen)
    if not isBuilt:
        print(log)
        return 1
    # What fails anyway hears nothing.
    for check in sorted({check for silence in chosen for check in silence.checks}):
        if fails(tree, check):
            print(f"{check} fails before anything is planted")
            return 1
    heard = 0
    for silence in chosen:
        begin = time.time()
        check = plant(tree, silence)
        heard += bool(check)
        result = {None: "DOES NOT COMPILE", "": "NOT HEARD"}.get(check, f"heard by {check}")
        print(f"{silence.name:28} {result} ({time.time() - begin:.0f} s)", flush=True)
    print(f"{heard} of {len(chosen)} mutations were heard")
    return heard != len(chosen)


if __name__ == "__main__":
    sys.exit(main())
