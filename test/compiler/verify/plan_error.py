"""Measures the error of a program in 16 bits and of one with bisect's plan, which bisect predicts.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    plan_error.py SCRIPTS_FOLDER MODEL INPUTS REFERENCE SCRATCH_FOLDER
"""

import json
import math
import os
import subprocess
import sys

scripts, model, inputs, reference, scratch = sys.argv[1:6]
sys.path.insert(0, scripts)

from npz import readNpz  # noqa: E402


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def errorWith(flag):
    """The largest root mean square of the error of an output, relative to that of the output."""
    outputs = os.path.join(scratch, "outputs.npz")
    run("sinter-run", model, "--inputs=" + inputs, "--outputs=" + outputs, flag)
    found, right = readNpz(outputs), readNpz(reference)
    return max(math.sqrt(sum((a - b) ** 2 for a, b in zip(found[name].values, right[name].values)) /
                         sum(b * b for b in right[name].values)) for name in right)


def main():
    plan = os.path.join(scratch, "plan.json")
    report = json.loads(run("sinter-inspect", "bisect", model, "--inputs=" + inputs,
                            "--precision=bf16", "-o", plan, "--json"))
    failed = 0
    for what, predicted, flag in (
            ("bf16", report["costs"]["error"], "--precision=bf16"),
            ("plan", report["plan"]["error"], "--precision-plan=" + plan)):
        measured = errorWith(flag)
        print(f"{what}: predicted {predicted:.3g}, measured {measured:.3g}")
        failed += not abs(measured - predicted) <= 0.05 * predicted
    failed += not report["plan"]["error"] <= report["costs"]["error"] / 2
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
