"""Makes a NaN in each command of a trainer by its number in the plan: the message has this number and these nodes.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    numbers.test.py TRAINER PLAN.json FOLDER ARGUMENT...
"""

import json
import re
import subprocess
import sys

trainer, plan, folder = sys.argv[1:4]
FOUND = re.compile(r"'([^']*)' made NaN .*?, command (\d+(?:\.\d+, trip \d+)?) of entry 'step'")


def inject(number, nodes):
    run = subprocess.run([trainer, *sys.argv[4:], "--steps=3", "--quiet", "--check-nonfinite=op",
                          f"--inject-nonfinite=step:{number}@2"], cwd=folder, capture_output=True, text=True)
    found = FOUND.search(run.stderr)
    if "computes floats" in run.stderr:
        return 0
    wanted = number if "." not in number or "trip" in number else number + ", trip 0"
    if run.returncode != 1 or not found or found.groups() != (",".join(nodes), wanted):
        sys.exit(f"step:{number}, {nodes}: {run.returncode}: {run.stderr}")
    return 1


def main():
    with open(plan, encoding="utf-8") as file:
        commands = next(each["commands"] for each in json.load(file) if each["name"] == "step")
    plain = inBody = 0
    for number, command in enumerate(commands):
        if command["kind"] != "scan":
            plain += inject(str(number), command["nodes"])
            continue
        for i, each in enumerate(command["body"]):
            inBody += inject(f"{number}.{i}", each["nodes"]) + inject(f"{number}.{i}, trip 3", each["nodes"])
    print(f"{plain} commands outside of scans and {inBody} in bodies have plan's numbers")


if __name__ == "__main__":
    main()
