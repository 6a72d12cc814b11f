#!/usr/bin/env python3
"""Counts the barriers and predicates of kernels whose removal no run detects.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Runs sinter-sim-mutation (Mutation.cpp) on programs and adds up the results. Survivors are
listed; a removal that can never change anything also counts as a survivor.

    mutation.py --build=build/release [--least=95] [--list=FILE [--every=N]] [MODEL [FLAG..]]

Each line of FILE is a model of --models and flags of sinterc; --every=3 takes the first, the
fourth, the seventh and so on. A model has its inputs in
MODEL-in.npz beside it, or gets random ones.
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build folder")
    parser.add_argument("--least", type=float, default=95, help="per cent to be found")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", help="programs, one a line")
    parser.add_argument("--every", type=int, default=1, help="takes one of so many programs")
    parser.add_argument("--models", default="", help="folder of the list's models")
    options, program = parser.parse_known_args()
    tool = os.path.join(options.build, "test", "backends", "sim", "sinter-sim-mutation")
    programs = [program] if program else []
    if options.list:
        with open(options.list, encoding="utf-8") as file:
            lines = [line.split() for line in file if line.strip() and line[0] != "#"]
            programs += lines[::options.every]
    if not programs:
        parser.error("no program is given")

    def check(words):
        return subprocess.run([tool, os.path.join(options.models, words[0]), *words[1:]],
                              capture_output=True, text=True)

    found = total = 0
    isBroken = False
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for words, done in zip(programs, pool.map(check, programs)):
            print((done.stdout + done.stderr).strip(), flush=True)
            score = re.search(r": (\d+) of (\d+) found$", done.stdout, re.M)
            if done.returncode or not score:
                print(f"{' '.join(words)}: exit code {done.returncode}")
                isBroken = True
                continue
            found += int(score.group(1))
            total += int(score.group(2))
    score = 100 * found / total if total else 100
    print(f"mutation score: {score:.1f} % of {total}")
    return 1 if isBroken or score < options.least else 0


if __name__ == "__main__":
    sys.exit(main())
