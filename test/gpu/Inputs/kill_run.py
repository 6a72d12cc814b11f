"""Starts a run, ends it when its JSON file has some rows, and prints what the file says.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    kill_run.py KILL|TERM RESULTS.json COMMAND..
"""

import json
import os
import signal
import subprocess
import sys
import time

name, path, *command = sys.argv[1:]
process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
report = {"rows": []}
while len(report["rows"]) < 4 and process.poll() is None:
    time.sleep(0.02)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
os.killpg(process.pid, signal.Signals["SIG" + name])
code = process.wait()
with open(path, encoding="utf-8") as file:
    report = json.load(file)
print(f"{name}: finished {report['finished']}, {len(report['rows'])} rows, "
      f"{report['passed']} passed, exit {code}")
