#!/usr/bin/env python3
"""Measures how far the activation memory of training steps can be reduced, and the cost.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    memory_sweep.py --build=BUILD FOLDER [NAME...]

FOLDER has the models of make_training_models.py. Each is planned (nothing is run) with
decreasing --memory-limit. Activation memory (the peak without parameters, optimizer state
and inputs) goes from 100 % (nothing is recomputed) down to 50 % (GPT-2: 35 %), and once
below the smallest possible.
Checks that every limit is kept; that at 50 % the step has at most 30 % more operations; that
remat and plan take less than 5 s; and that below the smallest limit sinterc ends with 6 and
names limits that do fit. Prints a table and `N passed, M failed`.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

MODELS = {
    "resnet50": (["--batch=32", "--optimizer=sgd", "--momentum=0.9"], 50),
    "bert-base": (["--batch=16", "--optimizer=adamw"], 50),
    "gpt2": (["--batch=8", "--optimizer=adamw", "--loss=cross-entropy:axis=-1"], 35),
}
MOST_OPERATIONS, MOST_SECONDS = 30.0, 5.0


class Plan:
    """What sinterc says of one plan."""

    def __init__(self, compiler, model, options, limit=None):
        with tempfile.TemporaryDirectory() as folder:
            remarks = os.path.join(folder, "remarks.json")
            command = [compiler, model, "--train", "--stop-after=plan", "-o", os.devnull,
                       "--workspace=32MiB", "--time-report", "--remarks=" + remarks, *options]
            if limit:
                command.append(f"--memory-limit={limit}")
            done = subprocess.run(command, capture_output=True, text=True)
            self.code, self.text = done.returncode, done.stderr
            self.total = self.arena = self.more = 0
            self.again = 0
            with open(remarks) as file:
                for line in file:
                    self.read(json.loads(line))
        times = dict(re.findall(r"^(\w+) +([\d.]+) ms", self.text, re.M))
        self.seconds = sum(float(times.get(p, 0)) for p in ("remat", "plan")) / 1000

    def read(self, remark):
        text = remark["text"]
        if remark["pass"] == "memory":
            self.total, self.arena = map(
                int, re.search(r"(\d+) bytes, of which arena (\d+)", text).groups())
        if remark["pass"] == "rematerialize" and text.startswith("@step"):
            found = re.search(r"with (\d+) kernels run again, ([\d.]+) % more", text)
            if found:
                self.again, self.more = int(found.group(1)), float(found.group(2))


def sweep(compiler, name, model):
    """Sentences about what is wrong."""
    options, least = MODELS[name]
    first = Plan(compiler, model, [*options, "--remat=none"])
    if first.code:
        return [first.text.strip()]
    fixed, problems = first.total - first.arena, []
    print(f"{name}: activation memory {first.arena / 2**20:.1f} MiB, parameters, state and"
          f" inputs {fixed / 2**20:.1f} MiB, planned in {first.seconds:.2f} s", flush=True)
    for percent in range(95, least - 1, -5):
        limit = fixed + first.arena * percent // 100
        plan = Plan(compiler, model, options, limit)
        print(f"  {percent:3d} %: {100 * plan.arena / first.arena:5.1f} % used,"
              f" {plan.again:4d} kernels again, {plan.more:5.2f} % more operations,"
              f" planned in {plan.seconds:.2f} s", flush=True)
        if plan.code or plan.total > limit:
            problems.append(f"{percent} %: exit {plan.code}, {plan.total} bytes of {limit}")
        if percent == 50 and plan.more > MOST_OPERATIONS:
            problems.append(f"50 %: {plan.more} % more operations")
        if plan.seconds > MOST_SECONDS:
            problems.append(f"{percent} %: planned in {plan.seconds:.2f} s")
    return problems + checkFloor(compiler, model, options, fixed, first.arena)


def checkFloor(compiler, model, options, fixed, arena):
    below = Plan(compiler, model, options, fixed + arena // 10)
    limit = re.search(r"the smallest limit that fits is (\d+) bytes", below.text)
    batch = re.search(r"the largest batch that fits is (\d+)", below.text)
    if below.code != 6 or not limit:
        return [f"10 %: exit {below.code}, {below.text.strip()[:300]}"]
    problems = []
    floor = int(limit.group(1))
    if Plan(compiler, model, options, f"{floor}").code:
        problems.append(f"the floor of {floor} bytes does not fit")
    if Plan(compiler, model, options, f"{floor - 1}").code != 6:
        problems.append(f"less than the floor of {floor} bytes fits")
    text = f"  floor: {100 * (floor - fixed) / arena:5.1f} %"
    if batch:
        size = int(batch.group(1))
        smaller = [o for o in options if not o.startswith("--batch")] + [f"--batch={size}"]
        if Plan(compiler, model, smaller, fixed + arena // 10).code:
            problems.append(f"a batch of {size} does not fit")
        text += f"; at 10 % a batch of {size} fits"
    print(text, flush=True)
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*", default=[])
    options = parser.parse_args()
    compiler = os.path.join(options.build, "bin", "sinterc")
    failed, names = 0, options.names or list(MODELS)
    for name in names:
        problems = sweep(compiler, name, os.path.join(options.folder, name + ".onnx"))
        for problem in problems:
            print(f"  {name}: {problem}")
        failed += bool(problems)
    print(f"{len(names) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
