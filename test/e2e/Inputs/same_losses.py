"""Checks that two --log-json files have the same steps and nearly the same losses (third argument: tolerance).

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import json
import sys

tolerance = float(sys.argv[3]) if len(sys.argv) > 3 else 1e-5

logs = []
for path in sys.argv[1:3]:
    with open(path, encoding="utf-8") as file:
        logs.append([json.loads(line) for line in file])
assert logs[0] and len(logs[0]) == len(logs[1]), [len(log) for log in logs]
for a, b in zip(*logs):
    assert a.get("step") == b.get("step"), (a, b)  # none: an evaluation
    assert abs(a["loss"] - b["loss"]) <= tolerance * max(1, abs(b["loss"])), (a, b)
