"""Resumes a run after each of its steps, without any option, and compares the final results.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    resume_everywhere.py TRAINER FOLDER [--every=N] [--skipped=N] -- TRAINER OPTIONS

Trains once with a checkpoint after every step, then resumes from each N-th checkpoint with
only `--resume --out`: states and losses must be those of the whole run. --skipped demands
that loss scaling skipped at least N steps, with a loss that is not finite.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys


def run(command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{command}: exit code {result.returncode}: {result.stderr.strip()}")


def newest(folder):
    name = max(name for name in os.listdir(folder) if name.startswith("step-"))
    with open(os.path.join(folder, name, "state.safetensors"), "rb") as file:
        return name, file.read()


def steps(path):
    def refused(text):
        raise ValueError(f"{text} is not JSON")
    with open(path, encoding="utf-8") as file:
        return [json.loads(line, parse_constant=refused) for line in file]


def main():
    split = sys.argv.index("--")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trainer")
    parser.add_argument("folder")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--skipped", type=int, default=0)
    options = parser.parse_args(sys.argv[1:split])
    os.makedirs(options.folder, exist_ok=True)
    whole, cut, log = (os.path.join(options.folder, name) for name in ("whole", "cut", "log"))
    run([options.trainer, *sys.argv[split + 1:], "--checkpoint-every=1", "--keep=0",
         f"--out={whole}", f"--log-json={log}"])
    expected, lines = newest(whole), steps(log)
    skipped = sum(line["loss"] is None for line in lines)
    if skipped < options.skipped:
        sys.exit(f"{skipped} steps were skipped, not {options.skipped}")
    names = sorted(name for name in os.listdir(whole) if name.startswith("step-"))
    for name in names[:-1:options.every]:
        shutil.rmtree(cut, ignore_errors=True)
        shutil.copytree(os.path.join(whole, name), os.path.join(cut, name))
        rest = os.path.join(options.folder, "rest")
        if os.path.exists(rest):
            os.remove(rest)
        run([options.trainer, "--resume", f"--out={cut}", f"--log-json={rest}"])
        if newest(cut) != expected:
            sys.exit(f"resumed after {name}, the run ends with other states")
        after = int(name.removeprefix("step-"))
        if steps(rest) != [line for line in lines if line.get("step", after + 1) > after]:
            sys.exit(f"resumed after {name}, the run has other losses")
    print(f"{len(names[:-1:options.every])} resumes, {skipped} steps skipped: the same bytes")


if __name__ == "__main__":
    main()
