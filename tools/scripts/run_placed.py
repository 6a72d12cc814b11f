#!/usr/bin/env python3
"""Runs end-to-end tests again, as programs that span several devices.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    run_placed.py FOLDER --models=DIR --work=DIR --pins=FILE [--seeds=1] [TEST..]

A line of the file of pins is `TEST: RULE..` with rules of --place. Without rules, the compiler
decides placement. So it does with `share=S`, which sets --memory-limit to the share S of what
one device takes; this must move something to a second device. The RUN lines of FOLDER/TEST.test,
which compare with references, run first on sim:0 alone, then with the devices sim:0, sim:1 and
cpu and the rules, once per schedule. Without a rule for the CPU, arrays and logs must have the
bytes of sim:0 alone; with one, the same bytes for every schedule. sinter-inspect must name the
reason for every region, and the copies between devices.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys

import run_on_sim
from npz import readNpz

DEVICES = "sim:0,sim:1,cpu"


def placed(command, rules):
    """The command, changed for a program on several devices."""
    if not command.startswith(("sinterc ", "sinter-run ")):
        return command
    flags = [rule if rule.startswith("--") else f"'--place={rule}'" for rule in rules]
    return " ".join([command, "--target=" + DEVICES] + flags)


def run(commands, folder, seed):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    environment = dict(os.environ, SINTER_SIM=f"seed={seed}")
    for command in commands:
        done = subprocess.run(command, shell=True, capture_output=True, text=True,
                              env=environment)
        if done.returncode:
            return f"{command}: {(done.stderr or done.stdout).strip()[-500:]}"
    return None


def inspected(commands, rules):
    """The placement of the first command that compiles, or an error."""
    command = next(c for c in commands if c.startswith(("sinterc ", "sinter-run ")))
    words = re.sub(r"^(sinter-run|sinterc)", "sinter-inspect placement --json",
                   placed(command, rules)).split(" ")
    kept = [w for i, w in enumerate(words)
            if not re.match(r"--(inputs|reference|rtol|atol|outputs)=", w) and w != "-o"
            and words[i - 1] != "-o"]
    # The sizes that sinter-run takes from the arrays.
    for word in words:
        if word.startswith("--inputs="):
            for name, array in readNpz(word[len("--inputs="):]).items():
                kept.append(f"'--shape={name}={'x'.join(map(str, array.shape))}'")
    done = subprocess.run(" ".join(kept), shell=True, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()[-500:]


def checkPlan(commands, rules):
    """What is wrong with the placement of the first command that compiles."""
    found = inspected(commands, rules)
    if isinstance(found, str):
        return found
    reasons = {"default": "the default device", "pinned": "pinned by --place=",
               "memory": "does not fit, ", "neighbours": "next to its neighbours"}
    for region in found["regions"]:
        if not region["nodes"] or not region["why"].startswith(reasons[region["reason"]]):
            return f"not explained: {region}"
    nodes = [node for region in found["regions"] for node in region["nodes"]]
    if len(set(nodes)) != len(nodes):
        return "a node is in two regions"
    devices = {region["device"] for region in found["regions"]}
    for rule in rules:
        if rule.startswith("--memory-limit="):
            limit = int(re.search(r"[0-9]+", rule)[0])
            above = [m for m in found["memory"]
                     if m["device"] != "cpu" and m["bytes"] > limit]
            if len(devices) < 2 or above:
                return f"{rule}: on {sorted(devices)}, above it {above}"
        elif not any(region["device"] == rule.rsplit("=", 1)[1] and
                     region["why"].endswith(rule) for region in found["regions"]):
            return f"no region is pinned by {rule}"
    if not rules and devices != {"sim:0"}:
        return f"without a reason on {sorted(devices)}"
    for copy in found["copies"]:
        if copy["from"] == copy["to"] or copy["bytes"] <= 0 or not copy["nodes"]:
            return f"no crossing: {copy}"
    reached = {copy["to"] for copy in found["copies"]} | \
        {copy["from"] for copy in found["copies"]}
    # A region that reads only inputs, and whose results no other region reads, needs no copies.
    if len(devices) > 1 and not reached:
        return f"no copy crosses between {sorted(devices)}"
    return None


# The largest workspace that the simulated libraries request.
WORKSPACE = 4096


def limitOf(commands, share):
    """Flags: --memory-limit with that share of what the program takes on one device; a bound on
    the workspace of library calls, which would else be most of so small a program; and no
    rematerialization."""
    found = inspected(commands, [])
    if isinstance(found, str):
        raise SystemExit(found)
    memory = found["memory"][0]
    limit = share * (memory["bytes"] - memory["workspace"]) + WORKSPACE
    return "--memory-limit=%d --workspace=%d --remat=none" % (limit, WORKSPACE)


def testOne(name, rules, options):
    """None, or what went wrong."""
    path = os.path.join(options.folder, name + ".test")
    folder = os.path.join(options.work, name)
    settings = argparse.Namespace(models=options.models, libraries="all",
                                  persistent_kernel="off")
    alone = list(run_on_sim.commandsOf(path, folder, settings))
    commands = [re.sub(r" --(target=sim|device=sim:0|libraries=all)(?= |$)", "", c)
                for c in alone]
    # The compared arrays are left by the tests, or requested here.
    leaves = f" --outputs={folder}/out.npz"
    add = lambda c: c + leaves if c.startswith("sinter-run ") and "--outputs" not in c else c
    rules = [limitOf(commands, float(rule[6:])) if rule.startswith("share=") else rule
             for rule in rules]
    problem = run([add(c) for c in alone], folder, 0)
    if problem:
        return "on one device: " + problem
    before = run_on_sim.results(folder)
    if not before:
        return "it leaves nothing to compare"
    if any(rule.endswith("=cpu") for rule in rules):
        before = None
    problem = checkPlan(commands, rules)
    for seed in range(options.seeds):
        if problem:
            return problem
        problem = run([placed(add(c), rules) for c in commands], folder, seed)
        now = run_on_sim.results(folder)
        if problem is None and before not in (None, now):
            problem = f"seed {seed}: other bytes: " + ", ".join(
                key for key in before if now.get(key) != before[key])
        before = before or now
    return problem


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("tests", nargs="*")
    parser.add_argument("--models", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--pins", required=True)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_intermixed_args()
    with open(options.pins) as file:
        lines = [line.split("#")[0].strip() for line in file]
    pins = [(line.split(":")[0], line.split(":", 1)[1].split()) for line in lines if line]
    failed = count = 0
    for name, rules in pins:
        if options.tests and name not in options.tests:
            continue
        count += 1
        problem = testOne(name, rules, options)
        if problem:
            print(f"{name} {' '.join(rules)}: {problem}")
            failed += 1
    print(f"placed: {count - failed} of {count} pass with {options.seeds} schedules")
    sys.exit(1 if failed or not count else 0)


if __name__ == "__main__":
    main()
