#!/usr/bin/env python3
"""Stands in for sinter-gpu-probe: some probes go wrong, each in its own way. The others run.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import os
import signal
import subprocess
import sys

real = os.path.join(os.path.dirname(sys.argv[0]), "real-probe")
name = sys.argv[1]
if name == "convolutions":  # hangs, with a child that would outlive it
    print("before it hangs", flush=True)
    child = subprocess.Popen(["sleep", "100"])
    print(f"child {child.pid}", flush=True)
    child.wait()
if name == "sums":
    os.kill(os.getpid(), signal.SIGSEGV)
if name == "attention":
    sys.exit("two lines\nof an error")
os.execv(real, [real, *sys.argv[1:], *(["--spoil"] if name != "load" else [])])
