#!/usr/bin/env python3
"""Kills a trainer at random moments, resumes it, and compares the result.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    kill_trainer.py TRAINER FOLDER [--kills=50] [--signal=KILL|TERM] [--least-in-save=0]
                    -- TRAINER OPTIONS

Runs the trainer once undisturbed. Then kills and resumes it repeatedly until --kills is reached;
after a run that ends, a new one starts from the first step. The export of every run that ends
must have the same bytes as the undisturbed one. Prints how many kills hit the writing of a
checkpoint (they leave an unfinished one behind); fewer than --least-in-save are an error.
Works in FOLDER, which it creates if missing.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time

UNFINISHED = ".tmp-"  # prefix of a checkpoint that is being written, in --out
INTERRUPTED = 75  # exit code after SIGTERM: saved, resumable


def start(command):
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def killAtRandom(command, number, seconds, draw):
    """Starts the command and sends the signal after a random time. True if it had already ended."""
    process = start(command)
    time.sleep(draw.uniform(0, seconds))
    process.send_signal(number)
    error = process.communicate()[1].decode(errors="replace").strip()
    if process.returncode == 0:
        return True
    expected = {-number}
    if number == signal.SIGTERM:
        expected.add(INTERRUPTED)  # a signal before the handler is installed just ends it
    if process.returncode not in expected:
        sys.exit(f"exit code {process.returncode}: {error}")
    return False


def namesIn(folder):
    return os.listdir(folder) if os.path.isdir(folder) else []


def finish(command):
    final = start(command)
    error = final.communicate()[1].decode(errors="replace")
    if final.returncode != 0:
        sys.exit(f"the last resumed run failed: {error.strip()}")


def export(trainer, folder):
    """The bytes of all states at the end of a run."""
    path = folder + ".safetensors"
    subprocess.run([trainer, "export", f"--checkpoint={folder}", "-o", path], check=True,
                   stdout=subprocess.DEVNULL)
    with open(path, "rb") as file:
        return file.read()


def main():
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trainer")
    parser.add_argument("folder")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--signal", choices=["KILL", "TERM"], default="KILL")
    parser.add_argument("--random", type=int, default=1, help="seed of the moments")
    parser.add_argument("--least-in-save", type=int, default=0)
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

    expected = export(options.trainer, whole)

    draw = random.Random(options.random)
    number = getattr(signal, "SIG" + options.signal)
    command = [options.trainer, *training, f"--out={cut}", "--resume=auto"]
    # Late enough that a run makes progress, early enough that it is hit many times.
    longest = seconds * 2 / max(min(options.kills, 20) / 4, 2)
    kills = inSave = runs = 0
    while kills < options.kills:
        ended = killAtRandom(command, number, longest, draw)
        kills += not ended
        inSave += not ended and any(name.startswith(UNFINISHED) for name in namesIn(cut))
        if ended or kills == options.kills:
            finish(command)
            runs += 1
            if export(options.trainer, cut) != expected:
                sys.exit(f"after {kills} kills the weights differ from the undisturbed run's")
            shutil.rmtree(cut)
    print(f"{kills} kills in {runs} runs, {inSave} while a checkpoint was written: the same bytes")
    if inSave < options.least_in_save:
        sys.exit(f"{inSave} kills hit a save; at least {options.least_in_save} are needed")


if __name__ == "__main__":
    main()
