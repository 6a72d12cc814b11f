"""Checks that the process which fake_probe.py started has ended: is_gone.py LOG

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import os
import re
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    process = re.search(r"child (\d+)", file.read()).group(1)
stat = f"/proc/{process}/stat"
if os.path.exists(stat):
    with open(stat, encoding="utf-8") as file:
        if file.read().rpartition(")")[2].split()[0] != "Z":  # ended, but its parent has not looked
            sys.exit(f"process {process} still runs")
print("gone")
