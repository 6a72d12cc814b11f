"""Rows of results: printed, and written to a JSON file that is complete after every row.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import json
import os
import platform
import signal
import subprocess
import threading
import time

OUTCOMES = ("passed", "failed", "skipped", "measured")


def lastLine(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


class TimeIsUp(Exception):
    """A command was ended; `output` is what it had said."""

    def __init__(self, output=""):
        super().__init__("it took too long")
        self.output = output


RUNNING = set()


def endGroup(process):
    try:
        if IN_GROUP in os.environ:
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def endAll():
    """What execute() has not seen end, from a signal's handler."""
    for process in list(RUNNING):
        endGroup(process)


# Who starts this process ends all that it starts, by its process group: smoke.py.
IN_GROUP = "SINTER_GPU_IN_GROUP"


def execute(command, limit, **options):
    """The ended process, with .stdout and .stderr. Past `limit` seconds it is ended with all
    that it started."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               errors="replace", start_new_session=IN_GROUP not in os.environ,
                               **options)
    RUNNING.add(process)
    try:
        output, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        endGroup(process)
        raise TimeIsUp(process.communicate()[0]) from None
    finally:
        if process.poll() is None:
            endGroup(process)
            process.communicate()
        RUNNING.discard(process)
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


class Results:
    """Calls may come from several threads."""

    def __init__(self, path, device, small, seconds):
        self.path, self.begin = path, time.monotonic()
        self.end = self.deadline = self.begin + seconds
        self.rows, self.lock = [], threading.Lock()
        self.width = 160  # of a printed detail; the file has all of it
        self.areErrorsWhole = False  # instead of their last line
        self.header = {"device": device, "host": platform.node(), "small": small,
                       "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        self.write()

    def beginGroup(self, share):
        """What runs until the next call has `share` of the time that is left."""
        now = time.monotonic()
        self.deadline = now + max(0.0, self.end - now) * share

    def left(self):
        """Seconds of the group's time."""
        return self.deadline - time.monotonic()

    def seconds(self):
        return time.monotonic() - self.begin

    def count(self, outcome):
        return sum(row["outcome"] == outcome for row in self.rows)

    def add(self, group, name, outcome, seconds=0.0, detail="", **numbers):
        """outcome: one of OUTCOMES. `numbers` are the figures of a measurement."""
        assert outcome in OUTCOMES, outcome
        with self.lock:
            self.rows.append({"group": group, "name": name, "outcome": outcome,
                              "seconds": round(seconds, 3), "detail": detail, **numbers})
            print(f"{group:<13} {name:<36} {outcome:<9}{seconds:6.1f} s  {detail[:self.width]}",
                  flush=True)
            self.write()

    def write(self, finished=False):
        """Never leaves half a file. Without a path there is none."""
        if not self.path:
            return
        summary = {outcome: self.count(outcome) for outcome in OUTCOMES}
        with open(self.path + ".part", "w", encoding="utf-8") as file:
            json.dump({**self.header, "finished": finished, "seconds": round(self.seconds(), 1),
                       **summary, "rows": self.rows}, file, indent=1)
            file.write("\n")
        os.replace(self.path + ".part", self.path)

    def skip(self, group, names, why):
        for name in names:
            self.add(group, name, "skipped", 0, why)

    def attempt(self, group, name, command, most, mayLack=False, codes=(0,), since=None,
                **options):
        """Runs `command` for at most `most` seconds, fewer when the group's time runs out.
        What it printed and how long it took, if its exit code is one of `codes`; else None
        after a row that says why not: failed, or skipped where `mayLack`. A row of several
        commands took the time from `since`, of seconds(), on."""
        limit = min(most, self.left())
        if limit < 1:
            return self.skip(group, [name], "no time left")
        begin = self.seconds() if since is None else since
        try:
            done = execute(command, limit, **options)
        except TimeIsUp:
            if limit < most:
                return self.skip(group, [name], f"no time left after {limit:.0f} s of it")
            return self.add(group, name, "failed", self.seconds() - begin,
                            f"took more than {limit:.0f} s")
        except OSError as error:
            return self.add(group, name, "failed", self.seconds() - begin, str(error))
        taken = self.seconds() - begin
        if done.returncode not in codes:
            part = str.strip if self.areErrorsWhole else lastLine
            why = f"exit {done.returncode}: {part(done.stderr) or part(done.stdout)}"
            return self.add(group, name, "skipped" if mayLack else "failed", taken, why)
        return done.stdout, taken

    def run(self, group, name, command, most, check=None, outcome="passed", **options):
        """As attempt(), with a row in any case. `check` makes of the output a detail, or a
        detail and numbers, or raises ValueError. Whether all was right."""
        done = self.attempt(group, name, command, most, **options)
        if done is None:
            return False
        output, taken = done
        numbers = {}
        try:
            detail = check(output) if check else ""
            if isinstance(detail, tuple):
                detail, numbers = detail
        except (ValueError, KeyError, IndexError, TypeError, ZeroDivisionError) as error:
            kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
            self.add(group, name, "failed", taken, f"{kind}{error}")
            return False
        self.add(group, name, outcome, taken, detail, **numbers)
        return True
