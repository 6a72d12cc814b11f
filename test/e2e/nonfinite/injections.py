"""Checks that NaNs injected at random commands and steps of a run are found there.

injections.py TRAINER FOLDER COUNT OPTION..: COUNT runs with --check-nonfinite=op, each with
one injection, and a tenth as many with =step. With op every injection must be found in its
step with the right command; with step, every injection that reaches the loss or a state.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import json
import os
import random
import re
import subprocess
import sys

STEPS = 6  # injections are in 2 .. STEPS: the first step shows what is the model's own
FOUND = re.compile(r"step (\d+) .*: '(.*?)' made NaN .*command (\d+) of entry '(\w+)'")


def commands(trainer):
    """(entry, index, nodes) of all commands of a step that compute something."""
    text = subprocess.run(["sinter-inspect", "plan", trainer, "--json"], check=True,
                          capture_output=True).stdout
    return [(program["name"], i, ",".join(command["nodes"]))
            for program in json.loads(text) if program["name"] != "eval"
            for i, command in enumerate(program["commands"])]


def train(trainer, folder, options, check, entry, index, step):
    run = subprocess.run([os.path.abspath(trainer), *options, f"--steps={STEPS}", "--quiet",
                          f"--check-nonfinite={check}",
                          f"--inject-nonfinite={entry}:{index}@{step}"],
                         cwd=folder, capture_output=True, text=True)
    return run.returncode, run.stderr


def main():
    trainer, folder, count, options = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
    draw = random.Random(count)
    known = commands(trainer)
    integers = set()  # commands that compute no floats
    found = {"op": 0, "step": 0, "lost": 0}
    while found["op"] < count or found["step"] + found["lost"] < count // 10:
        check = "op" if found["op"] < count else "step"
        entry, index, nodes = draw.choice(known)
        step = draw.randrange(2, STEPS + 1)
        if (entry, index) in integers:
            continue
        code, message = train(trainer, folder, options, check, entry, index, step)
        if code == 2 and "computes floats" in message:
            integers.add((entry, index))
            continue
        if check == "step" and code == 0:
            found["lost"] += 1  # a value that nobody uses
            continue
        match = FOUND.search(message)
        wanted = (str(step), nodes, str(index), entry)
        assert code == 1 and match and match.groups() == wanted, (check, wanted, code, message)
        found[check] += 1
    print(f"{found['op']} of {count} found by op; by step {found['step']}, {found['lost']} reached "
          f"neither loss nor state")


if __name__ == "__main__":
    main()
