#!/usr/bin/env python3
"""Counts the PTX instructions of each kernel for one element that it stores.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    instruction_counts.py PTX [--at-most=KERNEL:N,...]

Only for kernels without loops, whose threads all store the same number of 16-bit elements.
--at-most fails if a kernel whose name contains KERNEL has more than N instructions for an
element, or if no kernel has such a name.
"""

import argparse
import re
import sys


def counts(ptx):
    """{kernel: instructions for an element} of the kernels in `ptx`."""
    result = {}
    for kernel, body in re.findall(r"\.entry (\w+)\((.*?)\n\}", ptx, re.S):
        instructions = re.findall(r"^\s+(?:@!?%p\d+ )?([a-z]\w*)[.\w]*\s", body, re.M)
        stored = sum(int(count or 1) * int(bits) // 16 for count, bits in
                     re.findall(r"st\.global(?:\.v(\d))?\.[a-z](\d+)", body))
        if "bra" in instructions:
            sys.exit(f"{kernel} has branches: its instructions cannot be counted")
        if not stored:
            sys.exit(f"{kernel} stores nothing")
        result[kernel] = len(instructions) / stored
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ptx")
    parser.add_argument("--at-most", default="")
    options = parser.parse_args()
    with open(options.ptx, encoding="utf-8") as file:
        found = counts(file.read())
    for kernel, number in found.items():
        print(f"{kernel}: {number:.1f} instructions for an element")
    for bound in filter(None, options.at_most.split(",")):
        name, most = bound.split(":")
        matching = [number for kernel, number in found.items() if name in kernel]
        if not matching:
            sys.exit(f"no kernel is called {name}")
        if max(matching) > float(most):
            sys.exit(f"{name}: {max(matching):.1f} instructions for an element, "
                     f"more than {most}")


if __name__ == "__main__":
    main()
