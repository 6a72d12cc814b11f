"""Jobs of any number of processes that must do what one process does.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import filecmp
import os
import re
import shutil
import subprocess

from checkpoints import sameState
from jobs import alone, check, finish, start


def states(folder, other, *, options):
    check(not options and sameState(folder, other), "other states")


def same(trainer, folder, worlds, *, options):
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


def equal(trainer, folder, other, *, options):
    one, two = os.path.join(folder, "one"), os.path.join(folder, "other")
    alone(trainer, options, one)
    alone(other, options, two)
    check(filecmp.cmp(one + ".json", two + ".json", shallow=False), "another log")
    check(sameState(one, two), "another checkpoint")
    print("both trainers: the same bytes")


def moves(trainer, folder, steps, legs, *, options):
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


def blame(trainer, folder, worlds, other=None, *, options):
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
