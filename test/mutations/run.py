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

import argparse
import os
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from silences import SILENCES

LIT = "/usr/lib/llvm-19/build/utils/lit/lit.py"
TOOLS = ["sinterc", "sinter-run", "sinter-inspect"]


def places(tree, silence):
    """How often the place is in the file."""
    with open(os.path.join(tree, silence.file), encoding="utf-8") as file:
        return file.read().count(silence.old)


def problems(tree):
    """One line for each mutation that cannot be planted."""
    for silence in SILENCES:
        path = os.path.join(tree, silence.file)
        count = places(tree, silence) if os.path.exists(path) else -1
        if count != 1:
            yield (f"{silence.name}: {silence.file} "
                   + ("is not there" if count < 0 else f"has its place {count} times"))
        for check in silence.checks:
            if "/" in check and not os.path.exists(os.path.join(tree, check)):
                yield f"{silence.name}: {check} is not there"
        if silence.old == silence.new:
            yield f"{silence.name}: changes nothing"
    names = [silence.name for silence in SILENCES]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"two mutations are called {name}"


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


def compile_(tree, silences):
    wanted = sorted({target for silence in silences for target in targets(silence)})
    built = subprocess.run(["ninja", "-C", os.path.join(tree, "build", "release")] + wanted,
                           capture_output=True, text=True)
    return built.returncode == 0, built.stdout[-2000:]


def plant(tree, silence):
    """The check that failed, "" if none did; None where it does not compile."""
    path = os.path.join(tree, silence.file)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(silence.old, silence.new))
        isBuilt, log = compile_(tree, [silence])
        if not isBuilt:
            print(log, file=sys.stderr)
            return None
        return next((check for check in silence.checks if fails(tree, check)), "")
    finally:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--tree")
    parser.add_argument("--only", default="")
    parser.add_argument("--first", default="", help="the name of the first one to plant")
    arguments = parser.parse_args()
    tree = os.path.abspath(arguments.tree or os.path.join(HERE, "..", ".."))
    wrong = list(problems(tree))
    for line in wrong:
        print(line)
    if wrong:
        return 1
    chosen = [s for s in SILENCES if arguments.only in s.name or arguments.only in s.file]
    names = [silence.name for silence in chosen]
    if arguments.first:
        chosen = chosen[names.index(arguments.first):]
    if arguments.list or not arguments.tree:
        for silence in chosen:
            print(f"{silence.name:28} {silence.file}")
        print(f"{len(chosen)} mutations")
        return 0
    # An earlier run may have left programs with a mutation in them.
    isBuilt, log = compile_(tree, chosen)
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
