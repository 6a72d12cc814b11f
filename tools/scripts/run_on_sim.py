#!/usr/bin/env python3
"""Runs end-to-end tests of the CPU again, for the simulated CUDA device.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    run_on_sim.py FOLDER --models=DIR --work=DIR [--seeds=1] [--libraries=all]
                  [--persistent-kernel=off] [--sim=KEY=VALUE,..] [TEST..]

Takes the RUN lines of the .test files in FOLDER (all, or those named), which compile and
run models and compare with references. sinterc compiles for sim instead of the CPU, and
sinter-run runs on sim:0, both with the named libraries. Trainers run on what they were
compiled for. --libraries and --persistent-kernel are options of sinterc. Each test runs once per schedule, with --seeds=N schedules. The arrays and logs
that tests leave must have the same bytes for every schedule.
"""

import argparse
import glob
import hashlib
import os
import shutil
import subprocess
import sys


def commandsOf(path, folder, options):
    scripts = os.path.dirname(os.path.abspath(__file__))
    words = {"%models": options.models, "%scripts": scripts, "%python": sys.executable,
             "%S": os.path.dirname(path), "%t": os.path.join(folder, "t")}
    with open(path) as file:
        lines = [line[4:].strip() for line in file if line.startswith("RUN:")]
    for line in lines:
        for word, value in words.items():
            line = line.replace(word, value)
        device = {"sinterc": "--target=sim", "sinter-run": "--device=sim:0"}
        if word := device.get(line.split(" ")[0]):
            line += (f" {word} --libraries={options.libraries}"
                     f" --persistent-kernel={options.persistent_kernel}")
        yield line


def runTest(path, folder, seed, options):
    """None, or the command that failed and its output."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    environment = dict(os.environ, SINTER_SIM=f"seed={seed}" + options.sim)
    for command in commandsOf(path, folder, options):
        done = subprocess.run(command, shell=True, capture_output=True, text=True,
                              env=environment)
        if done.returncode:
            return f"{command}: {(done.stderr or done.stdout).strip()[-500:]}"
    return None


def results(folder):
    """A hash of every array and log below the folder, by path."""
    found = {}
    for path in glob.glob(os.path.join(folder, "**", "*"), recursive=True):
        if path.endswith((".npz", ".safetensors", "log.json")):
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = hashlib.sha256(file.read()).hexdigest()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("tests", nargs="*")
    parser.add_argument("--models", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--libraries", default="all", help="as sinterc's")
    parser.add_argument("--persistent-kernel", default="off", help="as sinterc's")
    parser.add_argument("--sim", default="", help="more settings of SINTER_SIM")
    options = parser.parse_intermixed_args()
    options.sim = options.sim and "," + options.sim
    paths = [os.path.join(options.folder, name + ".test") for name in options.tests] or \
        sorted(glob.glob(os.path.join(options.folder, "*.test")))
    failed = 0
    for path in paths:
        name = os.path.basename(path)[:-len(".test")]
        before = None
        for seed in range(options.seeds):
            folder = os.path.join(options.work, name)
            problem = runTest(path, folder, seed, options)
            if problem is None:
                now = results(folder)
                if not now:
                    problem = "it leaves nothing to compare"
                elif before not in (None, now):
                    problem = "other bytes than with seed 0: " + ", ".join(
                        key for key in now if now[key] != before.get(key))
                before = before or now
            if problem:
                print(f"{name}, seed {seed}: {problem}")
                failed += 1
                break
    print(f"on sim: {len(paths) - failed} of {len(paths)} tests pass with {options.seeds} "
          f"schedules")
    sys.exit(1 if failed or not paths else 0)


if __name__ == "__main__":
    main()
