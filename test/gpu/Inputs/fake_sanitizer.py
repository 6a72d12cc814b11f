#!/usr/bin/env python3
"""Stands in for compute-sanitizer: runs the program, and says that racecheck found a race.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import subprocess
import sys

options = [word for word in sys.argv[1:] if word.startswith("--")]
given = dict(word[2:].split("=", 1) for word in options[:3])
code = subprocess.run(sys.argv[1 + 3:], stdout=subprocess.DEVNULL).returncode
isRace = given["tool"] == "racecheck"
with open(given["log-file"], "w") as file:
    print("========= COMPUTE-SANITIZER", file=file)
    if isRace:
        print("========= Error: Race reported between Write access at k0+0x50", file=file)
        print("========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)", file=file)
    else:
        print("========= ERROR SUMMARY: 0 errors", file=file)
sys.exit(int(given["error-exitcode"]) if isRace else code)
