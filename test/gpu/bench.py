#!/usr/bin/env python3
"""Compares times of networks with PyTorch and JAX: the bench rows of test/gpu.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    bench.py prepare --build=BUILD --out=FOLDER [--target=cuda] [--small] [--only=TEXT]
    bench.py run FOLDER [--device=cuda:0] [--minutes=4] [--json=FILE] [--small]
                 [--only=TEXT] [--peers=cuda:0|cpu|none] [--against=torch,torch-compile,jax]
                 [--data=FOLDER] [--machine=FILE] [--memory=GIB]

`prepare` needs no GPU; it compiles trainers and checks that they call what they should.
`run` needs the driver and Python; PyTorch and JAX are compared with where they are
installed. Rows run in waves, which are split into parts that fit the GPU's memory (memory.py);
rows that fill it are measured beside some kinds of peers at a time. Everything in a part is
prepared first, several processes at a time: peers compile meanwhile, and what is not ready in
time is skipped and named. Then one row after another is measured while everything else waits, in
rounds: each side in turn for about the same time; the figure is the median of the rounds' ratios.

--only=TEXT;TEXT.. chooses rows whose title has one of the texts. Titles of cold starts and
accuracies have a colon; only texts with one choose them: --only="infer;cold start: mlp".
--machine has the JSON of a run of the machine group, whose rates floors are computed with.
The JSON file is complete after every row.

Sinter's training reads and copies each batch from the host, as a trainer does; the peers'
batches are on the device. Inference goes from host memory to host memory on
all sides. Weights are the same, and losses or outputs must agree.
"""

import argparse
import json
import multiprocessing
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor

import accuracy
import floors
import memory
import weights
import workloads
from coldstart import ColdStart
from libraries import Machine
from preparerows import prepareAlone
from results import Results
from sides import (Peer, Process, SideError, Sinter, TookTooLong, askGpu, inParallel, preparePeers,
                   processors, tellGpu)

HERE = os.path.dirname(os.path.abspath(__file__))
FIRST_STEPS = 3  # as in peers.py
PEERS = ["torch", "torch-compile", "jax"]
ROUNDS, ROUND_MS = 7, 100
CLOCKS = {"clocks.sm": "sm_mhz", "clocks.mem": "memory_mhz", "temperature.gpu": "celsius",
          "power.draw": "watt"}
PREPARING = 0.65  # of a wave's time, at most
LEAST_SECONDS = 20  # of a wave


# --- run -------------------------------------------------------------------------------------


class Bench:
    def __init__(self, context, results):
        self.context, self.results = context, results
        self.folder = os.path.join(context.folder, "bench")
        self.scratch = os.path.join(context.scratch, "bench")
        os.makedirs(self.scratch, exist_ok=True)
        with open(os.path.join(self.folder, "rows.json")) as file:
            self.facts = json.load(file)
        self.device = f"--device={context.device}"
        own = context.device if context.device.startswith("cuda") else "none"
        self.ceilings, self.ceilingsOf = floors.ceilings(
            results.rows, getattr(context, "machine", None),
            tellGpu(context.device, "name").get("name", ""))
        self.memory = getattr(context, "memory", None) or \
            askGpu(context.device, "memory.total").get("memory.total", 0) * 2**20
        self.launcher = getattr(context, "launcher", [])  # of programs in the folder
        self.peersDevice = getattr(context, "peers", None) or own
        self.only = getattr(context, "only", None) or ""
        self.against = [] if self.peersDevice == "none" else \
            (getattr(context, "against", None) or ",".join(PEERS)).split(",")

    def run(self):
        if not self.against:
            self.results.add("bench", "peers", "skipped", 0, "compared with on a GPU only")
        if not self.ceilings and self.context.device.startswith("cuda"):
            self.results.add("bench", "floors", "skipped", 0, self.ceilingsOf)
        waves = list(self.waves())
        rest = sum(wave.share for wave, _ in waves)
        for wave, kinds in waves:
            seconds = self.context.left() * wave.share / rest
            seconds = max(seconds, min(LEAST_SECONDS, self.context.left()))
            rest -= wave.share
            self.begin(wave, kinds)
            if seconds < LEAST_SECONDS and not self.context.small:
                for row in wave.rows:
                    self.results.add("bench", self.titles[row], "skipped", 0, "no time left")
                continue
            run = {"cold": self.runColdStarts, "accuracy": self.runAccuracy}
            run.get(wave.kind, self.runWave)(wave.rows, kinds, time.monotonic() + seconds)

    def waves(self):
        """(Wave, kinds of peers) of the rows that are wanted."""
        for wave in workloads.waves(self.context.small):
            rows = [row for row in wave.rows
                    if workloads.isChosen(self.only, wave.title(row)) and row.name in self.facts]
            parts = self.parts(wave, rows) if rows else []
            whole = sum(map(weight, parts))
            for part in parts:
                yield wave._replace(rows=part[0], share=wave.share * weight(part) / whole), part[1]

    def parts(self, wave, rows):
        """[(rows, kinds of peers)] that are in the GPU's memory at a time."""
        if wave.kind == "large" and self.against:
            return [(rows, [kind]) for kind in self.against]
        if wave.kind in ("cold", "accuracy"):  # one process after the other
            return [(rows, self.against)]
        return memory.parts(
            rows, self.against,
            lambda row, kind: memory.needed(kind, self.facts[row.name], len(oursOf(row))),
            memory.SHARE * self.memory if self.memory else None)

    def begin(self, wave, kinds):
        self.processes = []
        # By row's name; ours is the first side.
        self.sides = {row.name: [] for row in wave.rows}
        self.reasons = {row.name: {} for row in wave.rows}
        isPart = kinds and (wave.kind == "large" or kinds != self.against)
        beside = f" beside {', '.join(kinds)}" if isPart else ""
        self.titles = {row: wave.title(row) + beside for row in wave.rows}

    def runColdStarts(self, rows, kinds, end):
        self.writeFiles(rows)
        for row in rows:
            ColdStart(self, row, kinds, end).run()

    def runAccuracy(self, rows, kinds, end):
        source = self.context.data or ("" if self.context.small else accuracy.DEBIAN)
        if not os.path.isdir(source):
            for row in rows:
                self.results.add("bench", self.titles[row], "skipped", 0,
                                 "no --data=FOLDER of Fashion-MNIST's files")
            return
        self.writeFiles(rows)
        accuracy.writeImages(source, self.scratch)
        for row in rows:
            accuracy.Accuracy(self, row, kinds, end).run()

    def runWave(self, rows, kinds, end):
        try:
            self.prepareWave(rows, kinds, end)
            for row in rows:
                self.measureRow(row, end)
        finally:
            for process in self.processes:
                process.close()

    # --- preparing ---

    def prepareWave(self, rows, kinds, end):
        seconds = PREPARING * (end - time.monotonic())
        begin = time.monotonic()
        self.writeFiles(rows)

        def rest():
            return begin + seconds - time.monotonic()
        # Alone, since libraries choose by time what steps will be made of.
        for row in rows:
            for name in oursOf(row) if row.kind == "train" else []:
                self.startSinter(name, row, rest())
        jobs = [lambda name=name, row=row: self.startSinter(name, row, rest())
                for row in rows if row.kind == "infer" for name in oursOf(row)]
        jobs += [lambda kind=kind, rows=some: self.startPeers(kind, rows, rest())
                 for kind, some in self.peerProcesses(rows) if kind in kinds]
        inParallel(jobs, max(2, processors() // 2))
        print(f"bench: prepared in {time.monotonic() - begin:.0f} s", flush=True)

    def writeFiles(self, rows):
        small = self.context.small
        # Forked: whoever calls this need not be importable.
        forking = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(processors(), mp_context=forking) as pool:
            done = []
            for name in {workloads.weightsOf(row.network, small): None for row in rows}:
                path = os.path.join(self.scratch, name)
                listing = os.path.join(self.folder, name.replace(".safetensors", ".json"))
                if not os.path.exists(path):
                    with open(listing) as file:
                        done.append(pool.submit(weights.write, json.load(file), path))
            for row in rows:
                if not os.path.exists(self.data(row)):
                    done.append(pool.submit(workloads.writeData, row, small, self.data(row)))
            for each in done:
                each.result()

    def peerProcesses(self, rows):
        """Compiling takes long: each row has a process of its own, the first rows first."""
        networks = list({row.network: None for row in rows})
        for network in networks:
            some = [row for row in rows if row.network == network]
            yield "torch", some
            yield "jax", some
            yield "torch-compile", some[:1]
        for network in networks:
            for row in [row for row in rows if row.network == network][1:]:
                yield "torch-compile", [row]

    def log(self, *words):
        return os.path.join(self.scratch, "-".join(words).replace(" ", "-") + ".log")

    def startSinter(self, name, row, seconds):
        command, output = self.sinter(name, row)
        begin = time.monotonic()
        key = "ms_per_step" if row.kind == "train" else "ms_per_run"
        try:
            side = Sinter(name, [*self.launcher, *command], self.log(name, row.file),
                          self.context.environment, key, output)
            self.processes.append(side.process)
            side.prepare(max(seconds, 1), FIRST_STEPS)
            side.seconds = time.monotonic() - begin
            self.sides[row.name].insert(0 if name == "sinter" else 1, side)
        except SideError as error:
            # If it had less than a second, the row has no time left: it is skipped.
            if seconds >= 1 or not isinstance(error, TookTooLong):
                self.reasons[row.name][name] = str(error)

    def sinter(self, name, row):
        """Its words, and the file of an inference's output."""
        if row.kind == "train":
            init = os.path.join(self.scratch,
                                workloads.weightsOf(row.network, self.context.small))
            return [os.path.join(self.folder, workloads.trainerOf(row, name)), "bench", "--json", self.device,
                    "--shuffle=false", f"--data=npz:{self.data(row)}", f"--init={init}",
                    "--workers=4"], None
        graph = workloads.graph(row, self.context.small) + ".onnx"
        model = os.path.join(self.scratch, graph)
        if not os.path.exists(model):
            shutil.copy(os.path.join(self.folder, graph), model)
        command, output = self.runner(name, row, model)
        return command + workloads.compileOptions(row, name), output

    def runner(self, name, row, model):
        """As sinter(), of a model or a library."""
        output = os.path.join(self.scratch, f"{row.file}-{name}.npz")
        return [os.path.join(self.context.folder, "bin", "sinter-run"), model,
                f"--inputs={self.data(row)}", f"--outputs={output}", self.device, "--bench",
                "--rounds=stdin"], output

    def data(self, row):
        return os.path.join(self.scratch, row.file + ".npz")

    def peer(self, kind):
        """Its words and environment."""
        command = [sys.executable, os.path.join(HERE, "peers.py"), kind, self.scratch,
                   self.peersDevice, *(["--small"] if self.context.small else [])]
        return command, self.peersEnvironment()

    def peersEnvironment(self):
        return dict(os.environ, TORCHINDUCTOR_COMPILE_THREADS="8")

    def startPeers(self, kind, rows, seconds):
        if seconds < 5:
            found = {row.name: ([], {kind: "no time left"}) for row in rows}
        else:
            command, environment = self.peer(kind)
            process = Process(command, self.log(kind, rows[0].file), environment)
            self.processes.append(process)
            found = preparePeers(process, kind, rows, seconds)
        for name, (sides, reasons) in found.items():
            self.sides[name].extend(sides)
            self.reasons[name].update(reasons)

    # --- measuring ---

    def measureRow(self, row, end):
        begin, title = time.monotonic(), self.titles[row]
        sides, reasons = self.sides[row.name], self.reasons[row.name]
        failures = [reasons.pop(name) for name in oursOf(row) if name in reasons]
        for kind, why in reasons.items():
            self.results.add("bench", f"{title}: {kind}", "skipped", 0, why)
        if failures:
            self.results.add("bench", title, "failed", 0, failures[0])
            return
        if end - begin < 1:
            self.results.add("bench", title, "skipped", 0, "no time left")
            return
        try:
            problems = self.agreement(row, sides)
            rounds = self.rounds(row, sides, end)
        except SideError as error:
            self.results.add("bench", title, "failed", time.monotonic() - begin, str(error))
            return
        numbers = self.numbers(row, sides, rounds)
        floor = [f"{numbers['of_floor']:.3g} of its floor"] if self.ceilings else []
        detail = "; ".join([f"{numbers['sinter_ms']:.4f} ms", *floor,
                            *(ratioText(side, numbers) for side in sides[1:]), *problems])
        self.results.add("bench", title, "failed" if problems else "measured",
                         time.monotonic() - begin, detail, **numbers)

    def drop(self, row, sides, side, error):
        """A peer that fails leaves the row; without ours there is none."""
        if not isinstance(side, Peer):
            raise error
        sides.remove(side)
        self.results.add("bench", f"{self.titles[row]}: {side.name}", "skipped", 0, str(error))

    def agreement(self, row, sides):
        """What is wrong; notes each side's difference from ours, which has none from itself."""
        ours, problems = sides[0], []
        for side in sides[1:]:
            limit = 0 if side.name in ("sinter-again", "sinter-streams") else workloads.TOLERANCE[row.precision]
            try:
                side.error = abs(side.loss - ours.loss) / abs(ours.loss) \
                    if row.kind == "train" else side.check(ours.output, 30)
            except SideError as error:
                self.drop(row, sides, side, error)
                continue
            if not side.error <= limit:
                problems.append(f"{side.name} differs by {side.error:.2g}, {limit:g} allowed")
        return problems

    def rounds(self, row, sides, end):
        """{side: [ms]}, the sides in turn."""
        rounds, small, counts = defaultdict(list), self.context.small, {}
        for side in list(sides):
            try:
                ms = side.measure(1, max(end - time.monotonic(), 10))
                ms = ms if small else side.measure(max(1, int(20 / max(ms, 0.01))), 30)
                counts[side] = 1 if small else max(2, min(100000, int(ROUND_MS / max(ms, 0.001))))
            except SideError as error:
                self.drop(row, sides, side, error)
        for index in range(2 if small else ROUNDS):
            if index and end - time.monotonic() < 0:
                break
            for side in list(sides):
                try:
                    rounds[side].append(side.measure(counts[side], 60))
                except SideError as error:
                    self.drop(row, sides, side, error)
        return rounds

    def numbers(self, row, sides, rounds):
        numbers = dict(self.facts[row.name], rounds=len(rounds[sides[0]]),
                       sinter_ready_s=round(sides[0].seconds, 2), **self.clocks())
        for side in sides:
            name = key(side)
            numbers.update(spread(name + "_ms", rounds[side]))
            if side is sides[0]:
                continue
            ratios = [theirs / ours for theirs, ours in zip(rounds[side], rounds[sides[0]])]
            numbers.update(spread(name + "_ratio", ratios))
            numbers[name + "_ratios"] = [round(ratio, 4) for ratio in ratios]
            numbers[name + "_error"] = side.error
            if isinstance(side, Peer):
                numbers[name + "_bytes"] = side.bytes
        if self.ceilings:
            floor = floors.floorMs(row, numbers, self.ceilings)
            numbers.update(floor_ms=floor, of_floor=numbers["sinter_ms"] / floor,
                           floor_of=self.ceilingsOf)
        return numbers

    def clocks(self):
        """Of the GPU right after a row."""
        return {CLOCKS[name]: value
                for name, value in askGpu(self.context.device, *CLOCKS).items()}


def weight(part):
    """A share of a wave's time: processes get ready at the same time, and rows are measured one
    after the other. torch.compile takes longest to get ready."""
    rows, kinds = part
    return len(rows) + (6 if "torch-compile" in kinds else 3)


def key(side):
    return side.name.replace("-", "_")


def oursOf(row):
    others = {"sinter-again": workloads.AGAIN, "sinter-one": workloads.ONE_KERNEL,
              "sinter-streams": workloads.TWO_STREAMS}
    return ["sinter", *(name for name, rows in others.items() if row.name in rows)]


def spread(name, values):
    """The median, p10 and p90."""
    values, parts = sorted(values), name.rsplit("_", 1)
    tenth = int(0.1 * (len(values) - 1))
    return {name: statistics.median(values),
            "_p10_".join(parts): values[tenth], "_p90_".join(parts): values[-1 - tenth]}


def ratioText(side, numbers):
    name = key(side) + "_"
    text = f"{side.name} {numbers[name + 'ratio']:.2f}x"
    if isinstance(side, Peer):
        return text
    return text + f" ({numbers[name + 'p10_ratio']:.2f} to {numbers[name + 'p90_ratio']:.2f})"


def run(context, results):
    """`context`: folder, device, small, data, left(), scratch, environment; perhaps only,
    peers, against, machine (a file), memory (bytes)."""
    Bench(context, results).run()


# --- alone -----------------------------------------------------------------------------------


class Alone:
    """The context of a run without run.py."""

    def __init__(self, options, results, scratch):
        self.folder, self.device, self.small = \
            os.path.abspath(options.folder), options.device, options.small
        self.only, self.peers, self.against = options.only, options.peers, options.against
        self.data, self.machine = options.data, options.machine
        self.memory = options.memory and int(options.memory * 2**30)
        self.scratch, self.left = scratch, results.left
        machine = Machine(self.folder, "auto")
        self.environment, self.launcher = machine.environment, machine.launcher


def problem(options):
    """What is wrong with the options, or None."""
    titles = [wave.title(row) for wave in workloads.waves(options.small) for row in wave.rows]
    for text in filter(None, options.only.split(";")):
        if not any(workloads.isChosen(text, title) for title in titles):
            return f"--only: no row has '{text}'" + (
                "; texts of cold starts and accuracies have a colon"
                if any(text in title for title in titles) else "")
    try:
        if options.machine:
            floors.readMachine(options.machine)
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"--machine: {type(error).__name__}: {error}"
    return None


def runAlone(options):
    if why := problem(options):
        sys.exit(f"bench.py: {why}")
    scratch = tempfile.mkdtemp(prefix="sinter-gpu-")
    results = Results(options.json, options.device, options.small, 60 * options.minutes)
    results.width = None
    try:
        run(Alone(options, results, scratch), results)
    finally:
        if options.keep:
            print(f"kept: {scratch}")
        else:
            shutil.rmtree(scratch, ignore_errors=True)
    results.write(finished=True)
    failed, measured = results.count("failed"), results.count("measured")
    print(f"bench: {measured} measured, {failed} failed")
    return 1 if failed or not measured else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("prepare")
    one.add_argument("--build", required=True)
    one.add_argument("--out", required=True)
    one.add_argument("--target", default="cuda")
    two = commands.add_parser("run")
    two.add_argument("folder")
    two.add_argument("--device", default="cuda:0")
    two.add_argument("--minutes", type=float, default=4)
    two.add_argument("--json")
    two.add_argument("--peers", help="their device, or none")
    two.add_argument("--against", help="kinds of peers")
    two.add_argument("--data", help="of Fashion-MNIST's four .gz files")
    two.add_argument("--machine", help="JSON of a run of the machine group, for floors")
    two.add_argument("--memory", type=float, help="the GPU's, in GiB, if not as nvidia-smi says")
    two.add_argument("--keep", action="store_true", help="logs and data")
    for command in (one, two):
        command.add_argument("--only", default="",
                             help="rows whose title has one of these, separated by ;")
        command.add_argument("--small", action="store_true", help="small sizes, for a simulation")
    options = parser.parse_args()
    return prepareAlone(options) if options.command == "prepare" else runAlone(options)


if __name__ == "__main__":
    sys.exit(main())
