"""Checks that test models give the same bytes for any number of threads, in fp32 and 16 bits.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    repeats.py FOLDER --models=DIR --work=DIR [--precisions=fp32,bf16] [--threads=1,2,3]
               [--repeats=10] [TEST..]

Takes the RUN lines of the .test files in FOLDER (all, or those named) that compile, train,
export and run. A trainer is compiled once per precision; every command is run --repeats times
with each number of threads. Logs, states and outputs must have the same bytes each time, and
16 bits must differ from fp32, which shows that they were used. All models of both folders:

    for path in inference training; do
      python3 test/e2e/determinism/repeats.py test/e2e/$path --models=test/models --work=WORK
    done
"""

import argparse
import glob
import hashlib
import os
import shutil
import subprocess
import sys

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools",
                       "scripts")


class Failure(Exception):
    """One line for the user."""


def linesOf(path, folder, options):
    """The commands of a test: those of sinterc, and those that run something. Comparisons with
    references are the test's own affair."""
    words = {"%models": options.models, "%scripts": SCRIPTS, "%S": os.path.dirname(path),
             "%t": os.path.join(folder, "t")}
    compiled, run = [], []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("RUN:"):
                continue
            line = line[4:].strip()
            isTrainer = line.startswith("%t/") or line.startswith("sinter-run ")
            for word, value in words.items():
                line = line.replace(word, value)
            if line.startswith("sinterc "):
                compiled.append(line)
            elif isTrainer:
                run.append(line)
    return compiled, run


def execute(command):
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"{command}: {(done.stderr or done.stdout).strip()[-500:]}")


def hashes(folder):
    """Of the arrays and logs in `folder`, by name; they are removed."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "**", "*"), recursive=True)):
        if path.endswith((".npz", "states.safetensors", "log.json")):
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = hashlib.sha256(file.read()).hexdigest()
            os.remove(path)
    return found


def check(path, precision, options):
    """The hashes, which all runs agree on."""
    name = os.path.basename(path)[:-len(".test")]
    folder = os.path.join(options.work, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "t"))
    compiled, run = linesOf(path, folder, options)
    for line in compiled:
        execute(f"{line} --precision={precision}")
    first = None
    for threads in options.threads.split(","):
        for repeat in range(options.repeats):
            shutil.rmtree(os.path.join(folder, "t", "run"), ignore_errors=True)
            for line in run:
                if line.startswith("sinter-run "):
                    line += f" --precision={precision}"
                execute(line + ("" if " export " in line else f" --threads={threads}"))
            now = hashes(folder)
            if not now:
                raise Failure("it leaves nothing to compare")
            first = first or now
            if now != first:
                raise Failure(f"{threads} threads, repeat {repeat + 1}: other bytes: "
                              + ", ".join(k for k in now if now[k] != first.get(k)))
    shutil.rmtree(folder, ignore_errors=True)
    return first


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("tests", nargs="*")
    parser.add_argument("--models", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--precisions", default="fp32,bf16")
    parser.add_argument("--threads", default="1,2,3")
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_intermixed_args()
    paths = [os.path.join(options.folder, name + ".test") for name in options.tests] or \
        sorted(glob.glob(os.path.join(options.folder, "*.test")))
    same = failed = 0
    for path in paths:
        name, before = os.path.basename(path)[:-len(".test")], {}
        for precision in options.precisions.split(","):
            try:
                found = check(path, precision, options)
                if found in before.values():
                    raise Failure("the same bytes as in another precision")
                before[precision] = found
                same += 1
            except Failure as failure:
                print(f"{name} in {precision}: {failure}", flush=True)
                failed += 1
    print(f"same bytes with {options.threads} threads, {options.repeats} times each: "
          f"{same} of {same + failed} programs")
    sys.exit(1 if failed or not paths else 0)


if __name__ == "__main__":
    main()
