#!/usr/bin/env python3
"""Counts how often all blocks of persistent kernels wait for each other, and compares results.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    joined_stages.py FOLDER NAME=WAITS..

The program FOLDER/NAME.mlir must be one kernel with WAITS waits, each of which counts the
blocks by an atomic addition; the end of the kernel has another one. On the simulated
device, it must give the same bytes as separate kernels under each of three schedules.
"""

import os
import re
import subprocess
import sys


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr or done.stdout}")


def main():
    folder, *programs = sys.argv[1:]
    for name, waits in (program.split("=") for program in programs):
        base = os.path.join(folder, name)
        run("sinterc", base + ".mlir", "-o", base + ".ptx", "--emit=ptx", "--target=cuda",
            "--gpu-arch=sm_90", "--persistent-kernel=on")
        with open(base + ".ptx", encoding="utf-8") as file:
            additions = len(re.findall(r"\batom\S*\.add\b", file.read()))
        if additions - 1 != int(waits):
            sys.exit(f"{name}: {additions - 1} waits, not {waits}")
        on_sim = ("sinter-run", base + ".mlir", "--inputs=random:seed=3", "--device=sim:0")
        run(*on_sim, "--libraries=none", f"--outputs={base}.npz")
        for seed in range(3):
            run(*on_sim, "--persistent-kernel=on", f"--sim-seed={seed}",
                f"--reference={base}.npz", "--rtol=0", "--atol=0")


if __name__ == "__main__":
    main()
