"""Jobs whose processes are killed, stopped or sent signals.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import ctypes
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from checkpoints import newest, sameState, unfinished
from jobs import (PATIENCE, alone, awaitCheckpoint, awaitEnd, awaitSteps, changed, check,
                  childrenOf, finish, start, startHosts)


def checkLost(text, run):
    """What `text` says of the newest checkpoint in `run`; rank 0 may have been killed between the
    save of one, of every third step, and telling the others."""
    found = re.search(r"what was trained after step (\d+) is lost", text)
    last = newest(run)
    step = int(last[-8:]) if last else 0
    check(not found or step - 3 <= int(found[1]) <= step, f"the newest is {last}: {text}")
    check(("--resume" in text) == (last is not None) or step == 3, f"the newest is {last}: {text}")


def kills(trainer, folder, world, count, steps, *, options):
    chance = random.Random(4711)
    reference, run = os.path.join(folder, "undisturbed"), os.path.join(folder, "killed")
    alone(trainer, [*options, f"--steps={steps}"], reference)
    shutil.rmtree(run, ignore_errors=True)
    log = run + ".json"
    if os.path.exists(log):
        os.remove(log)
    options = [*options, f"--steps={steps}", "--checkpoint-every=3", "--out=" + run,
               "--log-json=" + log]
    interrupted = done = 0
    while done < count:
        before = changed(log)
        processes = start(trainer, world, [*options, "--resume"])
        awaitSteps(log, before)
        time.sleep(chance.uniform(0, 0.3))
        victim = chance.randrange(world)
        processes[victim].kill()
        killed = time.monotonic()
        results = finish(processes)
        took = time.monotonic() - killed
        if results[victim][0] == 0:  # the run was over
            shutil.rmtree(run)
            os.remove(log)
            continue
        done += 1
        check(took < 10, f"the others took {took:.1f} s to end")
        for rank, (code, text) in enumerate(results):
            if rank == victim:
                continue
            # Those that were done say nothing.
            check(code in (0, 75), f"rank {rank}: exit code {code}: {text}")
            if code == 75:
                interrupted += 1
                check(f"rank {victim} (" in text or "rank 0 (" in text, f"rank {rank}: {text}")
                checkLost(text, run)
    check(interrupted >= count, f"only {interrupted} processes were interrupted")
    results = finish(start(trainer, world, [*options, "--resume"]))
    check(all(code == 0 for code, _ in results), f"the last run: {results}")
    check(sameState(reference, run), "another checkpoint than that of an undisturbed run")
    print(f"{count} kills: the same bytes")


def killIn(trainer, world, options, variables, run, victim, isPhase):
    """Kills the victim once `isPhase` holds for the files of a checkpoint that is being written.
    Returns whether that checkpoint is absent afterwards."""
    processes = start(trainer, world, [*options, "--resume"], variables=variables)
    end = time.monotonic() + PATIENCE
    while (found := unfinished(run)) is None or not isPhase(found[1]):
        check(time.monotonic() < end, "no checkpoint was written")
        if processes[0].poll() is not None:
            break
    processes[victim].kill()
    results = finish(processes)
    for rank, (code, text) in enumerate(results):
        check(rank == victim or code in (0, 75), f"rank {rank}: exit code {code}: {text}")
        check("training continues" not in text, f"rank {rank}: {text}")
    if all(code == 0 for code, _ in results):  # the run was over
        shutil.rmtree(run)
        return False
    return found is not None and not os.path.isdir(os.path.join(run, found[0]))


def saves(trainer, folder, world, steps, *, options):
    reference, run = os.path.join(folder, "undisturbed"), os.path.join(folder, "saved")
    alone(trainer, [*options, f"--steps={steps}"], reference)
    shutil.rmtree(run, ignore_errors=True)
    options = [*options, f"--steps={steps}", "--checkpoint-every=1", "--quiet", "--out=" + run]
    shim = os.path.join(folder, "slow_fsync.so")
    subprocess.run(["clang-19", "-shared", "-fPIC", "-o", shim,
                    os.path.join(os.path.dirname(__file__), "slow_fsync.c")], check=True)
    part = f"state-00001-of-{world:05}.safetensors"

    def hasAll(files):
        return sum(name.startswith("state-") and name.endswith(".safetensors")
                   for name in files) == world
    phases = [("killed before rank 1 has written its part", 1, lambda files: part not in files),
              ("killed after rank 1 has written its part", 1, lambda files: part in files),
              ("rank 0 killed when all parts are written", 0, hasAll)]
    for text, victim, isPhase in phases:
        for _ in range(20):
            if killIn(trainer, world, options, {"LD_PRELOAD": shim}, run, victim, isPhase):
                print(text)
                break
        else:
            sys.exit(f"never {text}")
    results = finish(start(trainer, world, [*options, "--resume"]))
    check(all(code == 0 for code, _ in results), f"the last run: {results}")
    check(sameState(reference, run), "another checkpoint than that of an undisturbed run")
    print("the same bytes")


def launch(trainer, folder, world, steps, *, options):
    options = [*options, f"--steps={steps}"]
    reference, run = os.path.join(folder, "undisturbed"), os.path.join(folder, "launched")
    alone(trainer, options, reference)
    shutil.rmtree(run, ignore_errors=True)
    process = subprocess.Popen([trainer, "launch", "-n", str(world), "--max-restarts=2", *options,
                                "--quiet", "--checkpoint-every=3", "--out=" + run],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    awaitCheckpoint(run, [process])
    children = childrenOf(process.pid)
    check(len(children) == world, f"launch has {len(children)} processes")
    os.kill(children[1], signal.SIGKILL)
    [(code, text)] = finish([process])
    print(text, end="")
    check(code == 0, f"exit code {code}")
    check(sameState(reference, run), "another checkpoint than that of an undisturbed run")
    print("launch: the same bytes")


def hung(trainer, folder, hosts, *, options):
    run = os.path.join(folder, "hung")
    process, ranks = startHosts(trainer, hosts, run, [*options, "--checkpoint-every=1000"],
                                {"LD_PRELOAD": os.path.join(folder, "slow_fsync.so"),
                                 "SLOW_FSYNC_MS": "6000"})
    before = newest(run)
    while unfinished(run) is None:
        time.sleep(0.005)
    os.kill(ranks[2], signal.SIGSTOP)
    os.kill(ranks[1], signal.SIGKILL)
    [(code, text)] = finish([process])
    print(f"{text}launch: exit code {code}")
    awaitEnd(ranks.values())
    check(newest(run) != before, "the save was not finished")


def orphans(trainer, folder, hosts, *, options):
    process, ranks = startHosts(trainer, hosts, os.path.join(folder, "orphans"), options)
    os.kill(ranks[1], signal.SIGSTOP)
    process.kill()
    awaitEnd(ranks.values())
    print("none is left")


def terminate(trainer, folder, name="SIGTERM", *, options):
    log = os.path.join(folder, "terminated.json")
    process = subprocess.Popen([trainer, *options, "--steps=100000000", "--log-json=" + log,
                                "--out=" + os.path.join(folder, "terminated")],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    awaitSteps(log)
    process.send_signal(getattr(signal, name))
    [(code, text)] = finish([process])
    print(f"{text}launch: exit code {code}")


def freeze(pid):
    """Stops the main thread of a process for good; its other threads go on."""
    libc = ctypes.CDLL(None, use_errno=True)
    for request in (0x4206, 0x4207):  # PTRACE_SEIZE, PTRACE_INTERRUPT
        if libc.ptrace(request, pid, None, None) != 0:
            sys.exit(f"ptrace: {os.strerror(ctypes.get_errno())}")
    os.waitpid(pid, 0)  # that it has stopped


def run(trainer, world, expected, *flags, options):
    each, stopped, frozen, signals = [], [], [], []
    for flag in flags:
        name, value = flag.split("=", 1)
        rank, _, rest = value.partition(":")
        if name == "--each":
            each.append((int(rank), rest))
        elif name == "--stop":
            stopped.append(int(rank))
        elif name == "--freeze":
            frozen.append(int(rank))
        elif name == "--signal":
            signals.append((int(rank), getattr(signal, rest)))
        else:
            sys.exit(f"unknown flag {flag}")
    waits = stopped or frozen or signals
    log = os.path.join(tempfile.mkdtemp(), "log.json")
    hasLog = options[0] != "bench"
    processes = start(trainer, world,
                      [*options, "--log-json=" + log] if waits and hasLog else options, each)
    if waits:
        if hasLog:
            awaitSteps(log)
        time.sleep(0.3 if hasLog else 3)
        for rank in stopped:
            processes[rank].send_signal(signal.SIGSTOP)
        for rank in frozen:
            freeze(processes[rank].pid)
        for rank, number in signals:
            processes[rank].send_signal(number)
    # What they print is less than a pipe holds.
    for rank, process in enumerate(processes):
        if rank not in stopped + frozen:
            process.wait(PATIENCE)
    for rank in stopped:
        processes[rank].send_signal(signal.SIGCONT)
    for rank in frozen:
        processes[rank].kill()
    codes = expected.split(",") if "," in expected else [expected] * world
    shutil.rmtree(os.path.dirname(log))
    for rank, (code, text) in enumerate(finish(processes)):
        print(f"rank {rank}: exit code {code}")
        print("".join(f"rank {rank}| {line}\n" for line in text.splitlines()), end="")
        check(str(code) == codes[rank], f"rank {rank}: expected {codes[rank]}")
