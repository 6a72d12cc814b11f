#!/usr/bin/env python3
"""Runs the ONNX node tests; `tools/dev conformance` and CTest call it.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

The tests are those of Debian's libonnx-testdata (or --data=DIR). Without them everything
is skipped, and the last line says so. What fails in every mode is listed in
expected-fail.txt, what fails in one mode only in expected-fail-MODE.txt. Other options go
to the runner.
"""

import argparse
import os
import subprocess
import sys

DATA = "/usr/share/libonnx-testdata/data/node"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="the build folder")
    parser.add_argument("--data", default=DATA, help="folder of the tests")
    parser.add_argument("--mode", default="jit", choices=["jit", "eval", "sim"],
                        help="compiled and run in memory, by reference evaluation, or "
                             "on the simulated CUDA device")
    options, rest = parser.parse_known_args()
    if not os.path.isdir(options.data):
        print(f"conformance: no tests at {options.data}; install libonnx-testdata")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    here = os.path.dirname(os.path.abspath(__file__))
    lists = [os.path.join(here, "expected-fail.txt")]
    ofMode = os.path.join(here, f"expected-fail-{options.mode}.txt")
    if os.path.exists(ofMode):
        lists.append(ofMode)
    command = [os.path.join(options.build, "bin", "sinter-conformance"),
               f"--data={options.data}", f"--mode={options.mode}",
               f"--jobs={os.cpu_count() or 1}"]
    command += [f"--expected-fail={path}" for path in lists]
    return subprocess.run(command + rest).returncode


if __name__ == "__main__":
    sys.exit(main())
