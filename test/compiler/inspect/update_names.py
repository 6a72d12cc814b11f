#!/usr/bin/env python3
"""Checks that the commands of a training step name the parameters that they update, and no others.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    update_names.py MODEL SLOTS [options of sinter-inspect plan]

SLOTS is the number of slots that the optimizer has for each parameter. The nodes of MODEL must have
names that begin with "/".
"""

import json
import subprocess
import sys


def main():
    model, slots, *options = sys.argv[1:]
    plan = json.loads(subprocess.run(["sinter-inspect", "plan", model, "--train", "--json", *options],
                                     check=True, capture_output=True, text=True).stdout)
    step = next(program for program in plan if program["name"] == "step")
    updates = 0
    for command in step["commands"]:
        parameters = [n for n in command["nodes"] if not n.startswith(("/", "grad(", "<"))]
        written = len([w for w in command["writes"] if w["space"] == "state"])
        # The step count is a state, too.
        if written // (1 + int(slots)) != len(parameters):
            sys.exit(f"{command['target']} writes {written} states, but names {len(parameters)} parameters: "
                     f"{', '.join(command['nodes'])}")
        updates += len(parameters)
    print(f"{updates} updates")


if __name__ == "__main__":
    main()
