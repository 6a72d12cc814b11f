"""Compile times and planned memory of networks at their real sizes: tables of tools/dev bench.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import json
import os
import re
import statistics
import subprocess
import tempfile
import time

import measure

MODELS = ["mlp", "resnet50", "bert-base", "vit-b", "mobilenet-v3", "lstm"]  # of make_models.py
# What a loss on a network without a single float output needs to know.
LOSS = {"bert-base": "cross-entropy:logits=pooled"}
# Seconds: of a library, of a trainer. The others are shown without a goal.
COMPILE_GOAL = {"mlp": (1, 1), "resnet50": (10, 20), "bert-base": (10, 20)}
ARENA_GOAL = 1.10


def choose(only):
    """(name, model, whether it is a trainer) of rows that contain `only`."""
    rows = [(f"{model} {'trainer' if train else 'library'}", model, train)
            for train in (False, True) for model in MODELS]
    return [row for row in rows if only in row[0]]


def compileOnce(command):
    """Wall and processor seconds, and the slowest phase, of one run of sinterc."""
    with tempfile.TemporaryFile("w+") as log:
        begin = time.perf_counter()
        process = subprocess.Popen(command + ["--time-report"], stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        text = log.read()
    if process.returncode != 0:
        raise measure.SideError((text.strip().splitlines() or ["no message"])[-1])
    phases = re.findall(r"^(\w+) +([\d.]+) ms +[\d.]+ %$", text, re.M)
    slowest = max(phases, key=lambda p: float(p[1])) if phases else ("?", "0")
    return wall, usage.ru_utime + usage.ru_stime, f"{slowest[0]} {float(slowest[1]) / 1e3:.2f} s"


def show(rows, bin_, folder, rounds, report):
    """Compile times; the plans of what was compiled are shown after them."""
    report.say(f"\n{'compile, s':<34} {'wall':>10} {'processor':>10} {'goal':>6}   slowest phase")
    plans = []
    for name, model, train in rows:
        output = os.path.join(folder, "compiled.out")
        source = os.path.join(folder, model + ("-trainer.onnx" if train else ".onnx"))
        command = [os.path.join(bin_, "sinterc"), source, "-o", output,
                   "--batch=8" if train else "--batch=1"]
        command += (["--train", "--optimizer=adam", "--loss=" + LOSS.get(model, "cross-entropy")]
                    if train else ["--emit=lib"])
        goal = COMPILE_GOAL.get(model, (None, None))[train]
        try:
            runs = [compileOnce(command) for _ in range(rounds)]
            plans.append((name, json.loads(measure.run([os.path.join(bin_, "sinter-inspect"),
                                                        "--json", output]))))
        except (measure.SideError, ValueError) as error:
            report.fail(name, error)
            continue
        finally:
            for path in (output, output + ".h"):
                if os.path.exists(path):
                    os.remove(path)
        wall = statistics.median(run[0] for run in runs)
        processor, phase = sorted(runs)[len(runs) // 2][1:]
        verdict = goal and report.goal(f"{name}: {wall:.1f} s of {goal} s", wall < goal)
        report.say(f"{name:<34} {wall:10.2f} {processor:10.2f} {goal or '-':>6}   {phase}"
                   + (verdict or ""))
    report.say(f"\n{'planned memory, MiB':<34} {'arena':>10} {'live':>10} {'ratio':>8}"
               f" {'no reuse':>10} {'state':>10} {'constants':>10}")
    mebi = 1 / 2**20
    for name, plan in plans:
        for entry in plan["entries"]:
            arena, live = entry["arena_bytes"], entry["max_live_bytes"]
            row = f"{name} @{entry['name']}"
            ratio = arena / live if live else 1.0
            report.say(f"{row:<34} {arena * mebi:10.1f} {live * mebi:10.1f} {ratio:8.3f}"
                       f" {entry['unshared_bytes'] * mebi:10.1f} {plan['state_bytes'] * mebi:10.1f}"
                       f" {plan['constants_bytes'] * mebi:10.1f}"
                       + report.goal(f"{row}: arena {ratio:.3f}x of what is live",
                                     ratio <= ARENA_GOAL))
