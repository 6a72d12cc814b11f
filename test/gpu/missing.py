"""What a machine lacks, one line each, before anything else is tried.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import importlib.util
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import device
from libraries import nvidiaFolders

TOOLS = {"nvidia-smi": "clocks", "ncu": "profiles of kernels",
         "compute-sanitizer": "the group sanitizer"}
FOLDERS = os.pathsep.join(["/usr/local/nvidia/bin", "/usr/local/cuda/bin",
                           "/usr/local/cuda/compute-sanitizer"])
PEERS = ("torch", "jax")


def findTool(name):
    return shutil.which(name) or shutil.which(name, path=FOLDERS)


def findLibrary(row, nvidia):
    """Why a library of device.VERSIONS cannot be used; "" if it can."""
    command, environment = device.question(row, nvidia)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=8, env=environment)
    except subprocess.TimeoutExpired:
        return "it does not load within 8 s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
    return f"{' or '.join(row[1])} not found" if done.stdout.strip() == "none" else ""


def lines():
    """(whether a driver is there, lines)."""
    nvidia, found = nvidiaFolders(), []
    with ThreadPoolExecutor(len(device.VERSIONS)) as pool:
        problems = list(pool.map(lambda row: findLibrary(row, nvidia), device.VERSIONS))
    hasDriver = not problems[0]
    for (name, *_, purpose), problem in zip(device.VERSIONS, problems):
        if problem:
            found.append(f"{name}: {problem}; needed by {purpose}")
    if not os.path.exists("/dev/nvidiactl") and not os.path.exists("/dev/dxg"):
        found.append("a GPU: there is no /dev/nvidiactl")
    for name, purpose in TOOLS.items():
        if not findTool(name):
            found.append(f"{name}: not found; needed by {purpose}")
    for name in PEERS:
        if importlib.util.find_spec(name) is None:
            found.append(f"{name}: not installed; a peer of the bench")
    return hasDriver, found


def report():
    """Prints what is missing. Returns whether anything can run."""
    hasDriver, found = lines()
    for line in found:
        print(f"missing: {line}", flush=True)
    return hasDriver
