"""Edits of sources that are made one at a time and taken back, for run.py and bisect.py.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

An edit has a name, a file of the tree, and the text `old` there, which becomes `new`.
"""

import argparse
import contextlib
import os
import subprocess


def misplaced(tree, edits):
    """One line for each edit that cannot be made."""
    for edit in edits:
        path = os.path.join(tree, edit.file)
        count = -1
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                count = file.read().count(edit.old)
        if count != 1:
            yield (f"{edit.name}: {edit.file} "
                   + ("is not there" if count < 0 else f"has its place {count} times"))
    names = [edit.name for edit in edits]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"two are called {name}"


@contextlib.contextmanager
def planted(tree, edit):
    """The tree has the edit within the block."""
    path = os.path.join(tree, edit.file)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(edit.old, edit.new))
        yield
    finally:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def build(tree, targets):
    """Whether the targets could be built, and what ninja printed at the end."""
    built = subprocess.run(["ninja", "-C", os.path.join(tree, "build", "release"), *targets],
                           capture_output=True, text=True)
    return built.returncode == 0, built.stdout[-2000:]


def argumentParser(description):
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print the edits and end")
    parser.add_argument("--tree", help="a clone with a build; nothing else may use it")
    parser.add_argument("--only", default="", help="those with this in their name or file")
    parser.add_argument("--first", default="", help="the name of the first one to plant")
    return parser


def choose(edits, arguments, kind):
    """The chosen edits; none, after printing them, if they are only listed."""
    chosen = [e for e in edits if arguments.only in e.name or arguments.only in e.file]
    if arguments.first:
        chosen = chosen[[e.name for e in chosen].index(arguments.first):]
    if not arguments.list and arguments.tree:
        return chosen
    for edit in chosen:
        print(f"{edit.name:28} {edit.file}")
    print(f"{len(chosen)} {kind}")
    return []
