"""Trains with limits that only micro-batches fit, which --allow-microbatch must choose.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    micro_batches.py SCRATCH_FOLDER TARGET BATCH MODEL.onnx DATA.npz sinterc's options...

Asks sinterc for the smallest limit of each division of BATCH. At each of these limits
--allow-microbatch must choose that division (all with fewer micro-batches need more), say
so in one line and keep it in the manifest; the trainer must keep to the limit and log the
steps, epochs and losses (to 1e-5) of the whole batch. Below the last exit code 6. Prints a
line per limit and `N passed, M failed, 0 skipped`.
"""

import json
import os
import re
import subprocess
import sys

folder, target, batch, model, data = sys.argv[1:6]
batch, options = int(batch), sys.argv[6:]
trainer = os.path.join(folder, "trainer")
results = []


def check(what, isRight):
    results.append(bool(isRight))
    print(what + ("" if isRight else ": WRONG"))


def compiled(*more):
    done = subprocess.run(["sinterc", model, "-o", trainer, "--train", f"--target={target}",
                           "--workspace=1MiB", *options, *more], capture_output=True, text=True)
    # Warnings are about the model; these tests are about what is said of the limit.
    lines = [line for line in done.stderr.splitlines() if ": warning: " not in line]
    return done.returncode, "\n".join(lines).strip()


def trained(*more):
    log = os.path.join(folder, "log.json")
    done = subprocess.run([trainer, f"--data=npz:{data}", f"--eval-data=npz:{data}", "--epochs=3",
                           "--seed=3", "--quiet", "--log-json=" + log, *more],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip())
    with open(log, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def agree(got, expected):
    """Same steps, epochs and rates; losses to 1e-5."""
    return len(got) == len(expected) > 0 and all(
        (a.get("step"), a["epoch"], a.get("lr")) == (b.get("step"), b["epoch"], b.get("lr"))
        and abs(a["loss"] - b["loss"]) <= 1e-5 * abs(b["loss"]) for a, b in zip(got, expected))


def main():
    code, text = compiled(f"--batch={batch}")
    if code:
        sys.exit(text)
    expected = trained()
    floors = {}
    for parts in (n for n in range(1, batch + 1) if batch % n == 0):
        code, text = compiled(f"--batch={batch // parts}", f"--accumulate={parts}",
                              "--memory-limit=1KiB")
        floor = re.search(r"the smallest limit that fits is (\d+) bytes", text)
        if not floor:
            sys.exit(f"{parts} parts: {text}")
        floors[parts] = int(floor[1])
    print("smallest limits in bytes:", floors)
    chosen = [n for n in floors if n == 1 or floors[n] < min(floors[m] for m in floors if m < n)]
    check(f"divisions that can be chosen: {chosen}", len(chosen) > 2)
    for parts in chosen:
        limit = f"--memory-limit={floors[parts]}"
        code, text = compiled(f"--batch={batch}", limit, "--allow-microbatch")
        line = (f"the batch of {batch} does not fit into the memory limit; it is split into "
                f"{parts} micro-batches of {batch // parts} (--allow-microbatch)")
        check(f"{limit}: {parts} micro-batches {text if code else ''}", code == 0 and
              text.count("micro-batches") == (parts > 1) and (line in text) == (parts > 1))
        info = subprocess.run([trainer, "info"], capture_output=True, text=True).stdout
        check("  in the manifest", f"training.split_batch: {batch}\n" in info and
              f"training.accumulate: {parts}\n" in info if parts > 1 else "split" not in info)
        check("  losses", agree(trained(limit), expected))
    first = chosen[1]
    code, text = compiled(f"--batch={batch}", f"--memory-limit={floors[first]}")
    check("the flag is named where it helps", code == 6 and
          f"with --allow-microbatch {first} micro-batches of {batch // first} fit" in text)
    code, text = compiled(f"--batch={batch}", "--memory-limit=1KiB", "--allow-microbatch")
    check("below the floor", code == 6 and text.count("\n") == 0 and
          f"; {batch} micro-batches of 1 do not fit either (--allow-microbatch); their smallest "
          f"limit is {floors[batch]} bytes" in text)
    code, text = compiled(f"--batch={batch}", "--memory-limit=1KiB")
    check("where it does not help it is not named", code == 6 and "microbatch" not in text)
    print(f"{results.count(True)} passed, {results.count(False)} failed, 0 skipped")
    return not all(results)


if __name__ == "__main__":
    sys.exit(main())
