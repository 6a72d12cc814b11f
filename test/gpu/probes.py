#!/usr/bin/env python3
"""One probe of smoke.py that runs programs of the groups of checks, in a process of its own.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    probes.py FOLDER DEVICE MACHINE JSON SECONDS small|full PROBE WORD..

The rows of the groups go to the output, what failed first to the error output, whole.
"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from types import SimpleNamespace

import device
import load
import machine
import simulated
import training
from context import Context
from load import MISSING, NO_TIME  # exit codes, those of sinter-gpu-probe
from libraries import Machine
from missing import findTool
from results import Results



def chosen(context, results, list_, names):
    """The entries of a group's list with these names; those that are not there are skipped."""
    entries = {entry["name"]: entry for entry in context.list(list_)}
    for name in names:
        if name not in entries:
            results.skip(list_, [name], "it is not in the folder")
    return [entries[name] for name in names if name in entries]


def versions(context, results):
    """What the machine is, at length in the log."""
    print(platform.platform(), "; libc", *platform.libc_ver(), "; Python", sys.version)
    print(os.cpu_count(), "cores;", sys.executable)
    for path in ("/etc/os-release", "/proc/meminfo", "/proc/driver/nvidia/version"):
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                print(f"--- {path}\n" + "".join(file.readlines()[:12]).rstrip())
    for name in ("LD_LIBRARY_PATH", "PATH", "CUDA_VISIBLE_DEVICES", "CUDA_HOME"):
        print(f"{name}={os.environ.get(name, '')}")
    print("NVIDIA's libraries:", *context.nvidia)
    print("our programs start with:", context.libc, *context.launcher)
    for name in ("nvidia-smi", "ncu", "compute-sanitizer", "ptxas"):
        print(f"{name}: {findTool(name) or 'not found'}")
    sys.stdout.flush()
    if tool := findTool("nvidia-smi"):
        try:
            subprocess.run([tool], timeout=4)
        except (OSError, subprocess.TimeoutExpired) as error:
            print(error)
    if context.kind == "cuda":
        device.versions(context)
        device.clocks(context, "at first")
    # One row for all of it. Probes that need something missing report it.
    found = [f"{row['name']}: {row['detail']}" for row in results.rows]
    results.rows.clear()
    results.add("device", "versions", "passed", 0,
                "; ".join([f"{platform.machine()}, {os.cpu_count()} cores", *found]))


def loadPart(context, results, name):
    """The smallest first, until 8 s: what is not tried then costs no probe."""
    entries = load.parts(context)[name][::-1]
    load.check(context, results, name, entries, min(8.0, max(0.5, context.left() - 1)),
               isSample=True)


def compared(context, results, *names):
    context.inParallel(lambda entry: simulated.check(context, results, entry),
                       chosen(context, results, "simulated", names))


def trained(context, results, name):
    for entry in chosen(context, results, "training", [name]):
        training.check(context, entry)


def kernels(context):
    return [entry for entry in context.list("machine") if entry["kind"] == "kernel"]


def copy(context, results):
    """As a profile measures it, of the smallest program."""
    entries = sorted(kernels(context), key=lambda entry: entry["bytes"])
    if not entries:
        return results.skip("machine", ["copy"], "no kernel is in the folder")
    found = machine.profile(context, entries[0])
    if found:
        machine.copy(results, found)


def kernel(context, results, name):
    for entry in chosen(context, results, "machine", [name]):
        machine.kernel(context, results, entry)


PROBES = {"versions": versions, "load": loadPart, "simulated": compared, "training": trained,
          "copy": copy, "kernel": kernel}


def finish(results):
    """The exit code."""
    def rows(outcome):
        return [row for row in results.rows if row["outcome"] == outcome]
    done = rows("passed") + rows("measured")
    for row in rows("failed"):
        print(f"{len(done)} of {len(results.rows)} ok")
        print(f"{row['name']}: {row['detail']}", file=sys.stderr)
        return 1
    for row in rows("skipped"):
        if "no time left" in row["detail"]:
            print(f"{row['name']}: {row['detail']}")
            return NO_TIME
        print(f"missing: {row['name']}: {row['detail']}", file=sys.stderr)
        return MISSING
    if not done:
        print("missing: there is nothing to run in the folder", file=sys.stderr)
        return MISSING
    print(f"{len(done)} ok" if len(done) > 1 else done[0]["detail"])
    return 0


def main():
    folder, name, found, file, seconds, size, probe, *words = sys.argv[1:]
    scratch = tempfile.mkdtemp(prefix="probe-", dir=os.path.dirname(found))
    results = Results(file, name, size == "small", float(seconds) - 0.5)
    results.areErrorsWhole = True
    results.beginGroup(1)
    options = SimpleNamespace(folder=folder, device=name, small=size == "small", sanitizer=None,
                              ncu=None, data=None, jobs=min(6, os.cpu_count() or 1))
    context = Context(options, results, Machine.load(found), scratch)
    context.beginGroup(probe)
    PROBES[probe](context, results, *words)
    results.write(finished=True)
    shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(finish(results))


if __name__ == "__main__":
    main()
