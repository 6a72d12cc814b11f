"""Checks which steps are skipped with dynamic loss scaling and PARTS micro-batches in a step.

overflows.py LOG PARTS: LOG is of the data and the program of Inputs/overflows.py and .mlir.

A gradient overflows if a row's `c` times the scale, divided by PARTS, rounds to an infinite
fp16. Wherever that row is in the step, the step is skipped and the scale halved.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Inputs"))
from overflows import BATCH, inputs

INFINITE = 65520  # and all above round to it


def main():
    log, parts = sys.argv[1], int(sys.argv[2])
    with open(log, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    _, c = inputs()
    scale, skipped, where = 65536.0, 0, set()
    for step, line in enumerate(lines):
        assert line["loss_scale"] == scale, (line, scale)
        rows = c[step * BATCH * parts:(step + 1) * BATCH * parts]
        found = [i // BATCH for i, value in enumerate(rows)
                 if abs(value) * scale / parts >= INFINITE]
        if found:
            where.update(found)
            skipped += 1
            scale /= 2
        assert line["skipped_steps"] == skipped, (line, skipped)
    assert skipped >= 5 and len(where) == parts, (skipped, where)
    print(f"{skipped} of {len(lines)} steps skipped, for overflows in each of {parts} micro-batches")


if __name__ == "__main__":
    main()
