#!/usr/bin/env python3
"""Counts what makes the sources hard to change: one line for each number.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    structure_counts.py [--root=FOLDER] [--list]

Counts comparisons of device kinds by name outside of the backends and tools, lists of op
classes in passes, sources for each folder, include arrows between folders, and the longest
function. --list shows the places. Run it on two checkouts to compare them.
"""

import argparse
import collections
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOWERS = ("ir", "passes", "compiler", "backends", "runtime", "tools")
KIND = re.compile(r'(?:[=!]=\s*"(?:cpu|cuda|sim)"|"(?:cpu|cuda|sim)"\s*[=!]=|'
                  r'strcmp\([^;]*"(?:cpu|cuda|sim)")')
# isa<>, Case<> and the like over three classes or more.
CLASS_LIST = re.compile(r"\b(?:isa|isa_and_present|isa_and_nonnull|Case|IsaPred)<"
                        r"\s*[\w:]+\s*,\s*[\w:]+\s*,[^>;]*>")
INCLUDE = re.compile(r'^#include "((?:%s)/[^"]+)"' % "|".join(TOWERS), re.M)


def sources(root):
    for tower in TOWERS:
        for folder, folders, names in os.walk(os.path.join(root, tower)):
            folders.sort()
            for name in sorted(names):
                if name.endswith((".cpp", ".h", ".c")):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as file:
                        yield os.path.relpath(path, root), file.read()


def places(path, text, pattern):
    return [f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
            for match in pattern.finditer(text)]


def functions(path, text):
    """(lines, place) of what begins in the first column and ends with a brace there."""
    begin = None
    for number, line in enumerate(text.splitlines(), 1):
        if begin is None and line.endswith("{") and not line.startswith(
                (" ", "namespace", "class", "struct", "enum", "extern", "static const")):
            begin = number
        elif line.startswith("}"):
            if begin and line == "}":
                yield number - begin + 1, f"{path}:{begin}"
            begin = None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=ROOT)
    parser.add_argument("--list", action="store_true", help="show the places")
    options = parser.parse_args()
    kinds, lists, arrows, longest = [], [], set(), (0, "")
    folders = collections.Counter()
    for path, text in sources(options.root):
        folder = os.path.dirname(path)
        folders[folder] += 1
        if not path.startswith(("backends/", "tools/")):
            kinds += places(path, text, KIND)
        if path.startswith("passes/"):
            lists += places(path, text, CLASS_LIST)
        for target in INCLUDE.findall(text):
            if os.path.dirname(target) != folder:
                arrows.add((folder, os.path.dirname(target)))
        longest = max([longest, *functions(path, text)])
    if not folders:
        sys.exit(f"{options.root}: no sources")
    largest, most = folders.most_common(1)[0]
    print(f"comparisons of device kinds by name: {len(kinds)}")
    print(f"lists of three op classes or more in passes: {len(lists)}")
    print(f"folders: {len(folders)}; most sources in one: {most} ({largest})")
    print(f"include arrows between folders: {len(arrows)}")
    print(f"longest function: {longest[0]} lines ({longest[1]})")
    if options.list:
        print("\n".join(kinds + lists))


if __name__ == "__main__":
    main()
