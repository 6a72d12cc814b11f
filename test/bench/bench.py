#!/usr/bin/env python3
"""Measures speed compared with the reference frameworks, compile times and planned memory.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Called by `tools/dev bench`. Prints what else uses the machine, then four tables:
inference of networks at their real sizes against ONNX Runtime; training steps against
PyTorch; compile times; planned memory. Rounds of a comparison alternate between the two
sides, so that a busy machine slows both; the figure is the ratio of the medians (above 1:
Sinter is faster). Makes what it needs in BUILD/bench and keeps it: a virtual environment
with onnxruntime (pip), and the models (Debian's python3-torch and python3-onnx). Names and
skips what is not available. Exits 1 if anything that could be run failed.
"""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "..", "docs", "examples")
DATA = "/usr/share/datasets/fashion-mnist"
TORCH_PYTHON = "/usr/bin/python3"

NETWORKS = ["resnet50", "bert-base", "vit-b", "mobilenet-v3", "lstm"]
MODELS = ["mlp"] + NETWORKS
# What a loss on a network without a single float output needs to know.
LOSS = {"bert-base": "cross-entropy:logits=pooled"}
INFERENCE_GOAL, TRAINING_GOAL = 0.8, 1.0
# Seconds: of a library, of a trainer. The others are shown without a goal.
COMPILE_GOAL = {"mlp": (1, 1), "resnet50": (10, 20), "bert-base": (10, 20)}
ARENA_GOAL = 1.10


def capture(command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        lines = result.stderr.strip().splitlines()
        name = os.path.basename(command[1 if command[1].endswith(".py") else 0])
        raise RuntimeError(f"{name}: {lines[-1] if lines else f'exit {result.returncode}'}")
    return result.stdout


class Report:
    """Counts what the tables show, for the summary at the end."""

    def __init__(self):
        self.ratios = {"inference": [], "training": []}
        self.checks, self.missed, self.failed, self.leftOut = 0, [], [], []

    def goal(self, name, reached):
        self.checks += 1
        if not reached:
            self.missed.append(name)
        return "" if reached else "  below the goal"

    def fail(self, name, error):
        self.failed.append(name)
        print(f"{name:<34} failed: {error}", flush=True)

    def leave(self, what):
        self.leftOut.append(what)
        print(f"left out: {what}", flush=True)

    def summary(self):
        print("\nsummary", flush=True)
        for kind, ratios in self.ratios.items():
            if ratios:
                mean = math.exp(statistics.fmean(math.log(r) for r in ratios))
                print(f"  {kind:<10} {len(ratios)} rows, geometric mean {mean:.2f}x,"
                      f" lowest {min(ratios):.2f}x")
        print(f"  goals      {self.checks - len(self.missed)} of {self.checks} reached"
              + "".join(f"\n    missed: {name}" for name in self.missed))
        for what in self.leftOut:
            print(f"  left out   {what}")
        print(f"  failed     {', '.join(self.failed) or 'nothing'}")
        return 1 if self.failed else 0


# --- what there is -----------------------------------------------------------------------


def describeMachine(threads):
    with open("/proc/cpuinfo") as file:
        name = re.search(r"model name\s*: (.*)", file.read())
    print(f"machine: {name.group(1) if name else 'unknown CPU'}, {len(os.sched_getaffinity(0))}"
          f" processors; {threads} threads on both sides")
    busy = busyProcessors()
    print(f"load before the first measurement: {busy:.2f} processors busy"
          f" (1 minute average {os.getloadavg()[0]:.2f})")
    if busy > 0.3:
        print("the machine is busy: ratios of interleaved rounds hold roughly, times do not")


def busyProcessors(seconds=1.0):
    def ticks():
        with open("/proc/stat") as file:
            fields = [int(x) for x in file.readline().split()[1:]]
        return sum(fields) - fields[3] - fields[4]  # without idle and iowait

    before = ticks()
    time.sleep(seconds)
    return (ticks() - before) / os.sysconf("SC_CLK_TCK") / seconds


def prepareModels(folder, report):
    """Whether the models are there; makes them."""
    mark = os.path.join(folder, "models-made")
    script = os.path.join(HERE, "make_models.py")
    with open(script) as file:
        version = file.read()
    if os.path.exists(mark) and open(mark).read() == version:
        return True
    if not hasTorch():
        report.leave("everything: the models are made with PyTorch, and python3-torch"
                     " and python3-onnx are not installed")
        return False
    print(f"making the models in {folder} ...", flush=True)
    try:
        capture([TORCH_PYTHON, script, folder])
    except RuntimeError as error:
        report.fail("the models", error)
        return False
    with open(mark, "w") as file:
        file.write(version)
    return True


def hasTorch():
    return subprocess.run([TORCH_PYTHON, "-c", "import torch, onnx"],
                          capture_output=True).returncode == 0


def prepareRuntime(folder, report):
    """A Python with onnxruntime, or None."""
    python = os.path.join(folder, "venv", "bin", "python3")
    try:
        if not os.path.exists(python):
            capture([sys.executable, "-m", "venv", os.path.join(folder, "venv")])
        if subprocess.run([python, "-c", "import onnxruntime"],
                          capture_output=True).returncode != 0:
            print("installing onnxruntime ...", flush=True)
            capture([python, "-m", "pip", "install", "-q", "onnxruntime", "numpy"])
        return python
    except (RuntimeError, OSError) as error:
        report.leave(f"inference beside ONNX Runtime: {error}")
        return None


# --- single measurements -----------------------------------------------------------------


def oursInference(bin_, model, batch, options):
    return json.loads(capture([
        os.path.join(bin_, "sinter-run"), model, "--inputs=random:seed=0", f"--batch={batch}",
        "--bench", f"--duration={options.seconds}s", f"--threads={options.threads}",
        "--json"]))["median_ms"]


def oursTraining(trainer, options):
    """Milliseconds of one step: the difference of a long and a short run."""
    def seconds(steps):
        begin = time.perf_counter()
        capture([trainer, f"--data={DATA}", f"--steps={steps}", "--lr=0.001", "--quiet",
                 f"--threads={options.threads}"])
        return time.perf_counter() - begin

    # Start-up (reading the data above all) varies by more than a few steps take: the
    # long run grows until steps are most of it.
    short, long = 50, 400
    base = seconds(short)
    while (taken := seconds(long)) - base < options.seconds:
        rest = max(taken - base, 0.05)
        long = short + int((long - short) * min(8, 1.2 * options.seconds / rest))
    return 1000 * (taken - base) / (long - short)


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
        raise RuntimeError((text.strip().splitlines() or ["no message"])[-1])
    phases = re.findall(r"^(\w+) +([\d.]+) ms +[\d.]+ %$", text, re.M)
    slowest = max(phases, key=lambda p: float(p[1])) if phases else ("?", "0")
    return wall, usage.ru_utime + usage.ru_stime, f"{slowest[0]} {float(slowest[1]) / 1e3:.2f} s"


# --- tables ------------------------------------------------------------------------------


def compare(kind, name, goal, ours, theirs, options, report):
    """Prints one row. `ours` and `theirs` measure once, in milliseconds."""
    a, b = [], []
    try:
        for _ in range(options.rounds):
            a.append(ours())
            b.append(theirs())
    except (RuntimeError, KeyError, ValueError) as error:
        report.fail(name, error)
        return
    mine, other = statistics.median(a), statistics.median(b)
    report.ratios[kind].append(other / mine)
    print(f"{name:<34} {mine:10.3f} {other:10.3f} {other / mine:8.2f}x"
          + report.goal(f"{name}: {other / mine:.2f}x of {goal}x", other / mine >= goal),
          flush=True)


def inferenceTable(bin_, folder, options, report):
    rows = [(network, batch) for network in NETWORKS for batch in (1, 8)
            if options.only in f"{network} batch {batch}"]
    python = prepareRuntime(folder, report) if rows else None
    if not python:
        return
    print(f"\n{'inference, ms':<34} {'sinter':>10} {'ORT':>10}    ratio", flush=True)
    for network, batch in rows:
        model = os.path.join(folder, network + ".onnx")
        compare("inference", f"{network} batch {batch}", INFERENCE_GOAL,
                lambda: oursInference(bin_, model, batch, options),
                lambda: float(capture([python, os.path.join(HERE, "run_onnxruntime.py"), model,
                                       str(batch), str(options.threads),
                                       str(options.seconds)])), options, report)


def trainingTable(bin_, folder, options, report):
    models = {"mlp": os.path.join(folder, "mlp.onnx"),
              "cnn": os.path.join(EXAMPLES, "fashion_cnn.onnx")}
    rows = {name: model for name, model in models.items()
            if options.only in f"{name} training step"}
    if not rows:
        return
    if not os.path.isdir(DATA):
        report.leave("training steps: dataset-fashion-mnist is not installed")
        return
    if not hasTorch():
        report.leave("training steps: python3-torch is not installed")
        return
    print(f"\n{'training step of 128, Adam, ms':<34} {'sinter':>10} {'PyTorch':>10}    ratio",
          flush=True)
    for name, model in rows.items():
        trainer = os.path.join(folder, name + "-trainer")
        try:
            capture([os.path.join(bin_, "sinterc"), model, "-o", trainer, "--train",
                     "--loss=cross-entropy", "--optimizer=adam", "--batch=128"])
        except RuntimeError as error:
            report.fail(f"{name} training step", error)
            continue
        compare("training", f"{name} training step", TRAINING_GOAL,
                lambda: oursTraining(trainer, options),
                lambda: float(capture([TORCH_PYTHON, os.path.join(HERE, "run_torch.py"), name,
                                       "128", str(options.threads), str(options.seconds)])),
                options, report)


def compileTables(bin_, folder, options, report):
    """Compile times; the plans of what was compiled are shown after them."""
    rows = [(model, train) for train in (False, True) for model in MODELS
            if options.only in f"{model} {'trainer' if train else 'library'}"]
    if not rows:
        return
    print(f"\n{'compile, s':<34} {'wall':>10} {'processor':>10} {'goal':>6}   slowest phase",
          flush=True)
    plans = []
    for model, train in rows:
        name = f"{model} {'trainer' if train else 'library'}"
        output = os.path.join(folder, "compiled.out")
        command = [os.path.join(bin_, "sinterc"), os.path.join(folder, model + ".onnx"),
                   "-o", output, "--batch=8" if train else "--batch=1"]
        command += (["--train", "--optimizer=adam", "--loss=" + LOSS.get(model, "cross-entropy")]
                    if train else ["--emit=lib"])
        goal = COMPILE_GOAL.get(model, (None, None))[train]
        try:
            runs = [compileOnce(command) for _ in range(options.rounds)]
            plans.append((name, json.loads(capture([os.path.join(bin_, "sinter-inspect"),
                                                    "--json", output]))))
        except (RuntimeError, ValueError) as error:
            report.fail(name, error)
            continue
        finally:
            for path in (output, output + ".h"):
                if os.path.exists(path):
                    os.remove(path)
        wall, processor, phase = sorted(runs)[len(runs) // 2]
        verdict = goal and report.goal(f"{name}: {wall:.1f} s of {goal} s", wall < goal)
        print(f"{name:<34} {wall:10.2f} {processor:10.2f} {goal or '-':>6}   {phase}"
              + (verdict or ""), flush=True)
    print(f"\n{'planned memory, MiB':<34} {'arena':>10} {'live':>10} {'ratio':>8}"
          f" {'no reuse':>10} {'state':>10} {'constants':>10}")
    mebi = 1 / 2**20
    for name, plan in plans:
        for entry in plan["entries"]:
            arena, live = entry["arena_bytes"], entry["max_live_bytes"]
            row = f"{name} @{entry['name']}"
            ratio = arena / live if live else 1.0
            print(f"{row:<34} {arena * mebi:10.1f} {live * mebi:10.1f} {ratio:8.3f}"
                  f" {entry['unshared_bytes'] * mebi:10.1f} {plan['state_bytes'] * mebi:10.1f}"
                  f" {plan['constants_bytes'] * mebi:10.1f}"
                  + report.goal(f"{row}: arena {ratio:.3f}x of what is live",
                                ratio <= ARENA_GOAL), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build folder")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="of each measurement")
    parser.add_argument("--seconds", type=float, default=3, help="of each measurement")
    parser.add_argument("--only", default="",
                        help="substring of the rows to run: 'resnet50 batch', 'training', ...")
    options = parser.parse_args()
    if options.threads < 1 or options.rounds < 1 or not 0 < options.seconds < 3600:
        parser.error("--threads, --rounds and --seconds must be positive")
    bin_ = os.path.join(os.path.abspath(options.build), "bin")
    folder = os.path.join(os.path.abspath(options.build), "bench")
    os.makedirs(folder, exist_ok=True)

    report = Report()
    describeMachine(options.threads)
    if prepareModels(folder, report):
        inferenceTable(bin_, folder, options, report)
        trainingTable(bin_, folder, options, report)
        compileTables(bin_, folder, options, report)
    if not (report.checks or report.failed or report.leftOut):
        sys.exit(f"bench: no row contains '{options.only}'")
    return report.summary()


if __name__ == "__main__":
    sys.exit(main())
