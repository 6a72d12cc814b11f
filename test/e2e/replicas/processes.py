"""Runs a trainer in several processes of this machine, as a launcher would.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

processes.py same TRAINER FOLDER WORLDS -- OPTIONS...
    trains in one process and in each of WORLDS ("2,4") processes; logs and last checkpoints must
    be the same bytes.
processes.py equal TRAINER FOLDER OTHER -- OPTIONS...
    trains in one process with both trainers; logs and checkpoints must be the same.
processes.py moves TRAINER FOLDER STEPS LEG,LEG... -- OPTIONS...
    each leg, "WORLD" or "WORLD:TRAINER", resumes the one before for STEPS steps in WORLD processes;
    the last one must end with the bytes of one run in one process.
processes.py blame TRAINER FOLDER WORLDS [OTHER] -- OPTIONS...
    a run with --check-nonfinite fails in one process (of OTHER, if it is given) and in each of
    WORLDS processes; all say the same, but for the rank, and write the same file to replay.
processes.py states FOLDER OTHER
    the last checkpoints in both must have the same states.
processes.py alter TRAINER FOLDER NAME -- OPTIONS...
    changes a bit of state NAME in the memory of rank 1 of two processes, which train with --lr=0.
processes.py changes TRAINER FOLDER WORLD RANK NPZ -- OPTIONS...
    each of WORLD processes trains with its own copy of NPZ; after the first checkpoint, that of RANK
    changes. All must end with 1; prints what they print, and the newest checkpoint.
processes.py both TRAINER FOLDER NPZ -- OPTIONS...
    the same with two processes: the copy of rank 1 changes before the first step. NPZ has a bad row
    among those of rank 0, which would save the state before it. Nothing may be saved.
processes.py kills TRAINER FOLDER WORLD COUNT STEPS -- OPTIONS...
    COUNT times kills a random process at a random time and resumes; others must end with 75
    within 10 s and say who is gone, and the last run must end with the bytes of an undisturbed one.
processes.py saves TRAINER FOLDER WORLD STEPS -- OPTIONS...
    kills a process in each phase of a save in which every process writes a part, and resumes; the
    last run must end with the bytes of an undisturbed one.
processes.py launch TRAINER FOLDER WORLD STEPS -- OPTIONS...
    the same with `TRAINER launch`, which restarts the others after one kill.
processes.py hung TRAINER FOLDER HOSTS -- OPTIONS...
    `TRAINER launch --hosts=HOSTS`: in a slow save of rank 0, rank 1 is killed and rank 2 stopped.
    Prints what is printed; rank 0 must have saved, and no process may be left.
processes.py orphans TRAINER FOLDER HOSTS -- OPTIONS...
    the same, but rank 1 is stopped and `launch` is killed: no process may be left.
processes.py terminate TRAINER FOLDER [SIGNAL] -- OPTIONS...
    starts `TRAINER OPTIONS...` for very many steps and sends it SIGTERM once steps are made.
processes.py run TRAINER WORLD EXPECTED [--each=RANK:OPTION] [--stop=RANK] [--freeze=RANK] [--signal=RANK:NAME]
        -- OPTIONS...
    runs once and prints what the processes print; EXPECTED are the exit codes ("0" of all, or one
    for each). --each gives one process another option. --stop stops a process once steps are made,
    --freeze only its main thread; --signal sends it a signal then.
"""

import ctypes
import filecmp
import json
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

PATIENCE = 120  # seconds that no run takes


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


def changed(log):
    return os.stat(log).st_mtime_ns if os.path.exists(log) else 0


def awaitSteps(log, before=0):
    """Waits until rank 0 has written to its log, which was last changed at `before`. It does so
    once all processes have joined."""
    end = time.monotonic() + PATIENCE
    while changed(log) == before:
        check(time.monotonic() < end, "no step was made")
        time.sleep(0.005)


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


def check(condition, text):
    if not condition:
        sys.exit(text)


def newest(folder):
    steps = sorted(name for name in os.listdir(folder) if name.startswith("step-"))
    return os.path.join(folder, steps[-1]) if steps else None


def alone(trainer, options, folder):
    """Trains in this process's place, with all replicas."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([trainer, *options, "--quiet", "--out=" + folder, "--log-json=" + folder + ".json"],
                   check=True)


def tensorsIn(path):
    """{name: (dtype, shape, bytes)} of a .safetensors file."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    header.pop("__metadata__", None)
    return {name: (one["dtype"], one["shape"], data[slice(*one["data_offsets"])])
            for name, one in header.items()}


def stateOf(folder):
    """The tensors of the newest checkpoint; parts that processes have written are joined."""
    checkpoint = newest(folder)
    with open(os.path.join(checkpoint, "manifest.json")) as file:
        manifest = json.load(file)
    state = tensorsIn(os.path.join(checkpoint, "state.safetensors"))
    parts = {}
    for file in manifest.get("partFiles", []):
        tensors = tensorsIn(os.path.join(checkpoint, file["file"]))
        for part in file["parts"]:
            dtype, _, data = tensors[part["name"]]
            parts.setdefault(part["name"], []).append((part["first"], dtype, part["dims"], data))
    for name, pieces in parts.items():
        pieces.sort(key=lambda piece: piece[0])
        state[name] = (pieces[0][1], pieces[0][2], b"".join(piece[3] for piece in pieces))
    return state


def sameState(a, b):
    return stateOf(a) == stateOf(b)


def same(trainer, folder, worlds, options):
    one = os.path.join(folder, "alone")
    alone(trainer, options, one)
    for world in map(int, worlds.split(",")):
        many = os.path.join(folder, f"world{world}")
        shutil.rmtree(many, ignore_errors=True)
        results = finish(start(trainer, world, [*options, "--quiet", "--out=" + many,
                                                "--log-json=" + many + ".json"]))
        check(all(code == 0 for code, _ in results), f"{world} processes: {results}")
        check(filecmp.cmp(one + ".json", many + ".json", shallow=False),
              f"{world} processes: another log")
        check(sameState(one, many), f"{world} processes: another checkpoint")
        print(f"{world} processes: the same bytes")


def equal(trainer, folder, other, options):
    one, two = os.path.join(folder, "one"), os.path.join(folder, "other")
    alone(trainer, options, one)
    alone(other, options, two)
    check(filecmp.cmp(one + ".json", two + ".json", shallow=False), "another log")
    check(sameState(one, two), "another checkpoint")
    print("both trainers: the same bytes")


def blamed(text, folder):
    """What an error says about values that are not finite, without what depends on the number of
    processes."""
    lines = [line for line in text.splitlines() if line.startswith("error: ")]
    check(len(lines) == 1, f"not one error: {text}")
    line = lines[0].replace(folder, "OUT")
    line, replay, _ = line.partition(" runs the step op by op")
    check(replay, f"no file to replay: {line}")
    line = re.sub(r"(replica \d+) of rank \d+:", r"\1:", line)
    # Of a divided state, a process sees its part.
    return re.sub(r"(state '[^']*' has \S+ \(element \d+ of \d+); [^)]*", r"\1", line)


def replays(folder):
    return [os.path.join(folder, name) for name in os.listdir(folder)
            if name.startswith("nonfinite-step-")]


def blame(trainer, folder, worlds, other, options):
    one = os.path.join(folder, "blamed")
    shutil.rmtree(one, ignore_errors=True)
    run = subprocess.run([other or trainer, *options, "--quiet", "--out=" + one],
                         stderr=subprocess.PIPE, text=True)
    check(run.returncode == 1, f"one process: {run}")
    expected = blamed(run.stderr, one)
    for world in map(int, worlds.split(",")):
        many = os.path.join(folder, f"blamed{world}")
        shutil.rmtree(many, ignore_errors=True)
        results = finish(start(trainer, world, [*options, "--quiet", "--out=" + many]))
        for code, text in results:
            check(code == 1, f"{world} processes: {results}")
            found = blamed(text, many)
            check(found == expected, f"{world} processes: {found}\none process: {expected}")
        check(len(replays(many)) == 1 and
              filecmp.cmp(replays(one)[0], replays(many)[0], shallow=False),
              f"{world} processes: another file to replay")
        print(f"{world} processes: {results[0][1]}", end="")


def moves(trainer, folder, steps, legs, options):
    one, run = os.path.join(folder, "unmoved"), os.path.join(folder, "moved")
    legs = [leg.partition(":") for leg in legs.split(",")]
    alone(trainer, [*options, f"--steps={steps * len(legs)}"], one)
    shutil.rmtree(run, ignore_errors=True)
    for number, (world, _, other) in enumerate(legs, 1):
        results = finish(start(other or trainer, int(world),
                               [*options, f"--steps={steps * number}", "--quiet", "--resume",
                                "--out=" + run]))
        check(all(code == 0 for code, _ in results), f"leg {number}: {results}")
    check(sameState(one, run), "another checkpoint")
    print(f"{len(legs)} legs: the same bytes")


def checkLost(text, run):
    """What `text` says of the newest checkpoint in `run`; rank 0 may have been killed between the
    save of one, of every third step, and telling the others."""
    found = re.search(r"what was trained after step (\d+) is lost", text)
    last = newest(run)
    step = int(last[-8:]) if last else 0
    check(not found or step - 3 <= int(found[1]) <= step, f"the newest is {last}: {text}")
    check(("--resume" in text) == (last is not None) or step == 3, f"the newest is {last}: {text}")


def kills(trainer, folder, world, count, steps, options):
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


def unfinished(run):
    """(name, files) of the checkpoint that is being written; None without one."""
    for name in os.listdir(run) if os.path.isdir(run) else []:
        if name.startswith(".tmp-step-"):
            try:
                return name.removeprefix(".tmp-"), set(os.listdir(os.path.join(run, name)))
            except FileNotFoundError:  # it has got its name
                pass
    return None


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


def saves(trainer, folder, world, steps, options):
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


def plain(source, target):
    """Copies an npz without compression, so that it is read from the file during the run."""
    with zipfile.ZipFile(source) as packed, zipfile.ZipFile(target, "w") as copy:
        for name in packed.namelist():
            copy.writestr(name, packed.read(name))


def flipByte(path):
    """Changes a byte of the first array."""
    with open(path, "r+b") as file:
        file.seek(200)
        [byte] = file.read(1)
        file.seek(200)
        file.write(bytes([byte ^ 1]))


def printed(processes):
    """Waits for all and prints their lines; their exit codes."""
    results = finish(processes)
    for rank, (code, text) in enumerate(results):
        print(f"rank {rank}: exit code {code}")
        print("".join(f"rank {rank}| {line}\n" for line in text.splitlines()), end="")
    return [code for code, _ in results]


def awaitCheckpoint(run, processes, other=None):
    """Waits for a checkpoint in `run` that is newer than `other`."""
    end = time.monotonic() + PATIENCE
    while not os.path.isdir(run) or newest(run) == other:
        check(time.monotonic() < end and processes[0].poll() is None, "no checkpoint was written")
        time.sleep(0.005)
    return newest(run)


def changes(trainer, folder, world, victim, source, options):
    run = os.path.join(folder, "changed")
    shutil.rmtree(run, ignore_errors=True)
    copies = [os.path.join(folder, f"data{rank}.npz") for rank in range(world)]
    for copy in copies:
        plain(source, copy)
    processes = start(trainer, world, [*options, "--steps=100000000", "--quiet", "--out=" + run],
                      [(rank, "--data=npz:" + copy) for rank, copy in enumerate(copies)])
    awaitCheckpoint(run, processes)
    flipByte(copies[victim])
    codes = printed(processes)
    check(codes == [1] * world, f"exit codes {codes}")
    print(f"the newest is {os.path.basename(newest(run))}")


def both(trainer, folder, source, options):
    run, fifo = os.path.join(folder, "both"), os.path.join(folder, "both.fifo")
    copies = [os.path.join(folder, f"both{rank}.npz") for rank in range(2)]
    for copy in copies:
        plain(source, copy)
    os.mkfifo(fifo)
    processes = start(trainer, 2, [*options, "--out=" + run],
                      [(0, "--data=npz:" + copies[0]), (1, "--data=npz:" + copies[1]),
                       (0, "--log-json=" + fifo)])
    # Rank 0 opens its log when all have opened their data, and before the first step.
    line = processes[0].stdout.readline()
    check("waiting for a reader" in line, line)
    flipByte(copies[1])
    with open(fifo) as log:
        log.read()
    codes = printed(processes)
    check(codes == [2, 1] and not newest(run), f"exit codes {codes}, {os.listdir(run)}")


def writableRanges(pid):
    with open(f"/proc/{pid}/maps") as maps:
        for line in maps:
            addresses, rights, *_ = line.split()
            if rights.startswith("rw"):
                yield [int(address, 16) for address in addresses.split("-")]


def flipBits(pid, old):
    """Flips the lowest bit of what begins with the bytes `old`, wherever they are; how often."""
    count = 0
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        for begin, end in writableRanges(pid):
            memory.seek(begin)
            try:
                data = memory.read(end - begin)
            except OSError:  # memory of a device
                continue
            at = data.find(old)
            while at >= 0:
                memory.seek(begin + at)
                memory.write(bytes([old[0] ^ 1]))
                count += 1
                at = data.find(old, at + 1)
    return count


def alter(trainer, folder, name, options):
    log = os.path.join(folder, "altered.json")
    alone(trainer, [*options, "--lr=0", "--steps=1"], os.path.join(folder, "constant"))
    _, _, state = stateOf(os.path.join(folder, "constant"))[name]
    processes = start(trainer, 2, [*options, "--lr=0", "--steps=100000000", "--log-json=" + log])
    awaitSteps(log)
    check(flipBits(processes[1].pid, state) > 0, "the state is not in memory")
    for rank, (code, text) in enumerate(finish(processes)):
        print(f"rank {rank}: exit code {code}\n{text}", end="")


def childrenOf(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except FileNotFoundError:
        return []


def launch(trainer, folder, world, steps, options):
    options = [*options, f"--steps={steps}"]
    reference, run = os.path.join(folder, "undisturbed"), os.path.join(folder, "launched")
    alone(trainer, options, reference)
    shutil.rmtree(run, ignore_errors=True)
    process = subprocess.Popen([trainer, "launch", "-n", str(world), "--max-restarts=2", *options,
                                "--quiet", "--checkpoint-every=3", "--out=" + run],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    end = time.monotonic() + PATIENCE
    while not (os.path.isdir(run) and newest(run)):
        check(time.monotonic() < end and process.poll() is None, "no checkpoint was written")
        time.sleep(0.001)
    children = childrenOf(process.pid)
    check(len(children) == world, f"launch has {len(children)} processes")
    os.kill(children[1], signal.SIGKILL)
    [(code, text)] = finish([process])
    print(text, end="")
    check(code == 0, f"exit code {code}")
    check(sameState(reference, run), "another checkpoint than that of an undisturbed run")
    print("launch: the same bytes")


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


def hung(trainer, folder, hosts, options):
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


def orphans(trainer, folder, hosts, options):
    process, ranks = startHosts(trainer, hosts, os.path.join(folder, "orphans"), options)
    os.kill(ranks[1], signal.SIGSTOP)
    process.kill()
    awaitEnd(ranks.values())
    print("none is left")


def terminate(trainer, folder, options, name="SIGTERM"):
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


def run(trainer, world, expected, arguments):
    split = arguments.index("--")
    flags, options = arguments[:split], arguments[split + 1:]
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


def main():
    command, trainer, *rest = sys.argv[1:]
    if command == "states":
        return check(sameState(trainer, *rest), "other states")
    if command == "run":
        return run(trainer, int(rest[0]), rest[1], rest[2:])
    split = rest.index("--")
    if command == "same":
        folder, worlds = rest[:split]
        return same(trainer, folder, worlds, rest[split + 1:])
    if command == "equal":
        folder, other = rest[:split]
        return equal(trainer, folder, other, rest[split + 1:])
    if command == "blame":
        folder, worlds, *other = rest[:split]
        return blame(trainer, folder, worlds, other[0] if other else None, rest[split + 1:])
    if command in ("hung", "orphans"):
        folder, hosts = rest[:split]
        return (hung if command == "hung" else orphans)(trainer, folder, hosts, rest[split + 1:])
    if command == "both":
        folder, source = rest[:split]
        return both(trainer, folder, source, rest[split + 1:])
    if command == "changes":
        folder, world, victim, source = rest[:split]
        return changes(trainer, folder, int(world), int(victim), source, rest[split + 1:])
    if command == "alter":
        folder, name = rest[:split]
        return alter(trainer, folder, name, rest[split + 1:])
    if command == "moves":
        folder, steps, legs = rest[:split]
        return moves(trainer, folder, int(steps), legs, rest[split + 1:])
    if command == "terminate":
        return terminate(trainer, rest[0], rest[split + 1:], *rest[1:split])
    if command == "saves":
        folder, world, steps = rest[:split]
        return saves(trainer, folder, int(world), int(steps), rest[split + 1:])
    if command == "launch":
        folder, world, steps = rest[:split]
        return launch(trainer, folder, int(world), int(steps), rest[split + 1:])
    folder, world, count, steps = rest[:split]
    kills(trainer, folder, int(world), int(count), int(steps), rest[split + 1:])


if __name__ == "__main__":
    main()
