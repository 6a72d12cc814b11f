"""The device and its libraries: what else is known of the machine.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import json
import os
import shutil
import sys

from libraries import driverFolders

GROUP = "device"
# Name, files, what the function returns or writes, and what needs the library.
VERSIONS = [
    ("driver", ["libcuda.so.1"], "cuDriverGetVersion", "int*", "all of CUDA"),
    ("cuBLASLt", ["libcublasLt.so.13", "libcublasLt.so.12"], "cublasLtGetVersion", "size_t",
     "calls for products"),
    ("cuDNN", ["libcudnn.so.9"], "cudnnGetVersion", "size_t",
     "calls for convolutions and attention"),
    ("NCCL", ["libnccl.so.2"], "ncclGetVersion", "int*", "training on several GPUs"),
]
# Loads a library in a process of its own: some take long, and none may stay.
ASK = """
import ctypes, sys
function, kind, *files = sys.argv[1:]
for file in files:
    try:
        call = getattr(ctypes.CDLL(file), function)
    except OSError:
        continue
    if kind == "size_t":
        call.restype = ctypes.c_size_t
        print(file, call())
    else:
        version = ctypes.c_int()
        call(ctypes.byref(version))
        print(file, version.value)
    break
else:
    print("none")
"""
CLOCKS = ["name", "driver_version", "memory.total", "clocks.sm", "clocks.max.sm", "clocks.mem",
          "power.draw", "power.limit", "temperature.gpu"]


def doctor(context):
    trainers = context.list("training")
    if not trainers:
        return context.results.skip(GROUP, ["doctor"], "no trainer in the folder")

    def examine(text):
        report = json.loads(text)
        mine = [entry for entry in report["devices"]
                if entry["device"] in (context.device, context.kind)]
        if not mine:
            raise ValueError(f"there is no {context.device}")
        if not mine[0]["usable"]:
            raise ValueError(mine[0]["problem"])
        return "; ".join([report["cpu"], *mine[0]["report"]]), \
            {"libc": report["libc"], "report": mine[0]["report"]}
    context.run(GROUP, "doctor", [*context.program(trainers[0]["file"]), "doctor", "--json"], 60,
                examine, codes=(0, 7))


def question(row, nvidia):
    """The command that prints file and version of a row of VERSIONS, and its environment."""
    _, files, function, kind, _ = row
    given = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    return [sys.executable, "-c", ASK, function, kind, *files], \
        dict(os.environ, LD_LIBRARY_PATH=os.pathsep.join(
            filter(None, [*given, *nvidia, *driverFolders()])))


def versions(context):
    for row in VERSIONS:
        name, files, *_, purpose = row
        command, environment = question(row, context.nvidia)
        done = context.attempt(GROUP, name, command, 60, env=environment)
        if done is None:
            continue
        output, taken = done
        if output.strip() == "none":
            context.results.skip(GROUP, [name], f"{' or '.join(files)} not found: "
                                                f"needed by {purpose}")
        else:
            file, version = output.split()
            context.results.add(GROUP, name, "passed", taken, f"{file}, version {version}",
                                version=int(version))


def clocks(context, when):
    """nvidia-smi's figures, as a row."""
    tool = shutil.which("nvidia-smi") or shutil.which("nvidia-smi", path="/usr/local/nvidia/bin")
    name = f"clocks, {when}"
    if not tool:
        return context.results.skip(GROUP, [name], "nvidia-smi is not there")
    index = context.device.partition(":")[2] or "0"
    done = context.attempt(GROUP, name, [tool, f"--id={index}", "--query-gpu=" + ",".join(CLOCKS),
                                         "--format=csv,noheader"], 20, env=dict(os.environ))
    if done:
        words = [word.strip() for word in done[0].strip().split(",")]
        values = dict(zip((figure.replace("name", "gpu") for figure in CLOCKS), words))
        detail = f"SM {values.get('clocks.sm')} of {values.get('clocks.max.sm')}, memory " \
                 f"{values.get('clocks.mem')}, {values.get('power.draw')}"
        context.results.add(GROUP, name, "measured", done[1], detail, **values)


def run(context, results):
    folders = ", ".join(context.nvidia) or "the system"
    results.add(GROUP, "libc of our programs", "passed", 0,
                f"{context.libc}; NVIDIA's libraries in {folders}")
    doctor(context)
    if context.kind == "cuda":
        versions(context)
        clocks(context, "at first")
