#!/usr/bin/env python3
"""Counts the kernels and library calls of one run. Reads `sinter-inspect kernels --json` on stdin.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    count_kernels.py [--entry=main] [--kind=KIND]... [--minus=FILE] --at-most=N | --exactly=N

Counts launches and calls, only of the given kinds if any, minus those in FILE, which is the
same list of a smaller model. Copies and fills are listed separately. Fails and prints the list
if the count is not allowed.
"""

import argparse
import json
import sys


MEMORY = ("copy", "fill")  # commands that need no kernel


def rowsOf(kernels, options):
    return [(kernel["entries"].get(options.entry, 0), kernel["kind"], kernel["name"])
            for kernel in kernels if not options.kind or kernel["kind"] in options.kind]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entry", default="main")
    parser.add_argument("--kind", action="append")
    parser.add_argument("--minus", metavar="FILE")
    bound = parser.add_mutually_exclusive_group(required=True)
    bound.add_argument("--at-most", type=int)
    bound.add_argument("--exactly", type=int)
    options = parser.parse_args()
    kernels = json.load(sys.stdin)
    if not any(options.entry in kernel["entries"] for kernel in kernels):
        sys.exit(f"count_kernels: nothing runs in entry '{options.entry}'")
    rows = rowsOf(kernels, options)
    count = sum(row[0] for row in rows if row[1] not in MEMORY)
    if options.minus:
        with open(options.minus, encoding="utf-8") as file:
            count -= sum(row[0] for row in rowsOf(json.load(file), options)
                         if row[1] not in MEMORY)
    memory = sum(row[0] for row in rows if row[1] in MEMORY)
    allowed = options.at_most if options.exactly is None else options.exactly
    good = count <= allowed if options.exactly is None else count == allowed
    print(f"{options.entry}: {count} kernels and calls, "
          f"{'at most' if options.exactly is None else 'exactly'} {allowed} are expected; "
          f"{memory} copies and fills")
    if not good:
        for row in rows:
            print("  %3d x %-12s %s" % row)
        sys.exit(1)


if __name__ == "__main__":
    main()
