"""Trains with every optimizer and schedule of a reference and compares losses and rates.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    optimizer_series.py SCRATCH_FOLDER MODEL.onnx DATA.npz REFERENCE.json

REFERENCE is what test/models/make_optimizer_series.py wrote. Each loss must agree to 1e-5,
each rate to 1e-6 relative. Prints a line per row and `N passed, M failed, 0 skipped`.
"""

import json
import os
import subprocess
import sys


def worstError(got, expected):
    return max(abs(a - b) / max(abs(b), 1e-30) if b else abs(a) for a, b in zip(got, expected))


def main():
    folder, model, data, reference = sys.argv[1:5]
    trainer, log = os.path.join(folder, "trainer"), os.path.join(folder, "log.json")
    with open(reference, encoding="utf-8") as file:
        rows = json.load(file)
    failed = 0
    for name, row in rows.items():
        subprocess.run(["sinterc", model, "-o", trainer, "--train", "--batch=8",
                        "--loss=cross-entropy", *row["sinterc"]], check=True)
        subprocess.run([trainer, "--data=npz:" + data, f"--steps={len(row['losses'])}",
                        "--shuffle=false", "--quiet", "--log-json=" + log, *row["trainer"]],
                       check=True)
        with open(log, encoding="utf-8") as file:
            steps = [json.loads(line) for line in file]
        isWhole = len(steps) == len(row["losses"]) > 0
        loss = worstError([step["loss"] for step in steps], row["losses"])
        rate = worstError([step["lr"] for step in steps], row["lr"])
        isRight = isWhole and loss <= 1e-5 and rate <= 1e-6
        failed += not isRight
        print(f"{name}: {len(steps)} losses to {loss:.2g}, rates to {rate:.2g}"
              + ("" if isRight else ": WRONG"))
    print(f"{len(rows) - failed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
