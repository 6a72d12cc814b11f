#!/usr/bin/env python3
"""Stands in for sinter-gpu-probe: some probes go wrong, each in its own way. The others run.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import os
import signal
import subprocess
import sys
import time

real = os.path.join(os.path.dirname(sys.argv[0]), "real-probe")
name = sys.argv[1]
if name == "load" and os.environ.get("FAKE_LOAD"):  # compiles slowly
    with open(sys.argv[2], encoding="utf-8") as file:
        entries = [line.split() for line in file]
    sizes = [int(size) for *_, size in entries]
    if os.environ["FAKE_LOAD"] == "1, sorted":
        assert sizes == sorted(sizes), "the smallest are not first"
    for number, (path, offset, _) in enumerate(entries):
        if number == int(os.environ["FAKE_LOAD"][0]):
            if os.environ["FAKE_LOAD"] == "1, failed":
                print(f"{number:8.3f} s  failed    {path}, byte {offset}: refused", flush=True)
            time.sleep(100)
        print(f"{number:8.3f} s  ok        {path}, byte {offset}: 1 kernels", flush=True)
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
