"""Trains three epochs of batches of 4, 4 and 2 rows in two ways, and compares every loss and the weights.

    pad_last_batch.py FOLDER LOSS FOUR.mlir TWO.mlir ALL.npz WHOLE.npz REST.npz

FOUR and TWO are one model at two batch sizes; ALL has the rows of WHOLE (8) and REST (2). One program pads. The
two others take turns: each continues with the states of the other's run.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tools/scripts"))
import npz

EPOCHS = 3


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def losses(path):
    with open(path) as file:
        return [json.loads(line)["loss"] for line in file]


def close(a, b):
    return abs(a - b) <= 2e-6 * max(1, abs(b))


def main():
    folder, loss, four, two, everything, whole, rest = sys.argv[1:]
    folder = os.path.join(folder, loss.replace(":", "-"))
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    at = lambda name: os.path.join(folder, name)
    options = ("--train", f"--loss={loss}", "--optimizer=adam", "--lr=0.05")
    pads = () if "ignore_index" in loss else ("--pad-last-batch",)
    run("sinterc", four, "-o", at("pads"), *options, *pads)
    run("sinterc", four, "-o", at("four"), *options)
    run("sinterc", two, "-o", at("two"), *options)
    order = ("--shuffle=false", "--quiet")
    run(at("pads"), f"--data=npz:{everything}", f"--epochs={EPOCHS}", "--last-batch=pad", *order,
        f"--log-json={at('pads.json')}", f"--out={at('run')}")
    run(at("pads"), "export", f"--checkpoint={at('run')}", "-o", at("pads.safetensors"))
    expected, weights = [], None
    for step in range(2 * EPOCHS):
        name, data, steps = ("four", whole, 2) if step % 2 == 0 else ("two", rest, 1)
        out = at(f"run{step}")
        start = ("--init-slots", f"--init={weights}") if weights else ()
        run(at(name), f"--data=npz:{data}", f"--steps={steps}", *order, *start, f"--out={out}",
            f"--log-json={at('part.json')}")
        expected += losses(at("part.json"))
        weights = at(f"weights{step}.safetensors")
        run(at(name), "export", f"--checkpoint={out}", "-o", weights)
    actual = losses(at("pads.json"))
    if len(actual) != 3 * EPOCHS or not all(map(close, actual, expected)):
        sys.exit(f"{loss}: losses {actual}, expected {expected}")
    ours, theirs = npz.readSafetensors(at("pads.safetensors")), npz.readSafetensors(weights)
    for name, tensor in theirs.items():
        if not all(map(close, ours[name].values, tensor.values)):
            sys.exit(f"{loss}: {name} is {ours[name].values}, expected {tensor.values}")


main()
