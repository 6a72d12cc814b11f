"""Tells in three minutes what works on a machine with a GPU: run.sh FOLDER --smoke.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Each probe is a process of its own, which is ended with all that it started after ten seconds.
A probe is ok, FAILED, missing (what it needs is not on this machine) or not run (there was no
time); one that needs another which is missing is missing, too. The table has a line for each
probe, and the first error whole below it. Probes that load PTX are ok with what they load in
eight seconds, if nothing fails; they say how much that is. smoke.tar.gz has smoke.json, which is complete after
every probe, and the output of each. Exits 0 if all are ok, 1 if one failed, 75 if one is missing
or not run.
"""

import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from typing import NamedTuple

import bundle as bundles
import mappings
import probes
import programs
import training
from results import IN_GROUP

BUDGET = 170  # seconds of all probes; starting and packing take some more
TRAINERS = ["mlp-adam", "cnn-adam", "gpt2-lm", "gpt2-bf16"]
OF_LIBRARIES = {"mlp-adam": ("cuBLASLt",), "gpt2-lm": ("cuBLASLt",),
                "gpt2-bf16": ("cuBLASLt", "cuDNN: attention"),
                "cnn-adam": ("cuBLASLt", "cuDNN: convolutions")}


class Probe(NamedTuple):
    name: str
    words: list  # of sinter-gpu-probe, or of probes.py
    isBinary: bool = False
    needs: tuple = ("driver",)


def binary(name, *words, needs=("driver",)):
    return Probe(name, list(words), True, needs)


def prepare(bundle):
    """smoke.json: what the probe of graphs runs, with the names of the functions in it. Small
    programs are for the simulated device, so two with PTX are added, and a cubin where ptxas
    is."""
    if bundle.small and "cuda" in bundles.run([bundle.tool("sinterc"), "--list-devices"]):
        for program in list(mappings.mappings())[:2]:
            bundle.compileText(program, f"ptx/{programs.fileName(program.name)}.so",
                               "--cubin=auto", target="cuda")
    replays = []
    for entry in bundle.read("simulated"):
        if entry["name"] in ("staged tickets", "array of parameters", "persistent kernel",
                             "lenet, libraries"):
            with open(bundle.path(entry["file"]), "rb") as file:
                symbol = re.search(rb"\0(sinter_\w+_artifact)\0", file.read())
            replays.append({"file": entry["file"], "symbol": symbol.group(1).decode(),
                            "libraries": entry["name"].endswith("libraries")})
    bundle.write("smoke", replays)


def table(context):
    """The probes, the most telling first."""
    replays = context.list("smoke")

    def replay(hasLibraries):
        return [f"--replays={20 if context.small else 1000}", *(
            word for entry in replays if entry["libraries"] == hasLibraries
            for word in (context.path(entry["file"]), entry["symbol"]))]
    yield Probe("versions and paths", ["versions"], needs=())
    yield binary("driver", "driver", needs=())
    yield Probe("load PTX, first half", ["load", "first half"])
    yield Probe("load cubins", ["load", "cubins"])
    yield Probe("one kernel of each mapping",
                ["simulated", *(program.name for program in mappings.mappings())])
    yield Probe("staged tickets", ["simulated", "staged tickets"])
    yield Probe("array of parameters", ["simulated", "array of parameters"])
    yield Probe("persistent kernel", ["simulated", *(program.name for program in
                                                     mappings.persistentKernels())])
    for element in ("bf16", "f16", "tf32"):
        yield Probe(f"ldmatrix and cp.async, {element}",
                    ["simulated", f"whole numbers in {element}", f"tensor-cores-{element}"])
    yield binary("graphs, replayed", "replay", *replay(False))
    yield binary("cuBLASLt", "products")
    yield binary("cuDNN: convolutions", "convolutions")
    yield binary("cuDNN: sums of channels", "sums", needs=("driver", "cuDNN: convolutions"))
    yield binary("cuDNN: attention", "attention", needs=("driver", "cuDNN: convolutions"))
    yield binary("NaN and infinity, cuBLASLt", "non-finite", "products",
                 needs=("driver", "cuBLASLt"))
    yield binary("NaN and infinity, cuDNN", "non-finite", "convolutions",
                 needs=("driver", "cuDNN: convolutions"))
    yield binary("graphs with calls, replayed", "replay", *replay(True),
                 needs=("driver", "cuBLASLt", "cuDNN: convolutions"))
    for variant in training.VARIANTS:
        some = training.ONLY.get(variant, TRAINERS)
        for name in some[:1] if variant == ", one kernel" else [*filter(TRAINERS.__contains__, some)]:
            yield Probe(f"48 steps of {name}{variant}", ["training", name + variant],
                        needs=("driver", *(() if variant else OF_LIBRARIES[name])))
    yield Probe("copy rate", ["copy"])
    for entry in context.list("machine"):
        if entry["kind"] == "kernel":
            yield Probe(entry["name"], ["kernel", entry["name"]])
    yield Probe("load PTX, second half", ["load", "second half"])
    yield Probe("load PTX of older GPUs", ["load", "older"])


# Of SINTER_DEBUG: each launch begins when the one before it has ended.
SERIAL = "serial-launches"


class Smoke:
    def __init__(self, context, options, machine):
        self.context, self.options = context, options
        self.begin, self.rows = time.monotonic(), []
        self.seriesLeft = 3
        self.out = options.out or os.environ.get("OUT") or "smoke-results"
        self.folder = os.path.join(self.out, "smoke")
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.machine = os.path.join(context.scratch, "machine.json")
        machine.save(self.machine)
        self.process = None

    def left(self):
        return self.options.budget - (time.monotonic() - self.begin)

    # --- one probe ---

    def command(self, probe, file, seconds):
        if probe.isBinary:
            return [*self.context.program("bin", "sinter-gpu-probe"), *probe.words,
                    f"--device={self.context.device}", f"--json={file}.json",
                    f"--seconds={max(0.5, seconds - 1)}"]
        return [sys.executable, os.path.join(self.context.folder, "probes.py"),
                self.context.folder, self.context.device, self.machine, f"{file}.json",
                str(seconds), "small" if self.context.small else "full", *probe.words]

    def run(self, probe, debug=""):
        """(outcome, detail, error, seconds). debug: SINTER_DEBUG."""
        for other in probe.needs:
            row = next((row for row in self.rows if row["name"] == other), None)
            if row and row["outcome"] == "missing":
                return "missing", f"what '{other}' needs: {row['detail']}", "", 0.0
        if self.left() < 1:
            return "not run", f"{self.options.budget:g} s are over", "", 0.0
        limit = min(self.options.seconds, self.left())
        file = os.path.join(self.folder, re.sub(r"[^a-z0-9]+", "-",
                                                " ".join([probe.name.lower(), debug]).strip()))
        environment = dict(self.context.environment if probe.isBinary else os.environ)
        if debug:
            environment["SINTER_DEBUG"] = debug
        environment.update({IN_GROUP: "1", "XDG_CACHE_HOME": os.path.join(
            self.context.scratch, "cache", os.path.basename(file))})
        begin = time.monotonic()
        with open(file + ".log", "wb") as out, open(file + ".err", "wb") as errors:
            try:
                self.process = subprocess.Popen(self.command(probe, file, limit), stdout=out,
                                                stderr=errors, stdin=subprocess.DEVNULL,
                                                start_new_session=True, env=environment)
            except OSError as error:
                return "FAILED", "it does not start", str(error), 0.0
            try:
                code = self.process.wait(limit)
            except subprocess.TimeoutExpired:
                code = None
            self.endProcess()
        seconds = time.monotonic() - begin
        output, errors = (readText(file + suffix) for suffix in (".log", ".err"))
        return (*judge(code, limit, output, errors, limit < self.options.seconds), seconds)

    def endProcess(self):
        """Ends the probe and whatever it has left."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process = None

    def runTwice(self, probe):
        """As run(). A probe of kernels that failed runs again without early launches, the first
        three times: then either these or the kernel are at fault."""
        outcome, detail, error, seconds = self.run(probe)
        launches = probe.needs and probe.words[0] != "load"
        if outcome != "FAILED" or not launches or self.seriesLeft == 0:
            return outcome, detail, error, seconds
        self.seriesLeft -= 1
        again, *_, more = self.run(probe, SERIAL)
        return outcome, f"{detail}; with SINTER_DEBUG={SERIAL}: {again}", error, seconds + more

    # --- all of them ---

    def add(self, probe, outcome, detail, error, seconds):
        self.rows.append({"name": probe.name, "outcome": outcome, "seconds": round(seconds, 3),
                          "detail": detail, "error": error})
        print(f"{probe.name:<40} {outcome:<8}{seconds:6.1f} s  {detail}", flush=True)
        for line in error.splitlines():
            print(f"    {line}", flush=True)
        self.write()

    def counts(self):
        return {outcome: sum(row["outcome"] == outcome for row in self.rows)
                for outcome in ("ok", "FAILED", "missing", "not run")}

    def write(self, isFinished=False):
        path = os.path.join(self.folder, "smoke.json")
        with open(path + ".part", "w", encoding="utf-8") as file:
            json.dump({"device": self.context.device, "host": platform.node(),
                       "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                       "finished": isFinished, "seconds": round(time.monotonic() - self.begin, 1),
                       **self.counts(), "probes": self.rows}, file, indent=1)
        os.replace(path + ".part", path)

    def pack(self):
        """All of it as one file; the folder stays where this fails."""
        path = os.path.join(self.out, "smoke.tar.gz")
        with tarfile.open(path, "w:gz", compresslevel=6) as tar:
            tar.add(self.folder, arcname="smoke")
        shutil.rmtree(self.folder)
        return path

    def runAll(self):
        probes_ = list(table(self.context))
        if self.options.only:
            only = self.options.only.split(";")
            if unknown := set(only) - {probe.name for probe in probes_}:
                sys.exit(f"--only: there is no {'; '.join(sorted(unknown))}; there are " +
                         "; ".join(probe.name for probe in probes_))
            probes_ = [probe for probe in probes_ if probe.name in only]
        for probe in probes_:
            self.add(probe, *self.runTwice(probe))
        self.write(isFinished=True)
        counts, path = self.counts(), self.pack()
        print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()) +
              f" in {time.monotonic() - self.begin:.0f} s; {path}", flush=True)
        return 1 if counts["FAILED"] else 75 if counts["missing"] or counts["not run"] else 0


def readText(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().strip()


def judge(code, limit, output, errors, isLate):
    """(outcome, detail, error) of an ended probe. `code` None: it took too long."""
    lines = output.splitlines()
    last = lines[-1] if lines else ""
    if code is None and isLate:
        return "not run", f"no time left after {limit:.1f} s of it", errors
    if code is None:
        return "FAILED", f"took more than {limit:g} s", errors or f"its last line: {last}"
    if code < 0:
        name = signal.Signals(-code).name
        return "FAILED", f"ended by {name}", errors or f"its last line: {last}"
    if code == probes.MISSING:
        why = re.search(r"^missing: (.*)", errors, re.M)
        return "missing", why.group(1) if why else errors, ""
    if code == probes.NO_TIME:
        return "not run", last, ""
    if code:
        return "FAILED", last or f"exit {code}", errors or output
    return "ok", last, ""


def run(context, options, machine):
    smoke = Smoke(context, options, machine)

    def stop(*_):  # what is known so far stays, in the folder
        if smoke.process:
            smoke.endProcess()
        smoke.write()
        shutil.rmtree(context.scratch, ignore_errors=True)
        os._exit(75)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    return smoke.runAll()
