"""Starts a trainer's processes on this machine, as a launcher would, and waits for them.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import os
import shutil
import socket
import subprocess
import sys
import time

from checkpoints import newest

PATIENCE = 120  # seconds that no run takes


def check(condition, text):
    if not condition:
        sys.exit(text)


def freePort():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start(trainer, world, options, each=None, variables=None):
    port = freePort()
    processes = []
    for rank in range(world):
        environment = dict(os.environ, **variables or {}, RANK=str(rank), WORLD_SIZE=str(world),
                           LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        own = [value for of, value in each or [] if of == rank]
        processes.append(subprocess.Popen([trainer, *options, *own], env=environment,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                          text=True))
    return processes


def finish(processes):
    """(exit code, text) of each."""
    results = []
    for process in processes:
        try:
            text, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            for other in processes:
                other.kill()
            sys.exit(f"rank {processes.index(process)} did not end")
        results.append((process.returncode, text))
    return results


def printed(processes):
    """Waits for all and prints their lines; their exit codes."""
    results = finish(processes)
    for rank, (code, text) in enumerate(results):
        print(f"rank {rank}: exit code {code}")
        print("".join(f"rank {rank}| {line}\n" for line in text.splitlines()), end="")
    return [code for code, _ in results]


def alone(trainer, options, folder):
    """Trains in one process, with all replicas."""
    log = folder + ".json"
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.exists(log):  # that of another run, which --resume=PATH does not continue
        os.remove(log)
    subprocess.run([trainer, *options, "--quiet", "--out=" + folder, "--log-json=" + log],
                   check=True)


def changed(log):
    return os.stat(log).st_mtime_ns if os.path.exists(log) else 0


def awaitSteps(log, before=0):
    """Waits until rank 0 has written to its log, which was last changed at `before`. It does so
    once all processes have joined."""
    end = time.monotonic() + PATIENCE
    while changed(log) == before:
        check(time.monotonic() < end, "no step was made")
        time.sleep(0.005)


def awaitCheckpoint(run, processes):
    """Waits for the first checkpoint in `run`."""
    end = time.monotonic() + PATIENCE
    while not os.path.isdir(run) or not newest(run):
        check(time.monotonic() < end and processes[0].poll() is None, "no checkpoint was written")
        time.sleep(0.005)
    return newest(run)


def childrenOf(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except FileNotFoundError:
        return []


def ranksBelow(pid, trainer):
    """{rank: process} of the trainer's processes that `pid` has started, maybe through shells."""
    found = {}
    for child in childrenOf(pid):
        found.update(ranksBelow(child, trainer))
        try:
            with open(f"/proc/{child}/cmdline", "rb") as file:
                words = file.read().decode().split("\0")
            isTrainer = os.path.realpath(f"/proc/{child}/exe") == os.path.realpath(trainer)
        except FileNotFoundError:
            continue
        found.update({int(word.partition("=")[2]): child for word in words
                      if isTrainer and word.startswith("--rank=")})
    return found


def awaitEnd(pids):
    """Waits until these processes, which others have started, are gone."""
    def isThere(pid):
        try:
            with open(f"/proc/{pid}/stat") as file:
                return file.read().rpartition(")")[2].split()[0] != "Z"
        except FileNotFoundError:
            return False
    end = time.monotonic() + PATIENCE
    while any(isThere(pid) for pid in pids):
        check(time.monotonic() < end, "a process of the job is still there")
        time.sleep(0.05)


def startHosts(trainer, hosts, run, options, variables=None):
    """`trainer launch --hosts`, and its processes by rank, once there is a checkpoint."""
    shutil.rmtree(run, ignore_errors=True)
    process = subprocess.Popen(
        [trainer, "launch", "--hosts=" + hosts, *options, "--steps=100000000", "--out=" + run],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=dict(os.environ, **variables or {}))
    awaitCheckpoint(run, [process])
    return process, ranksBelow(process.pid, trainer)
