#!/usr/bin/env python3
"""Checks Sinter on a device: see run.sh.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Runs groups of checks, the most valuable first, each with a share of the time; unused time goes
to later groups. Checks for which the time does not suffice are counted as skipped and named,
never as passed. The JSON file is complete after every row. Exits 1 if anything failed.
"""

import argparse
import os
import shutil
import signal
import sys
import tempfile
import traceback

import architectures
import bench
import determinism
import device
import load
import machine
import missing
import ncu
import ops
import sanitizer
import simulated
import smoke
import training
from context import Context
from libraries import Machine
from results import Results, endAll

# In order, with shares of the time: ample for the first, whose rest the others get.
GROUPS = {"device": (device.run, 4), "training": (training.run, 24),
          "architectures": (architectures.run, 16), "simulated": (simulated.run, 16),
          "machine": (machine.run, 30), "determinism": (determinism.run, 14),
          "sanitizer": (sanitizer.run, 18), "ops": (ops.run, 24), "bench": (bench.run, 80),
          "load": (load.run, 16), "ncu": (ncu.run, 16)}
ASKED_FOR = ("load", "ncu")  # that run only where --groups names them
# Names for several: the groups of calls that each have a machine for a limited time.
SETS = {"correctness": ["device", "training", "architectures", "simulated", "determinism",
                        "sanitizer", "ops", "load"],
        "speed": ["machine", "bench", "ncu"]}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--json", default="gpu-results.json")
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--small", action="store_true", help="small sizes, for a simulation")
    parser.add_argument("--groups", help=f"some of {','.join([*GROUPS, *SETS])}")
    parser.add_argument("--smoke", action="store_true", help="what works, in three minutes")
    parser.add_argument("--out", help="--smoke: where smoke.tar.gz goes, if not to $OUT")
    parser.add_argument("--only", help="--smoke: probes by name, separated by ;")
    parser.add_argument("--seconds", type=float, default=10, help="--smoke: of a probe")
    parser.add_argument("--budget", type=float, default=smoke.BUDGET, help="--smoke: of all")
    parser.add_argument("--jobs", type=int, default=min(6, os.cpu_count() or 1),
                        help="processes at a time, of what is not timed")
    parser.add_argument("--sanitizer", help="compute-sanitizer, where it is not found")
    parser.add_argument("--ncu", help="Nsight Compute's ncu, where it is not found")
    parser.add_argument("--data", help="folder of Fashion-MNIST, if not Debian's")
    parser.add_argument("--libc", default="auto",
                        help="auto, system or bundled: what our programs start with")
    options = parser.parse_args()
    options.chosen = [name for name in GROUPS if name not in ASKED_FOR]
    if options.groups:
        options.chosen = [group for name in options.groups.split(",")
                          for group in SETS.get(name, [name])]
    if unknown := set(options.chosen) - set(GROUPS):
        parser.error(f"--groups: there is no {', '.join(sorted(unknown))}")
    return options


def runSmoke(options):
    scratch = tempfile.mkdtemp(prefix="sinter-gpu-")
    try:
        machine_ = Machine(os.path.abspath(options.folder), options.libc)
        return smoke.run(Context(options, None, machine_, scratch), options, machine_)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def main():
    options = parse()
    if options.device.startswith("cuda") and not missing.report():
        sys.exit("nothing can run here without the NVIDIA driver")
    if options.smoke:
        sys.exit(runSmoke(options))
    scratch = tempfile.mkdtemp(prefix="sinter-gpu-")

    def stop(*_):  # the file has every row so far
        endAll()
        shutil.rmtree(scratch, ignore_errors=True)
        os._exit(75)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    try:
        results = Results(options.json, options.device, options.small, 60 * options.minutes)
        context = Context(options, results, Machine(os.path.abspath(options.folder), options.libc),
                          scratch)
        rest = sum(share for name, (_, share) in GROUPS.items() if name in options.chosen)
        for name, (group, share) in GROUPS.items():
            if name not in options.chosen:
                continue
            results.beginGroup(share / rest)
            context.beginGroup(name)
            rest -= share
            try:
                group(context, results)
            except Exception as error:  # a mistake of ours costs one group, not the others
                where = traceback.extract_tb(error.__traceback__)[-1]
                results.add(name, "the group itself", "failed", 0,
                            f"{os.path.basename(where.filename)}:{where.lineno}: "
                            f"{type(error).__name__}: {error}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    results.write(finished=True)
    counts = {outcome: results.count(outcome)
              for outcome in ("passed", "measured", "failed", "skipped")}
    for row in results.rows:
        if row["outcome"] == "failed":
            print(f"failed: {row['group']}, {row['name']}: {row['detail']}")
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()) +
          f" in {results.seconds():.0f} s; {options.json}")
    sys.exit(1 if counts["failed"] or not counts["passed"] else 0)


if __name__ == "__main__":
    main()
