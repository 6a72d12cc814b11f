"""Compares the losses of a 16-bit training run with those of the float64 reference.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    close_losses.py LOG.json REFERENCE.npz [--mean=0.01] [--step=0.05]

The mean over the last third of the steps must agree to --mean relative, each step to --step.
"""

import argparse
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "..", "tools", "scripts"))
from npz import readNpz


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("log")
    parser.add_argument("reference")
    parser.add_argument("--mean", type=float, default=0.01)
    parser.add_argument("--step", type=float, default=0.05)
    options = parser.parse_args()
    with open(options.log, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.strip()]
    got = [line["loss"] for line in lines if "step" in line and not line.get("eval")]
    expected = readNpz(options.reference)["losses"].values
    if len(got) != len(expected):
        sys.exit(f"{len(got)} steps in the log, {len(expected)} in the reference")
    worst = max(range(len(got)), key=lambda i: abs(got[i] - expected[i]) / abs(expected[i]))
    stepError = abs(got[worst] - expected[worst]) / abs(expected[worst])
    third = len(got) // 3
    mean, wanted = sum(got[-third:]) / third, sum(expected[-third:]) / third
    meanError = abs(mean - wanted) / abs(wanted)
    print(f"mean loss {mean:.6g}, reference {wanted:.6g}, off by {meanError:.3g}; "
          f"worst step {worst + 1}: {stepError:.3g}")
    if stepError < 1e-7:
        sys.exit("the losses are the reference's: nothing was rounded")
    if not (meanError <= options.mean and stepError <= options.step):
        sys.exit("further than allowed")


if __name__ == "__main__":
    main()
