"""Cold starts: how long a fresh process takes to its first output, and what it needs.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

bench.py calls this for the rows of a wave. A start is from the fork to one step's loss,
or one run's output, in host memory. Each start has its own, empty folders for what
libraries, drivers and compilers cache. Then each side starts once more with the folder of its
last start. Sinter's training and the MLP's inference are compiled ahead of time; sinter-run
compiles other networks when it starts. The rows of an earlier wave have already read programs,
libraries and data.
"""

import json
import math
import os
import re
import shutil
import statistics
import tempfile
import time
from collections import defaultdict
from typing import NamedTuple

import workloads
from sides import Process, SideError, TookTooLong, askGpu

STARTS, LONG = 3, 20  # of a side that takes more seconds, one
CACHES = ["XDG_CACHE_HOME", "CUDA_CACHE_PATH", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR",
          "JAX_COMPILATION_CACHE_DIR"]
DATA = (".npz", ".safetensors", ".onnx")


class Start(NamedTuple):
    """Bytes are those of the process itself."""
    seconds: float
    hostBytes: int  # its peak
    mappedBytes: int  # of all files that it maps, but for data
    deviceBytes: float  # of the device, more than before; NaN where nothing says so
    more: dict  # of one kind of sides


def hostBytes(pid):
    with open(f"/proc/{pid}/status") as file:
        return 1024 * int(re.search(r"VmHWM:\s*(\d+) kB", file.read()).group(1))


def mappedBytes(pid):
    with open(f"/proc/{pid}/maps") as file:
        paths = {line.rstrip("\n").split(None, 5)[-1] for line in file if "/" in line}
    return sum(os.path.getsize(path) for path in paths
               if os.path.isfile(path) and not path.endswith(DATA))


def deviceBytes(device):
    """What all processes have of it; NaN where nothing says so."""
    return 2**20 * askGpu(device, "memory.used").get("memory.used", math.nan)


class ColdStart:
    """Of one row. `bench` has the files, the words of programs and the results."""

    def __init__(self, bench, row, kinds, end):
        self.bench, self.row, self.end = bench, row, end
        self.kinds = ["sinter", *kinds]
        self.caches = {}  # {kind: folder of its last start}
        self.loss = self.output = None  # ours, which peers are compared with

    def run(self):
        try:
            if self.measure("cold start", 1 if self.bench.context.small else STARTS, True):
                self.measure("second start", 1, False)
        finally:
            for folder in self.caches.values():
                shutil.rmtree(folder)

    def measure(self, title, count, isFresh):
        """Adds a row; False where there is none of ours. A peer that fails is left out."""
        begin, starts = time.monotonic(), defaultdict(list)
        for index in range(count):
            for kind in list(self.kinds):
                if index and (starts[kind][0].seconds > LONG or self.left() < LONG):
                    continue
                try:
                    starts[kind].append(self.start(kind, isFresh))
                except SideError as error:
                    isLate = isinstance(error, TookTooLong)
                    if kind == "sinter":
                        self.add(title, "skipped" if isLate else "failed", begin, str(error))
                        return False
                    self.kinds.remove(kind)
                    starts.pop(kind, None)
                    self.add(title, "skipped", begin, str(error), f": {kind}")
        texts, numbers = figures(starts)
        problems = self.problems(starts)
        self.add(title, "failed" if problems else "measured", begin, "; ".join(texts + problems),
                 **numbers)
        return True

    def problems(self, starts):
        limit = workloads.TOLERANCE[self.row.precision]
        errors = [(kind, start.more.get("error", 0)) for kind in starts for start in starts[kind]]
        return [f"{kind} differs by {error:.2g}, {limit:g} allowed"
                for kind, error in errors if not error <= limit]

    def left(self):
        return self.end - time.monotonic()

    def add(self, title, outcome, begin, detail, whose="", **numbers):
        self.bench.results.add("bench", f"{title}: {self.row.name}{whose}", outcome,
                               time.monotonic() - begin, detail, **numbers)

    def start(self, kind, isFresh):
        if self.left() < 1:
            raise TookTooLong("no time left")
        if isFresh:
            shutil.rmtree(self.caches.get(kind, ""), ignore_errors=True)
            self.caches[kind] = tempfile.mkdtemp(prefix="caches-", dir=self.bench.scratch)
        command, environment = self.words(kind)
        kept = {name: os.path.join(self.caches[kind], name.lower()) for name in CACHES}
        request = "1" if kind == "sinter" else json.dumps({"prepare": self.row})
        log = self.bench.log("cold", kind, self.row.file)
        before = deviceBytes(self.bench.context.device)
        begin = time.perf_counter()
        process = Process(command, log, {**environment, **kept})
        try:
            answer = process.ask(request, self.left())
            seconds = time.perf_counter() - begin
            after, pid = deviceBytes(self.bench.context.device), process.process.pid
            sizes = hostBytes(pid), mappedBytes(pid), after - before
            more = self.ours(command, answer, log) if kind == "sinter" else \
                self.theirs(process, answer)
            return Start(seconds, *sizes, more)
        except OSError as error:
            raise SideError(str(error)) from None
        finally:
            process.close()

    def words(self, kind):
        """The command and the environment."""
        bench, row = self.bench, self.row
        if kind != "sinter":
            command, environment = bench.peer(kind)
            return [*command, "--once"], environment
        if row.name in workloads.AHEAD:
            library = os.path.join(bench.folder, row.file)
            command, self.output = bench.runner("sinter", row, library)
        else:
            command, self.output = bench.sinter("sinter", row)
            command += [] if row.kind == "train" else ["--time-report"]
        return [*bench.launcher, *command], bench.context.environment

    def ours(self, command, answer, log):
        """The program's size, and how long it took to compile: ahead, or within the start."""
        self.loss = answer.get("loss")
        if "--time-report" not in command:
            program = os.path.join(self.bench.folder, self.row.file)
            facts = self.bench.facts[self.row.name]
            return {"own_bytes": os.path.getsize(program), "sinterc_s": facts["sinterc_s"],
                    "planned_bytes": facts["planned_bytes"]}
        with open(log) as file:
            total = re.search(r"^total +([\d.]+) ms", file.read(), re.M)
        if not total:
            raise SideError("--time-report says no total")
        return {"own_bytes": os.path.getsize(command[len(self.bench.launcher)]),
                "compile_s": float(total.group(1)) / 1e3}

    def theirs(self, process, answer):
        """The memory that the framework gave out, and how far the result is from ours."""
        (name, side), = answer.items()
        if "skip" in side:
            raise SideError(side["skip"])
        if self.row.kind == "train":
            error = abs(side["loss"] - self.loss) / abs(self.loss)
        else:
            check = {"check": f"{self.row.name}|{name}", "output": self.output}
            error = process.ask(json.dumps(check), 30)["error"]
        return {"allocated_bytes": side["bytes"], "error": error}


def figures(starts):
    """A row's texts and numbers."""
    numbers, texts = {}, []
    for kind, own in starts.items():
        name, last = kind.replace("-", "_") + "_", own[-1]
        seconds = statistics.median(start.seconds for start in own)
        found = {"s": seconds, "starts": [start.seconds for start in own],
                 "host_bytes": last.hostBytes, "mapped_bytes": last.mappedBytes,
                 "device_bytes": None if math.isnan(last.deviceBytes) else last.deviceBytes,
                 **last.more}
        if kind == "sinter":
            texts.append(f"{seconds:.3f} s, {last.hostBytes / 2**20:.0f} MiB of memory, "
                         f"{last.mappedBytes / 2**20:.0f} MiB of files")
        else:
            found["ratio"] = statistics.median(
                theirs.seconds / ours.seconds for theirs, ours in zip(own, starts["sinter"]))
            texts.append(f"{kind} {found['ratio']:.1f}x")
        numbers.update({name + key: value for key, value in found.items()})
    return texts, numbers
