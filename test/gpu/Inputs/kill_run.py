"""Starts a run, kills it when its JSON file has some rows, and prints what the file says.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    kill_run.py RESULTS.json COMMAND..
"""

import json
import os
import signal
import subprocess
import sys
import time

path, command = sys.argv[1], sys.argv[2:]
process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
report = {"rows": []}
while len(report["rows"]) < 4 and process.poll() is None:
    time.sleep(0.02)
    if os.path.exists(path):
        with open(path) as file:
            report = json.load(file)
os.killpg(process.pid, signal.SIGKILL)
process.wait()
with open(path) as file:
    report = json.load(file)
print(f"finished: {report['finished']}, rows: {len(report['rows'])}, passed: {report['passed']}, "
      f"killed: {process.returncode == -signal.SIGKILL}")
