"""Checks that training and networks of other groups give the same bytes ten times.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import hashlib
import os
import shutil

from training import trainCommand

GROUP = "determinism"
TRAINERS = ["mlp-adam", "cnn-adam", "gpt2-lm", "encoder-adamw", "lstm-adam", "depthwise-sgd",
            "gpt2-bf16", "cnn-fp16", "cnn-adam, no libraries", "gpt2-lm, no libraries"]
NETWORKS = ["bert", "resnet50", "vit", "gpt2", "lstm", "mobilenet-v3"]
SMALL = ["mlp-adam", "lenet"]


def digest(*paths):
    """{file below `paths`: hash of its bytes}; a lock names a process."""
    found = {}
    for path in paths:
        files = [os.path.join(folder, name) for folder, _, names in os.walk(path)
                 for name in names if name != ".lock"] if os.path.isdir(path) else [path]
        for file in files:
            with open(file, "rb") as opened:
                found[os.path.relpath(file, path) if file != path else
                      os.path.splitext(file)[1]] = hashlib.sha256(opened.read()).hexdigest()
    return found


def repeat(context, name, times, runOnce):
    """One row. runOnce(number) gives the hashes of a run, or None after a row of its own."""
    begin, first = context.results.seconds(), None
    for number in range(1, times + 1):
        if number > 1 and context.left() < 1:
            return context.results.skip(GROUP, [name], f"no time left after {number - 1} runs")
        now = runOnce(number)
        if now is None:
            return None
        first = first or now
        if now != first:
            other = ", ".join(key for key in first if first[key] != now.get(key))
            return context.results.add(GROUP, name, "failed", context.results.seconds() - begin,
                                       f"run {number} has other bytes: {other or 'more files'}")
    return context.results.add(GROUP, name, "passed", context.results.seconds() - begin,
                               f"{times} runs, {len(first)} files of the same bytes")


def run(context, results):
    times = 3 if context.small else 10
    chosen = SMALL if context.small else TRAINERS + NETWORKS
    jobs = [(entry, group == "training") for group in ("training", "architectures")
            for entry in context.list(group) if entry["name"] in chosen]

    def check(job):
        entry, isTrainer = job
        base = os.path.join(context.scratch, f"again-{os.path.basename(entry['file'])}")

        def train(number):
            out = f"{base}-{number}"
            if context.attempt(GROUP, entry["name"], trainCommand(context, entry, out), 60) is None:
                return None
            found = digest(out, out + ".json")
            shutil.rmtree(out)
            return found

        def infer(number):
            out = f"{base}-{number}.npz"
            inputs, = context.models([entry["inputs"]])
            if context.attempt(GROUP, entry["name"], context.runner(
                    entry["file"], inputs, f"--outputs={out}"), 60) is None:
                return None
            return digest(out)
        repeat(context, entry["name"], times, train if isTrainer else infer)
    context.inParallel(check, jobs)
