"""Compares value and gradient of every op on the device with the evaluation in float64.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import subprocess

from results import lastLine

GROUP = "ops"
PROGRAM = "sinter-op-tests"


def prepare(bundle):
    """The tests by name: each is a process, so that some pass when there is no time for all."""
    if bundle.small:
        return
    bundle.addTools([PROGRAM])
    listed = subprocess.run([bundle.tool(PROGRAM), "--list-test-names-only", "[compiled]"],
                            capture_output=True, text=True).stdout  # exits with their number
    bundle.write("ops", [line.strip() for line in listed.splitlines() if line.strip()])


def allPassed(text):
    line = lastLine(text)
    if not line.startswith("All tests passed"):
        raise ValueError(line)
    return line


def run(context, results):
    tests = context.list("ops")
    if not tests:
        return results.skip(GROUP, ["op list"], f"{PROGRAM} is not in the folder")

    def check(job):
        libraries, test = job
        environment = dict(context.environment, SINTER_TEST_TARGET=context.kind,
                           SINTER_TEST_LIBRARIES=libraries)
        # A comma would end the name.
        context.run(GROUP, test + (", no libraries" if libraries == "none" else ""),
                    [*context.program("bin", PROGRAM), test.replace(",", "\\,")], 300, allPassed,
                    env=environment)
    return context.inParallel(check, [(libraries, test) for libraries in ("all", "none")
                                      for test in tests])
