"""Processes that are kept alive and get over a pipe the number of steps or runs to time.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Python's standard library only. A side is one way to do a row's work: `measure(count)`
gives milliseconds of one step or run. Other output of a process goes to its log.
"""

import json
import os
import queue
import subprocess
import threading
import time
from itertools import zip_longest

import failures


class SideError(Exception):
    """Why a side cannot be measured: one line."""


class TookTooLong(SideError):
    pass


class Process:
    def __init__(self, command, log, environment):
        self.log, self.answers = log, queue.Queue()
        self.broken = None  # why it has no more figures: the first reason
        with open(log, "w") as errors:
            try:
                self.process = subprocess.Popen(command, stdin=subprocess.PIPE, text=True,
                                                stdout=subprocess.PIPE, stderr=errors,
                                                env=environment)
            except OSError as error:
                raise SideError(str(error)) from None
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put(None)

    def line(self, seconds):
        """The next that it says."""
        try:
            line = self.answers.get(timeout=max(seconds, 0.001))
        except queue.Empty:
            raise TookTooLong(f"took more than {max(seconds, 0):.0f} s") from None
        if line is None:
            raise SideError(self.lastWords())
        return line

    def ask(self, text, seconds):
        """The answer, of JSON, to a line. After one that says "broken" the process is ended, and
        all that follows fails for the reason that it gave."""
        if self.broken:
            raise SideError(self.broken)
        try:
            self.process.stdin.write(text + "\n")
            self.process.stdin.flush()
        except OSError:
            raise SideError(self.lastWords()) from None
        answer = json.loads(self.line(seconds))
        self.broken = failures.brokenBy(answer)
        if self.broken:
            self.close()
        if "skip" in answer:
            raise SideError(answer["skip"])
        return answer

    def lastWords(self):
        code = self.process.wait()
        with open(self.log, errors="replace") as file:
            lines = [line.strip() for line in file if line.strip()]
        return failures.named(f"exit {code}: {lines[-1][:200]}" if lines else f"exit {code}")

    def close(self):
        self.process.kill()
        self.process.wait()


class Sinter:
    """A trainer's bench, or sinter-run --bench --rounds=stdin."""

    def __init__(self, name, command, log, environment, key, output):
        self.name, self.key, self.output = name, key, output
        self.process = Process(command, log, environment)
        self.loss = None

    def prepare(self, seconds, steps):
        """Sets up and makes the first steps, whose last loss is compared."""
        self.loss = self.process.ask(str(steps), seconds).get("loss")

    def measure(self, count, seconds):
        return self.process.ask(str(count), seconds)[self.key]

    def check(self, path, seconds):
        """The share of bytes of its output that are not those in `path`."""
        with open(self.output, "rb") as own, open(path, "rb") as other:
            pairs = list(zip_longest(own.read(), other.read()))
        return sum(a != b for a, b in pairs) / len(pairs)


class Peer:
    """One side of a process of peers.py."""

    def __init__(self, name, row, process, loss, bytes):
        self.name, self.row, self.process = name, row, process
        self.loss, self.bytes, self.error = loss, bytes, None

    def measure(self, count, seconds):
        request = {"run": f"{self.row}|{self.name}", "count": count}
        return self.process.ask(json.dumps(request), seconds)["ms"]

    def check(self, path, seconds):
        """How far its output is from the one in `path`."""
        request = {"check": f"{self.row}|{self.name}", "output": path}
        return self.process.ask(json.dumps(request), seconds)["error"]


def preparePeers(process, kind, rows, seconds):
    """{row's name: ([Peer], {side: why not})}; a process that does not answer in time is
    ended."""
    end = time.monotonic() + seconds
    found = {row.name: ([], {kind: "no time left"}) for row in rows}
    for row in rows:
        try:
            answer = process.ask(json.dumps({"prepare": row}), end - time.monotonic())
        except SideError as error:
            found[row.name] = [], {kind: str(error)}
            if isinstance(error, TookTooLong):
                process.close()
                break
            continue
        # Those that were prepared before one broke the process have no figures, either.
        reasons = {name: process.broken or side["skip"] for name, side in answer.items()
                   if process.broken or "skip" in side}
        found[row.name] = [Peer(name, row.name, process, side["loss"], side["bytes"])
                           for name, side in answer.items() if name not in reasons], reasons
    return found


def inParallel(jobs, most):
    """Calls functions, `most` at a time, in their order; waits for all."""
    left = queue.Queue()
    for job in jobs:
        left.put(job)

    def work():
        while True:
            try:
                job = left.get_nowait()
            except queue.Empty:
                return
            job()

    threads = [threading.Thread(target=work) for _ in range(min(most, len(jobs)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def tellGpu(device, *names):
    """{name: text} of nvidia-smi, of the device now; nothing where it does not say all."""
    if not device.startswith("cuda"):
        return {}
    command = ["nvidia-smi", f"--query-gpu={','.join(names)}", "--format=csv,noheader,nounits",
               "-i", device.partition(":")[2] or "0"]
    try:
        text = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    words = text.strip().split(", ")
    return dict(zip(names, words)) if len(words) == len(names) else {}


def askGpu(device, *names):
    """As tellGpu(), of figures."""
    try:
        return {name: float(text) for name, text in tellGpu(device, *names).items()}
    except ValueError:
        return {}


def processors():
    return len(os.sched_getaffinity(0))
