"""Sums over processes take the memory that the plan says, and a limit counts it.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

sum_memory.py TRAINER -- OPTIONS...
    finds the smallest --memory-limit with which one process trains, which has all replicas.
    Processes with their share of it and what the plan adds for sums train, too, and with one byte
    less they end with exit code 6.
"""

import json
import subprocess
import sys

sys.dont_write_bytecode = True
from jobs import check, finish, start

TOO_LITTLE = "the buffer of sums over processes needs"


def smallestLimit(trainer, options):
    def fits(limit):
        done = subprocess.run([trainer, *options, f"--memory-limit={limit}"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        check(done.returncode in (0, 6), done.stdout)
        return done.returncode == 0

    low, high = 1, 1 << 24
    check(fits(high), "does not train with 16 MiB")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def main():
    split = sys.argv.index("--")
    [trainer], options = sys.argv[1:split], sys.argv[split + 1:] + ["--steps=2", "--quiet"]
    plan = json.loads(subprocess.run([trainer, "plan", "--json"], check=True,
                                     stdout=subprocess.PIPE).stdout)
    one = smallestLimit(trainer, options)
    for sums in plan["sumsOverProcesses"]:
        world = sums["processes"]
        share, rest = divmod(one, world)
        check(rest == 0, f"{one} bytes are not those of equal replicas")
        limit = share + sums["sizeBytes"]
        for code, text in finish(start(trainer, world, [*options, f"--memory-limit={limit}"])):
            check(code == 0, f"{world} processes, {limit} bytes: {code}: {text}")
        results = finish(start(trainer, world, [*options, f"--memory-limit={limit - 1}"]))
        check(all(code in (1, 6) for code, _ in results) and
              any(code == 6 and TOO_LITTLE in text for code, text in results),
              f"{world} processes, {limit - 1} bytes: {results}")
        print(f"{world} processes: {sums['sizeBytes']} bytes more than one")


if __name__ == "__main__":
    main()
