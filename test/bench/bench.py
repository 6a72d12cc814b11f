#!/usr/bin/env python3
"""Measures speed beside other frameworks on the CPU, compile times and planned memory.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Called by `tools/dev bench`. Prints what else uses the machine, then the rows of rows.py beside
ONNX Runtime, OpenVINO, PyTorch and torch.compile, and tables of compile times and planned
memory. Makes what it needs in BUILD/bench and keeps it: a virtual environment with the
frameworks (pip), and the models (Debian's python3-torch and python3-onnx). Names and
leaves out what is not available. BUILD/bench/rows.json keeps every time; the page also has
rows that an earlier call measured on this machine. Exits 1 if anything that could be run
failed.
"""

import argparse
import contextlib
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import compile_tables
import measure
import peers
import rows
from report import Report

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "..", "docs", "benchmarks.md")
TIMES = "rows.json"
MODELS_PYTHON = "/usr/bin/python3"
# PyTorch for the CPU alone is smaller; PyPI's has the libraries of CUDA.
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
TORCH_BYTES = 12e9  # that PyPI's takes while it is installed


# --- what there is -----------------------------------------------------------------------


def describeMachine(report):
    with open("/proc/cpuinfo") as file:
        lines = dict(re.findall(r"^(model name|cpu family|model)\s*: (.*)$", file.read(), re.M))
    name = lines.get("model name", "unknown CPU")
    if "cpu family" in lines and "model" in lines:
        name += f" (family {lines['cpu family']}, model {lines['model']})"
    report.about(f"machine: {name}, {len(os.sched_getaffinity(0))} processors")
    busy = busyProcessors()
    report.about(f"load before the first measurement: {busy:.2f} processors busy"
                 f" (1 minute average {os.getloadavg()[0]:.2f})")
    if busy > 0.3:
        report.about("the machine is busy: ratios of alternating rounds hold roughly, times do not")


def busyProcessors(seconds=1.0):
    def ticks():
        with open("/proc/stat") as file:
            fields = [int(x) for x in file.readline().split()[1:]]
        return sum(fields) - fields[3] - fields[4]  # without idle and iowait

    before = ticks()
    time.sleep(seconds)
    return (ticks() - before) / os.sysconf("SC_CLK_TCK") / seconds


@contextlib.contextmanager
def neighbour(report):
    """A process that keeps one processor busy all the time."""
    cpu = max(os.sched_getaffinity(0))
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"],
                               preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    report.about(f"another process keeps processor {cpu} busy")
    try:
        yield
    finally:
        process.kill()
        process.wait()


def hasModule(python, name):
    return subprocess.run([python, "-c", f"import {name}"], capture_output=True).returncode == 0


def install(python, package):
    """Into the virtual environment; raises SideError."""
    command = [python, "-m", "pip", "install", "-q", package, "numpy"]
    if package == "torch":
        try:
            return measure.run(command + ["--retries=0", "--timeout=10",
                                          f"--index-url={TORCH_INDEX}"])
        except measure.SideError:
            if shutil.disk_usage(os.path.dirname(python)).free < TORCH_BYTES:
                raise measure.SideError(f"needs {TORCH_BYTES / 1e9:.0f} GB of disk space") from None
    return measure.run(command)


def preparePeers(folder, report):
    """The names of the peers that are there, and their Python; reports why others are not."""
    python, reasons = os.path.join(folder, "venv", "bin", "python3"), {}
    try:
        if not os.path.exists(python):
            measure.run([sys.executable, "-m", "venv", os.path.join(folder, "venv")])
    except (measure.SideError, OSError) as error:
        reasons = dict.fromkeys(peers.PACKAGES.values(), f"no virtual environment: {error}")
    for package in dict.fromkeys(peers.PACKAGES.values()):
        if package in reasons or hasModule(python, package):
            continue
        report.say(f"installing {package} ...")
        try:
            install(python, package)
        except (measure.SideError, OSError) as error:
            reasons[package] = f"not installed: {error}"
    found = {name: reasons.get(package) for name, package in peers.PACKAGES.items()}
    for name, why in found.items():
        if why:
            report.leave(f"{peers.PEERS[name]}: {why}")
    return {name for name, why in found.items() if not why}, python


def version(*paths):
    """Of what is made from these files."""
    texts = []
    for path in paths:
        with open(os.path.join(HERE, path), "rb") as file:
            texts.append(file.read())
    return hashlib.sha256(b"".join(texts)).hexdigest()


def isMade(mark, text):
    if not os.path.exists(mark):
        return False
    with open(mark) as file:
        return file.read() == text


def makeOnce(mark, text, command, report):
    """Runs what makes models, unless they are there as `text` says."""
    if isMade(mark, text):
        return
    report.say(f"making {os.path.basename(mark).removesuffix('.made')} ...")
    measure.run(command)
    with open(mark, "w") as file:
        file.write(text)


# --- tables ------------------------------------------------------------------------------


def quantize(row, folder, python, made, report):
    """The model of a row with codes; raises SideError."""
    if not hasModule(python, "onnx"):
        report.say("installing onnx ...")
        install(python, "onnx")
    makeOnce(os.path.join(folder, row.graph + ".made"), made + version("quantize_models.py"),
             [python, os.path.join(HERE, "quantize_models.py"), folder, row.network, row.precision],
             report)


def keptRows(path, machine, chosen):
    """Results of rows other than `chosen` that `path` has from a call on this machine."""
    if not os.path.exists(path):
        return []
    with open(path) as file:
        found = json.load(file)
    if found.get("machine", [None])[0] != machine[0]:
        return []
    known = {row.name: row for row in rows.allRows() if row not in chosen}
    return [measure.Result.fromJson(known[kept["name"]], kept) for kept in found["rows"]
            if kept["name"] in known and "date" in kept]


def keep(path, report):
    with open(path, "w") as file:
        json.dump({"machine": report.machine,
                   "rows": [r.json() for r in report.kept + report.results]}, file, indent=1)


def measureRows(chosen, bin_, folder, options, report):
    present, python = preparePeers(folder, report)
    rates = measure.Rates(measure.run([os.path.join(bin_, "sinter-run"), "--list-devices", "-v"]))
    made = version("models.py", "make_models.py", "../gpu/networks.py",
                   "../models/make_vision.py", "../../docs/examples/make_cnn.py")
    report.head()
    for row in chosen:
        try:
            makeOnce(os.path.join(folder, row.data + ".made"), made + rows.recipeOf(row),
                     [MODELS_PYTHON, os.path.join(HERE, "models.py"), folder, row.network, row.kind,
                      str(row.batch)], report)
            if row.precision in rows.QUANTIZED:
                quantize(row, folder, python, made, report)
            numbers, program = measure.compileRow(row, bin_, folder)
        except measure.SideError as error:
            report.fail(row.name, error)
            continue
        result = measure.measureRow(
            row, functools.partial(measure.startOurs, row, bin_, folder, program),
            {name: functools.partial(measure.startPeer, name, row, folder, python)
             for name in peers.PEERS if name in present}, options.rounds, options.seconds,
            measure.Reference.read(row, folder) if row.kind == "train" else None)
        result.numbers = numbers
        measure.addFloor(numbers, row, rates)
        report.add(result)
        os.remove(program)
        if not options.neighbour:
            keep(os.path.join(folder, TIMES), report)
    report.costs()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build folder")
    parser.add_argument("--threads", type=int, help="of all rows; default: a row's own")
    parser.add_argument("--rounds", type=int, help="default: 7; with --table 3")
    parser.add_argument("--seconds", type=float,
                        help="of a side in a round; default: 1; with --table 0.2")
    parser.add_argument("--only", default="",
                        help="substring of the rows to run: 'resnet50 infer', 'bf16', 'trainer'")
    parser.add_argument("--table", action="store_true",
                        help="a few rows, or those of --only, in short rounds")
    parser.add_argument("--neighbour", action="store_true",
                        help="another process keeps one processor busy; nothing is kept")
    parser.add_argument("--write", nargs="?", const=PAGE, metavar="FILE",
                        help="writes the page of this machine; default docs/benchmarks.md")
    options = parser.parse_args()
    if options.rounds is None:
        options.rounds = 3 if options.table else 7
    if options.seconds is None:
        options.seconds = 0.2 if options.table else 1.0
    if options.rounds < 1 or not 0 < options.seconds < 3600 or not (options.threads is None
                                                                    or options.threads > 0):
        parser.error("--threads, --rounds and --seconds must be positive")
    if options.neighbour and options.write:
        parser.error("--write is for times without a --neighbour")
    bin_ = os.path.join(os.path.abspath(options.build), "bin")
    folder = os.path.join(os.path.abspath(options.build), "bench")
    os.makedirs(folder, exist_ok=True)
    chosen = rows.chooseRows(options.only, options.table, options.threads)
    compiled = [] if options.table else compile_tables.choose(options.only)
    if not (chosen or compiled):
        sys.exit(f"bench: no row contains '{options.only}'")

    report = Report()
    describeMachine(report)
    report.about(f"{options.rounds} rounds of {options.seconds:g} s for each side")
    if options.only:
        report.say(f"only rows with '{options.only}'")
    if not (hasModule(MODELS_PYTHON, "torch") and hasModule(MODELS_PYTHON, "onnx")):
        report.leave("everything: the models are made with PyTorch, and python3-torch"
                     " and python3-onnx are not installed")
        return report.summary()
    report.kept = keptRows(os.path.join(folder, TIMES), report.machine, chosen)
    if chosen:
        with neighbour(report) if options.neighbour else contextlib.nullcontext():
            measureRows(chosen, bin_, folder, options, report)
    if compiled:
        try:
            makeOnce(os.path.join(folder, "models.made"), version("make_models.py"),
                     [MODELS_PYTHON, os.path.join(HERE, "make_models.py"), folder], report)
            compile_tables.show(compiled, bin_, folder, min(3, options.rounds), report)
        except measure.SideError as error:
            report.fail("the models of compile times", error)
    if options.write and report.kept + report.results:
        with open(options.write, "w") as file:
            file.write(report.page())
        report.say(f"wrote {os.path.normpath(options.write)}")
    return report.summary()


if __name__ == "__main__":
    sys.exit(main())
