#!/usr/bin/env python3
"""Runs the tests that CTest knows and counts the cases inside each of them.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Called by `tools/dev test`. CTest's registry (test/CMakeLists.txt) lists the tests. One Catch2
program or one lit run contains many cases, so their own summaries are read.
The last line is `N passed, N failed, N skipped`; the exit code is 1 if any failed.
"""

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import time

# What lit and Catch2 print at the end, and the last line of our own scripts.
OWN_SUMMARY = re.compile(r"(\d+) passed, (\d+) failed, (\d+) skipped\s*$", re.M)
CATCH_PASSED = re.compile(r"^All tests passed \(.* in (\d+) test cases?\)", re.M)
CATCH_MIXED = re.compile(r"^test cases: +(\d+)(.*)$", re.M)
LIT_TOTAL = re.compile(r"^Total Discovered Tests: \d+", re.M)
LIT_LINE = re.compile(r"^  ([A-Z][A-Za-z ]+?) *: +(\d+)", re.M)
LIT_KINDS = {
    "Passed": 0, "Passed With Retry": 0, "Expectedly Failed": 0,
    "Failed": 1, "Unexpectedly Passed": 1, "Unresolved": 1, "Timed Out": 1,
    "Unsupported": 2, "Skipped": 2,
}


def countCases(output, exitCode):
    """(passed, failed, skipped) of one test program; at least one case."""
    counts = [0, 0, 0]
    if LIT_TOTAL.search(output):
        for kind, n in LIT_LINE.findall(output[LIT_TOTAL.search(output).end():]):
            if kind in LIT_KINDS:
                counts[LIT_KINDS[kind]] += int(n)
    elif match := CATCH_PASSED.search(output):
        counts[0] = int(match.group(1))
    elif match := CATCH_MIXED.search(output):
        failed = re.search(r"(\d+) failed", match.group(2))
        expected = re.search(r"(\d+) failed as expected", match.group(2))
        counts[1] = int(failed.group(1)) if failed else 0
        counts[1] -= int(expected.group(1)) if expected and not failed else 0
        counts[0] = int(match.group(1)) - counts[1]
    elif matches := OWN_SUMMARY.findall(output):
        counts = [int(n) for n in matches[-1]]
    if exitCode != 0 and counts[1] == 0:
        counts[1] = 1  # it crashed, timed out or failed outside its cases
    if sum(counts) == 0:
        counts[1 if "No tests ran" in output else 0] = 1
    return counts


def registeredTests(build):
    """CTest's list: dictionaries with name, command and properties."""
    listing = subprocess.run(
        ["ctest", "--test-dir", build, "--show-only=json-v1"],
        check=True, capture_output=True, text=True)
    return json.loads(listing.stdout)["tests"]


def runOne(test, jobs):
    """Runs one registered test; (exit code, output, seconds, skipped)."""
    if "command" not in test:
        return 1, "the program was not built\n", 0.0, False
    properties = {p["name"]: p["value"] for p in test.get("properties", [])}
    environment = dict(os.environ, LIT_OPTS=f"-j {jobs}")
    for entry in properties.get("ENVIRONMENT", []):
        name, _, value = entry.partition("=")
        environment[name] = value
    start = time.monotonic()
    # A file, not a pipe: a child that outlives a timed-out test must not block us.
    with tempfile.TemporaryFile(mode="w+", errors="replace") as log:
        process = subprocess.Popen(
            test["command"], stdin=subprocess.DEVNULL, stdout=log,
            stderr=subprocess.STDOUT, env=environment, start_new_session=True,
            cwd=properties.get("WORKING_DIRECTORY"))
        try:
            code = process.wait(timeout=float(properties.get("TIMEOUT", 2400)))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            code = 124
            log.seek(0, os.SEEK_END)
            log.write("\ntimed out\n")
        log.seek(0)
        output = log.read()
    skipped = code != 0 and str(code) == str(properties.get("SKIP_RETURN_CODE", ""))
    return code, output, time.monotonic() - start, skipped


def results(tests, jobs):
    """Runs the tests and yields each with what runOne returned, in the order in which they end.

    Tests with CTest's property RUN_SERIAL use all processors: they run one after the other, with
    `jobs` jobs each. All others use one processor, so `jobs` of them run at the same time.
    """
    def isSerial(test):
        return any(p["name"] == "RUN_SERIAL" and p["value"] for p in test.get("properties", []))

    for test in filter(isSerial, tests):
        yield test, runOne(test, jobs)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(runOne, test, 1): test for test in tests if not isSerial(test)}
        for done in concurrent.futures.as_completed(running):
            yield running[done], done.result()


def skipReasons(output):
    """The lines in which lit and our scripts name the tests that they skipped."""
    lines, listing = [], False
    for line in output.splitlines():
        if line.startswith(("Unsupported Tests (", "Skipped Tests (")):
            listing = True
        elif listing and line.startswith("  "):
            lines.append(line.strip())
        else:
            listing = False
            if line.startswith("skipped: "):
                lines.append(line[len("skipped: "):])
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build folder")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--filter", default="", help="only tests whose name matches")
    parser.add_argument("--long", action="store_true",
                        help="more schedules of threads and more random graphs")
    options = parser.parse_args()
    if options.long:
        os.environ["SINTER_LONG_TESTS"] = "1"  # for test/lit.cfg.py

    tests = [t for t in registeredTests(options.build)
             if re.search(options.filter, t["name"])]
    totals, failures, skips = [0, 0, 0], [], []
    for test, (code, output, seconds, skipped) in results(tests, options.jobs):
        counts = [0, 0, 1] if skipped else countCases(output, code)
        totals = [a + b for a, b in zip(totals, counts)]
        verdict = "FAIL" if counts[1] else "ok  "
        print(f"{verdict} {test['name']:<28} {counts[0]:5} passed {counts[1]:4} failed"
              f" {counts[2]:4} skipped {seconds:7.1f} s", flush=True)
        skips += [f"{test['name']}: {line}" for line in skipReasons(output)]
        if counts[1]:
            failures.append(test["name"])
            print(output.rstrip(), flush=True)
    if not tests:
        print("no test is registered")
        totals[1] = 1
    if skips:
        print("skipped:", *skips, sep="\n  ")
    if failures:
        print("failed:", ", ".join(failures))
    print(f"{totals[0]} passed, {totals[1]} failed, {totals[2]} skipped")
    return 1 if totals[1] else 0


if __name__ == "__main__":
    sys.exit(main())
