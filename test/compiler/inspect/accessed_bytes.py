#!/usr/bin/env python3
"""Checks that the profile of a program counts the bytes of kernels as `sinter-inspect kernels` does.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    accessed_bytes.py MODEL

MODEL must have no library calls. Prints the bytes of each kernel: NAME READ WRITTEN.
"""

import collections
import json
import subprocess
import sys


def run(*command):
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    model = sys.argv[1]
    expected = {}
    for kernel in run("sinter-inspect", "kernels", model, "--json"):
        expected[kernel["name"]] = kernel["bytes_read"] + kernel["bytes_written"]
        print(kernel["name"], kernel["bytes_read"], kernel["bytes_written"])
    profile = run("sinter-run", model, "--inputs=random:seed=1", "--profile", "--json")
    moved = collections.Counter()
    for command in profile["commands"]:
        moved[command["kernel"]] += round(command["gb_per_s"] * command["us"] * 1e3)
    if dict(moved) != expected:
        sys.exit(f"the profile has {dict(moved)}, the kernels have {expected}")


if __name__ == "__main__":
    main()
