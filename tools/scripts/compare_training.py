#!/usr/bin/env python3
"""Compares a training run with a reference: its losses and its final states.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    compare_training.py LOG.json STATES.safetensors REFERENCE.npz [--adam]

LOG.json is the trainer's --log-json, STATES what `export -o x.safetensors` wrote. The
reference holds `losses`, one per step, and states by name. Losses must agree to 1e-5
relative, each state to 1e-5 of its norm; with --adam, parameters (not slots and running
statistics) to 1e-3: Adam turns the rounding noise of gradients that are zero into steps.
"""

import argparse
import json
import math
import sys

from npz import readNpz, readSafetensors

NOISE, FLOAT32_NOISE = 1e-14, 1e-6


def norm(values):
    return math.sqrt(sum(v * v for v in values))


def readLosses(path):
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.strip()]
    return [line["loss"] for line in lines if "step" in line and not line.get("eval")]


def compareLosses(got, expected):
    """The problems that were found, as sentences."""
    if len(got) != len(expected):
        return [f"{len(got)} steps in the log, {len(expected)} in the reference"]
    worst = max(range(len(got)), key=lambda i: abs(got[i] - expected[i]) / abs(expected[i]))
    error = abs(got[worst] - expected[worst]) / abs(expected[worst])
    print(f"losses: worst relative error {error:.3g} in step {worst + 1}")
    if not error <= 1e-5:
        return [f"step {worst + 1}: loss {got[worst]}, reference {expected[worst]}"]
    return []


def compareState(name, got, expected, tolerance):
    if got.shape != expected.shape:
        return [f"{name}: shape {list(got.shape)}, reference {list(expected.shape)}"]
    distance = norm([a - b for a, b in zip(got.values, expected.values)])
    length = norm(expected.values)
    if length < NOISE:  # a slot of a gradient that is zero except for float64's rounding
        return [] if norm(got.values) < FLOAT32_NOISE else [f"{name}: should be zero"]
    error = distance / length
    if not error <= tolerance:
        return [f"{name}: differs by {error:.3g} of its norm, allowed is {tolerance:g}"]
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("log")
    parser.add_argument("states")
    parser.add_argument("reference")
    parser.add_argument("--adam", action="store_true")
    options = parser.parse_args()
    reference, states = readNpz(options.reference), readSafetensors(options.states)
    problems = compareLosses(readLosses(options.log), reference.pop("losses").values)
    for name, expected in reference.items():
        loose = options.adam and "/" not in name and "running_" not in name
        if name not in states:
            problems.append(f"{name}: not among the exported states")
        else:
            problems += compareState(name, states[name], expected, 1e-3 if loose else 1e-5)
    print(f"{len(reference)} states compared")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
