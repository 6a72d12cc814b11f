"""Measures the time to an accuracy on Fashion-MNIST, from the start of a fresh process.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

bench.py calls this for the rows of a wave. Each side is a process that prints the test
accuracy after each epoch: Sinter's trainer, and learn.py. The time is from the fork to the
line, so it includes compiling, reading and evaluations.
"""

import gzip
import os
import re
import statistics
import struct
import sys
import time

import workloads
from npz import writeNpz
from sides import Process, SideError, TookTooLong

HERE = os.path.dirname(os.path.abspath(__file__))
DEBIAN = "/usr/share/datasets/fashion-mnist"
GOAL, EPOCHS = 88.0, 15  # percent of the test, and epochs at most
SIDES = {"torch": ["torch-eager", "torch-graph"]}  # of a kind of peers; others are one
FILES = {"train": "train", "test": "t10k"}


def readIdx(path):
    """(shape, bytes) of a gzipped idx file of bytes."""
    with gzip.open(path) as file:
        data = file.read()
    rank = data[3]
    return struct.unpack(f">{rank}I", data[4:4 + 4 * rank]), data[4 + 4 * rank:]


def writeImages(source, folder):
    """images-train.npz and images-test.npz, an image a row of bytes."""
    for part, name in FILES.items():
        arrays = {}
        for array, file in (("x", "images-idx3"), ("labels", "labels-idx1")):
            shape, data = readIdx(os.path.join(source, f"{name}-{file}-ubyte.gz"))
            dims = (shape[0], len(data) // shape[0]) if array == "x" else shape
            arrays[array] = "|u1", dims, data
        writeNpz(os.path.join(folder, f"images-{part}.npz"), arrays)


class Accuracy:
    """Of one row. `bench` has the files, the words of programs and the results."""

    def __init__(self, bench, row, kinds, end):
        self.bench, self.row, self.end = bench, row, end
        self.title = workloads.TITLES["accuracy"] + row.name
        isCuda = bench.peersDevice.startswith("cuda")
        self.sides = ["sinter", *(side for kind in kinds for side in SIDES.get(kind, [kind])
                                  if isCuda or side != "torch-graph")]

    def run(self):
        begin, lines = time.monotonic(), {}
        for side in self.sides:
            try:
                lines[side] = self.follow(side)
            except SideError as error:
                isLate = isinstance(error, TookTooLong)
                outcome = "failed" if side == "sinter" and not isLate else "skipped"
                name = self.title + ("" if side == "sinter" else f": {side}")
                self.bench.results.add("bench", name, outcome, time.monotonic() - begin,
                                       str(error))
                if side == "sinter":
                    return
        texts, numbers = figures(lines)
        isReached = lines["sinter"][-1][1] >= GOAL
        self.bench.results.add("bench", self.title, "measured" if isReached else "failed",
                               time.monotonic() - begin, "; ".join(texts), **numbers)

    def follow(self, side):
        """[(seconds since the fork, percent)] after each epoch, up to the goal."""
        command, environment = self.words(side)
        lines, begin = [], time.monotonic()
        process = Process(command, self.bench.log("accuracy", side, self.row.file), environment)
        try:
            while len(lines) < EPOCHS and (not lines or lines[-1][1] < GOAL):
                found = re.match(r"step \d+: accuracy ([\d.]+) %",
                                 process.line(self.end - time.monotonic()))
                if found:
                    lines.append((time.monotonic() - begin, float(found.group(1))))
        finally:
            process.close()
        return lines

    def words(self, side):
        """The command and the environment."""
        bench, row = self.bench, self.row
        weights = os.path.join(bench.scratch, workloads.weightsOf(row.network, bench.context.small))
        if side != "sinter":
            return [sys.executable, os.path.join(HERE, "learn.py"), side, bench.scratch,
                    bench.peersDevice, row.name, str(EPOCHS),
                    *(["--small"] if bench.context.small else [])], bench.peersEnvironment()
        train, test = (os.path.join(bench.scratch, f"images-{part}.npz") for part in FILES)
        return [*bench.launcher, os.path.join(bench.folder, row.file), "train", bench.device,
                f"--data=npz:{train}", f"--eval-data=npz:{test}", f"--init={weights}",
                f"--epochs={EPOCHS}", "--seed=1", "--workers=4", "--checkpoint-every=0",
                f"--out={os.path.join(bench.scratch, row.file + '-run')}"], \
            bench.context.environment


def figures(lines):
    """A row's texts and numbers. An epoch's time is the median of those after the first."""
    numbers, texts = {}, []
    for side, own in lines.items():
        name, seconds = side.replace("-", "_") + "_", own[-1][0]
        later = [after - before for (before, _), (after, _) in zip(own, own[1:])]
        epoch = statistics.median(later) if later else None
        isReached = own[-1][1] >= GOAL
        numbers.update({name + "s": seconds if isReached else None, name + "epoch_s": epoch,
                        name + "epochs": len(own), name + "accuracies": [line[1] for line in own]})
        texts.append(f"{side} {seconds:.2f} s, {len(own)} epochs" +
                     (f" of {epoch:.3f} s" if later else "") +
                     ("" if isReached else f": not reached, {own[-1][1]:.2f} %"))
    return texts, numbers
