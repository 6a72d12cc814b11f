#!/usr/bin/env python3
"""Runs end-to-end tests again, as programs that span several devices.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    run_placed.py FOLDER --models=DIR --work=DIR --pins=FILE [--seeds=1] [TEST..]

A line of the file of pins is `TEST: RULE..` (rules of --place; none: placement is left to
the compiler). The RUN lines of FOLDER/TEST.test, which compare with references, are done on
sim:0 alone first, then with the devices sim:0, sim:1 and cpu and the rules, once per
schedule. Without a rule for the CPU, arrays and logs must be the bytes of sim:0 alone; with
one, the same bytes for every schedule. Each plan must have a copy for every region that the
log names beyond the first, and the log a reason for each.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys

import run_on_sim

DEVICES = "sim:0,sim:1,cpu"


def placed(command, rules):
    """The command, for a program on several devices."""
    if not command.startswith(("sinterc ", "sinter-run ")):
        return command
    return " ".join([command, "--target=" + DEVICES] + [f"'--place={rule}'" for rule in rules])


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


def checkPlan(commands, rules):
    """What is wrong with the plan and the log of the first command that compiles."""
    command = next(c for c in commands if c.startswith(("sinterc ", "sinter-run ")))
    words = re.sub(r"^sinter-run", "sinterc", placed(command, rules)).split(" ")
    kept = [w for i, w in enumerate(words)
            if not re.match(r"--(inputs|reference|rtol|atol|outputs)=", w) and w != "-o"
            and words[i - 1] != "-o"]
    # What sinter-run reads off the arrays has to be said; any number will do.
    sizes = []
    while True:
        done = subprocess.run(
            " ".join(kept + ["--stop-after=plan", "--log-placement", "-o", "-"] + sizes),
            shell=True, capture_output=True, text=True)
        if sizes or "open dimensions" not in done.stderr:
            break
        sizes = [f"--dim={name}=16" for name in
                 sorted(set(re.findall(r"'([^']*)' of input", done.stderr)))]
    if done.returncode:
        return done.stderr.strip()[-500:]
    log = done.stderr.strip().splitlines()
    reasons = ("the default device", "pinned by --place=", "allowed by --allow-cpu",
               "does not fit", "where its neighbours are")
    for line in log:
        if not any(reason in line for reason in reasons):
            return "the log does not explain: " + line
    devices = {line.split(": ")[0] for line in log}
    crossing = len(re.findall(r"exec\.copy [^\n]*exec\.from", done.stdout)) + \
        len(re.findall(r"exec\.copy [^\n]*exec\.to", done.stdout))
    for rule in rules:
        if not any(line.startswith(rule.rsplit("=", 1)[1] + ": ") and rule in line
                   for line in log):
            return f"no region is pinned by {rule}: {log}"
    if len(devices) > 1 and not crossing:
        return "no copy crosses devices: " + "; ".join(log)
    return None


def testOne(name, rules, options):
    """None, or what went wrong."""
    path = os.path.join(options.folder, name + ".test")
    folder = os.path.join(options.work, name)
    settings = argparse.Namespace(models=options.models, libraries="all")
    alone = list(run_on_sim.commandsOf(path, folder, settings))
    commands = [re.sub(r" --(target=sim|device=sim:0|libraries=all)(?= |$)", "", c)
                for c in alone]
    # What is compared is left by the tests, or asked for here.
    leaves = f" --outputs={folder}/out.npz"
    add = lambda c: c + leaves if c.startswith("sinter-run ") and "--outputs" not in c else c
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
