"""Trains with decreasing --memory-limit and compares every bit with a run without a limit.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    memory_limit.py SCRATCH_FOLDER TARGET LEAST MODEL.onnx DATA.npz sinterc's options...

Activation memory goes from 90 % to LEAST % of its size without recomputation, in
steps of 10. Each trainer must have the losses and states of the trainer that recomputes
nothing, and must run on a device with exactly the limit's memory. So must the trainer without
a limit. Below the smallest limit sinterc must end with 6, and the limit that it names
must fit. Prints a line per limit and `N passed, M failed, 0 skipped`.
"""

import json
import os
import re
import subprocess
import sys


def compiled(folder, target, model, options, limit=None):
    """(exit code, stderr, bytes in all, bytes of the arena, kernels that run again)"""
    remarks = os.path.join(folder, "remarks.json")
    command = ["sinterc", model, "-o", os.path.join(folder, "trainer"), "--train",
               f"--target={target}", "--workspace=1MiB", "--remarks=" + remarks, *options]
    done = subprocess.run(command + ([f"--memory-limit={limit}"] if limit else []),
                          capture_output=True, text=True)
    total = arena = again = 0
    with open(remarks) as file:
        for line in file:
            remark = json.loads(line)
            if remark["pass"] == "memory":
                total, arena = map(int, re.search(r"(\d+) bytes, of which arena (\d+)",
                                                  remark["text"]).groups())
            if remark["pass"] == "rematerialize" and remark["kind"] != "updates divided":
                again += remark["count"]
    return done.returncode, done.stderr.strip(), total, arena, again


def trained(folder, data, limit=None):
    """Losses as text and the bytes of all states."""
    trainer, out = os.path.join(folder, "trainer"), os.path.join(folder, "run")
    log, states = os.path.join(folder, "log.json"), os.path.join(folder, "s.safetensors")
    subprocess.run(["rm", "-rf", out], check=True)
    command = [trainer, f"--data=npz:{data}", "--steps=6", "--out=" + out, "--log-json=" + log,
               "--seed=3", "--quiet"] + ([f"--memory-limit={limit}"] if limit else [])
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip(), b""
    subprocess.run([trainer, "export", "--checkpoint=" + out, "-o", states], check=True,
                   capture_output=True)
    with open(log) as text, open(states, "rb") as file:
        return [json.loads(line).get("loss") for line in text], file.read()


def main():
    folder, target, least, model, data = sys.argv[1:6]
    options = sys.argv[6:]
    code, text, total, arena, _ = compiled(folder, target, model, [*options, "--remat=none"])
    if code:
        sys.exit(text)
    expected = trained(folder, data)
    passed = failed = anyAgain = 0

    def check(what, isRight):
        nonlocal passed, failed
        passed, failed = passed + bool(isRight), failed + (not isRight)
        print(what + ("" if isRight else ": WRONG"))

    code, text, used, activations, again = compiled(folder, target, model, options)
    check(f"no limit: {100 * activations // arena} % used, {again} kernels again {text}",
          code == 0 and used <= total and trained(folder, data) == expected)
    for percent in range(90, int(least) - 1, -10):
        limit = total - arena + arena * percent // 100
        code, text, used, activations, again = compiled(folder, target, model, options, limit)
        anyAgain += again
        isRight = code == 0 and used <= limit and "peak memory of" in text
        isRight = isRight and trained(folder, data, limit) == expected
        check(f"{percent} %: {100 * activations // arena} % used,"
              f" {again} kernels again {text if code else ''}", isRight)
    check(f"{anyAgain} kernels again in all", anyAgain > 0)
    code, text, *_ = compiled(folder, target, model, options, total - arena + arena // 20)
    floor = re.search(r"largest values at the peak: .* of .*; the smallest limit that fits is"
                      r" (\d+) bytes", text)
    check(f"5 %: exit {code}", code == 6 and floor)
    if floor:
        code, text, *_ = compiled(folder, target, model, options, floor.group(1))
        check("the floor fits", code == 0 and trained(folder, data) == expected)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
