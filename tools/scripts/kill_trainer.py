#!/usr/bin/env python3
"""Kills a trainer at random moments, resumes it, and compares the result.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    kill_trainer.py TRAINER FOLDER [--kills=50] [--signal=KILL|TERM] -- TRAINER OPTIONS

Runs the trainer once undisturbed, then once killed and resumed until it ends by itself;
the two exports must have the same bytes. Works in FOLDER (made if absent).
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time

INTERRUPTED = 75  # exit code after SIGTERM: saved, resumable


def start(command):
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def killAtRandom(command, number, seconds, draw):
    """Starts the command and sends the signal after a random time. True if it had ended."""
    process = start(command)
    time.sleep(draw.uniform(0, seconds))
    process.send_signal(number)
    error = process.communicate()[1].decode(errors="replace").strip()
    if process.returncode == 0:
        return True
    expected = {-number}
    if number == signal.SIGTERM:
        expected.add(INTERRUPTED)  # a signal before the handler is there ends it plainly
    if process.returncode not in expected:
        sys.exit(f"exit code {process.returncode}: {error}")
    return False


def main():
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trainer")
    parser.add_argument("folder")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--signal", choices=["KILL", "TERM"], default="KILL")
    parser.add_argument("--random", type=int, default=1, help="seed of the moments")
    options = parser.parse_args(arguments[:split])
    training = arguments[split + 1:]
    os.makedirs(options.folder, exist_ok=True)
    whole, cut = (os.path.join(options.folder, n) for n in ("undisturbed", "killed"))
    for folder in (whole, cut):
        shutil.rmtree(folder, ignore_errors=True)

    begin = time.monotonic()
    undisturbed = start([options.trainer, *training, f"--out={whole}"])
    error = undisturbed.communicate()[1].decode(errors="replace")
    if undisturbed.returncode != 0:
        sys.exit(f"the undisturbed run failed: {error.strip()}")
    seconds = time.monotonic() - begin

    draw = random.Random(options.random)
    number = getattr(signal, "SIG" + options.signal)
    command = [options.trainer, *training, f"--out={cut}", "--resume=auto"]
    # Late enough on average that the run moves on, early enough to be hit many times.
    kills, ended = 0, False
    while kills < options.kills and not ended:
        ended = killAtRandom(command, number, seconds * 2 / max(options.kills / 4, 2), draw)
        kills += not ended
    final = start(command)
    error = final.communicate()[1].decode(errors="replace")
    if final.returncode != 0:
        sys.exit(f"the last resumed run failed: {error.strip()}")

    exports = []
    for folder in (whole, cut):
        path = folder + ".safetensors"
        subprocess.run([options.trainer, "export", f"--checkpoint={folder}", "-o", path],
                       check=True, stdout=subprocess.DEVNULL)
        with open(path, "rb") as file:
            exports.append(file.read())
    if exports[0] != exports[1]:
        sys.exit(f"after {kills} kills the weights differ from the undisturbed run's")
    print(f"{kills} kills, the same bytes")


if __name__ == "__main__":
    main()
