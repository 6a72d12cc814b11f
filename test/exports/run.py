#!/usr/bin/env python3
"""Compares training of PyTorch's exports with PyTorch, over a list of networks.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Called by `tools/dev exports`. Exports each network of networks.py in each way of
reference.py, compiles a trainer from the file, trains it, and compares every loss, every
parameter and every running statistic with PyTorch in float64, by PyTorch's names; the same
file is then run for inference. Makes what it needs in BUILD/exports and keeps it: a virtual
environment with the packages of requirements.txt (pip), and a folder for each network with
its exports and references, which are made again where the network has changed (--fresh:
always). Results are lines of results.jsonl; those of the same tools and network are not
measured again. Exits 1 if anything crashed; what differs or is refused is the result, not a
failure.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
WAYS = ["default", "with-weights", "no-optimize", "dynamo-false"]
SECONDS = 600  # of one export, or one reference


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build folder")
    parser.add_argument("--only", default="", help="networks whose name has this text")
    parser.add_argument("--ways", default=",".join(WAYS), help="default: all, by commas")
    parser.add_argument("--steps", type=int, default=24, help="steps of training; default 24")
    parser.add_argument("--table", action="store_true", help="write BUILD/exports/table.md")
    parser.add_argument("--fresh", action="store_true", help="export and train again in PyTorch")
    parser.add_argument("--again", action="store_true", help="measure what has a result, too")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    options.ways = options.ways.split(",")
    if unknown := set(options.ways) - set(WAYS):
        parser.error(f"no way {', '.join(unknown)}; there are {', '.join(WAYS)}")
    return options


def ensureEnvironment(folder):
    """The Python of an environment with the pinned packages; makes it when something lacks."""
    requirements = os.path.join(HERE, "requirements.txt")
    python = os.path.join(folder, "venv", "bin", "python3")
    with open(requirements) as file:
        pinned = dict(line.strip().split("==") for line in file if "==" in line)
    check = ("from importlib.metadata import version\n"
             f"assert all(version(n).split('+')[0] == v for n, v in {pinned!r}.items())")
    if (not os.path.exists(python)
            or subprocess.run([python, "-c", check], capture_output=True).returncode != 0):
        print("installing the packages of test/exports/requirements.txt ...", flush=True)
        subprocess.run([sys.executable, "-m", "venv", os.path.join(folder, "venv")], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", requirements], check=True)
    return python


def prepare(network, folder, way, options):
    """Makes and reads WAY.json (or reference.json), in a process of its own."""
    import multiprocessing

    import reference

    path = os.path.join(folder, way + ".json")
    fingerprint = network.fingerprint  # before an exporter touches the modules
    if os.path.exists(path):
        with open(path) as file:
            made = json.load(file)
        if (options.fresh or made.get("steps", options.steps) != options.steps
                or made.get("fingerprint") != fingerprint):
            os.remove(path)
    if not os.path.exists(path):
        process = multiprocessing.get_context("fork").Process(
            target=reference.write, args=(network, folder, way, options.steps))
        process.start()
        process.join(SECONDS)
        if process.is_alive():
            process.kill()
            process.join()
        if not os.path.exists(path):
            with open(os.path.join(folder, way + ".log"), errors="replace") as log:
                last = (log.read().strip().splitlines() or ["no message"])[-1]
            return {"error": f"exit {process.exitcode}: {last[:240]}"}
    with open(path) as file:
        return json.load(file)


def stampOf(network, options):
    """What a result depends on: the network, the tools and the steps."""
    tools = [os.stat(os.path.join(options.build, "bin", name))
             for name in ("sinterc", "sinter-run")]
    text = repr([(tool.st_size, tool.st_mtime_ns) for tool in tools]) + str(options.steps)
    text += network.fingerprint
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def measure(network, folder, way, facts, options):
    import compare

    result = {"network": network.name, "way": way}
    export = prepare(network, folder, compare.fileOf(way), options)
    if "error" in export:
        failed = {"result": "export failed", "what": export["error"]}
        return {**result, "training": failed, "inference": failed}
    bin_ = os.path.join(options.build, "bin")
    training = compare.compareTraining(network, folder, way, export, facts, bin_, options.steps)
    inference = compare.compareInference(folder, way, export, bin_)
    return {**result, "training": training, "inference": inference}


def main():
    options = arguments()
    work = os.path.join(options.build, "exports")
    os.makedirs(work, exist_ok=True)
    python = ensureEnvironment(work)
    if os.path.dirname(os.path.abspath(sys.executable)) != os.path.dirname(python):
        os.environ.update(OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1")
        os.execv(python, [python, os.path.abspath(__file__), *sys.argv[1:]])

    import warnings
    warnings.filterwarnings("ignore")
    import table
    from networks import NETWORKS

    results = table.read(os.path.join(work, "results.jsonl"))
    shown = []
    for network in (n for n in NETWORKS if options.only in n.name):
        folder = os.path.join(work, network.name)
        os.makedirs(folder, exist_ok=True)
        facts = prepare(network, folder, "reference", options)
        if "error" in facts:
            shown.append(table.failed(network.name, facts["error"]))
            table.show(shown[-1])
            continue
        for way in options.ways:
            stamp, begin = stampOf(network, options), time.monotonic()
            result = results.get((network.name, way))
            if not result or result["stamp"] != stamp or options.again or options.fresh:
                result = {**measure(network, folder, way, facts, options), "stamp": stamp,
                          "float32": max(facts["float32Loss"], facts["float32State"]),
                          "seconds": round(time.monotonic() - begin, 1)}
                table.append(os.path.join(work, "results.jsonl"), result)
            shown.append(result)
            table.show(result)
    table.summary(shown, options.ways)
    if options.table:
        table.write(os.path.join(work, "table.md"), shown, options.ways)
    return 1 if any(r[k]["result"] == "crash" for r in shown for k in table.KINDS) else 0


if __name__ == "__main__":
    sys.exit(main())
