"""Jobs whose processes come to differ: data or states of one of them change.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import os
import shutil
import zipfile

from checkpoints import newest, stateOf
from jobs import alone, awaitCheckpoint, awaitSteps, changed, check, finish, printed, start


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


def changes(trainer, folder, world, victim, source, *, options):
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


def both(trainer, folder, source, *, options):
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


def alter(trainer, folder, name, *, options):
    log = os.path.join(folder, "altered.json")
    alone(trainer, [*options, "--lr=0", "--steps=1"], os.path.join(folder, "constant"))
    _, _, state = stateOf(os.path.join(folder, "constant"))[name]
    processes = start(trainer, 2, [*options, "--lr=0", "--steps=100000000", "--log-json=" + log])
    awaitSteps(log)
    check(flipBits(processes[1].pid, state) > 0, "the state is not in memory")
    for rank, (code, text) in enumerate(finish(processes)):
        print(f"rank {rank}: exit code {code}\n{text}", end="")
