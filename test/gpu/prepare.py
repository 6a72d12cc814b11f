#!/usr/bin/env python3
"""Gathers what test/gpu/run.sh needs into one folder, and an archive of it.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    prepare.py --build=BUILD --out=FOLDER [--target=cuda] [--archive=FILE.tar.xz]
               [--limit=44] [--small]

Needs no GPU and no CUDA: programs hold PTX. In the folder: stripped tools with the libraries
they are linked with, programs and trainers, their data and references, what the simulated
device computes, the scripts. --archive also packs it, and fails above --limit MiB. --small is
for the test of this on the simulated device.
"""

import argparse
import glob
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.join(HERE, "..", "..", "tools", "scripts")]

import architectures
import load
import machine
import ops
import preparerows
import simulated
import smoke
import training
from bundle import LIMIT, Bundle

# Those that have something of their own; simulated.py reads what architectures.py compiled.
GROUPS = [training, architectures, simulated, machine, ops]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--archive")
    parser.add_argument("--limit", type=float, default=LIMIT / 2**20)
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    bundle = Bundle(options.build, options.out, options.target, options.small)
    if os.path.exists(bundle.out) and os.listdir(bundle.out):
        sys.exit(f"prepare.py: {bundle.out} is not empty")
    os.makedirs(bundle.out, exist_ok=True)
    for script in [os.path.join(HERE, "run.sh"), *sorted(glob.glob(os.path.join(HERE, "*.py")))]:
        bundle.add(script)
    bundle.addTools(["sinter-run", load.PROBE])
    for group in GROUPS:
        group.prepare(bundle)
    preparerows.prepare(bundle.build, bundle.out, bundle.target, bundle.small)
    smoke.prepare(bundle)
    load.prepare(bundle)
    files = bundle.files()
    print(f"{bundle.out}: {len(files)} files, {sum(map(os.path.getsize, files)) / 2**20:.1f} MiB")
    if options.archive:
        bundle.pack(options.archive, options.limit * 2**20)


if __name__ == "__main__":
    main()
