"""Trains with and without a gradient stream: the states must have the same bits on any schedule.

gradient_stream.py MODEL DATA FOLDER [--steps=N] [--seeds=N] [--train=OPTION..] [--all] OPTION..:
OPTION.. are those of sinterc, --train has those of the trainer. Prints what the plan of each entry
has of it. With --all, also leaves out each wait of a stream for an event in turn, and prints the
numbers of those without which a run fails or gives other bits.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import argparse
import collections
import json
import os
import shutil
import subprocess

parser = argparse.ArgumentParser()
parser.add_argument("model")
parser.add_argument("data")
parser.add_argument("folder")
parser.add_argument("--steps", type=int, default=8)
parser.add_argument("--seeds", type=int, default=4)
parser.add_argument("--mode", default="on")
parser.add_argument("--train", default="")
parser.add_argument("--all", action="store_true")
arguments, options = parser.parse_known_args()
FOLDER = arguments.folder
hasReplicas = any(option.startswith("--replicas") for option in options)


def trainer(mode):
    path = f"{FOLDER}/{mode}"
    subprocess.run(["sinterc", arguments.model, "-o", path, "--target=sim", "--train", *options,
                    f"--gradient-stream={mode}"], check=True)
    return path


def train(path, name, **settings):
    """The bytes of all states, or None if the run fails."""
    sim = ",".join(f"{key.replace('_', '-')}={value}" for key, value in settings.items())
    run = f"{FOLDER}/{name}"
    shutil.rmtree(run, ignore_errors=True)
    trained = subprocess.run(
        [path, f"--data=npz:{arguments.data}", f"--steps={arguments.steps}", "--shuffle=false",
         *(["--device=sim:0,sim:1"] if hasReplicas else []), *arguments.train.split(), f"--out={run}", "--quiet"], env=dict(os.environ, SINTER_SIM=sim), stderr=subprocess.PIPE, text=True)
    if trained.returncode:
        print(f"  {name}: {trained.stderr.strip()[:150]}")
        return None
    subprocess.run([path, "export", f"--checkpoint={run}", "-o", f"{run}.safetensors"], check=True,
                   stdout=subprocess.DEVNULL)
    with open(f"{run}.safetensors", "rb") as file:
        return file.read()


def plans(path):
    text = subprocess.run([path, "plan", "--json"], check=True, capture_output=True,
                          text=True).stdout
    return {plan["entry"]: plan for plan in json.loads(text)["entries"]}


os.makedirs(FOLDER, exist_ok=True)
one, two = trainer("off"), trainer(arguments.mode)
before, after = plans(one), plans(two)
for entry, plan in after.items():
    # [stream][kind]
    counts = collections.defaultdict(collections.Counter)
    for command in plan["commands"]:
        counts[command["stream"]][command["kind"]] += 1
    waits = {stream: of["wait"] for stream, of in counts.items()}
    old, new = before[entry]["arenaBytes"], plan["arenaBytes"]
    print(f"{entry}: {sum(counts[2].values()) - counts[2]['wait'] - counts[2]['record']} of "
          f"{len(before[entry]['commands'])} commands on the gradient stream, which waits "
          f"{waits.get(2, 0)} times; the compute stream waits {waits.get(0, 0)} times; arena "
          f"{old} -> {new} bytes ({(new - old) / max(old, 1):+.1%})")
expected = train(one, "one")
assert expected is not None
for seed in range(arguments.seeds):
    assert train(two, f"two-{seed}", seed=seed) == expected, f"seed {seed} gives other bits"
print(f"the same bits on {arguments.seeds} schedules")
if arguments.all:
    # Of the first run, which waits for each command, none is missed. The second one records a graph.
    waits = sum(command["kind"] == "wait" for command in after["step"]["commands"])
    found = []
    for wait in range(1, 2 * waits + 6):
        results = [train(two, f"drop-{wait}", seed=seed, drop=f"wait:{wait}")
                   for seed in range(arguments.seeds)]
        if any(result != expected for result in results):
            found.append(wait)
    print(f"missed waits: {found}")
