#!/usr/bin/env python3
"""Trains five networks with eight replicas in 1, 2, 4 and 8 processes, with every option that
matters to replicas.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    every_option.py [--build=FOLDER] [--steps=N] [--targets=cpu,sim] [--transport=auto|tcp]
                    [NETWORK...]

All processes of a row must end with the same bytes: losses, and the last checkpoint. Besides, the
losses are compared with a program of one replica that has the whole batch: with
--deterministic=topology they must have the same bits, in float32 they must agree to 1e-5. In 16
bits the largest difference is printed; there, one bit of a sum may decide how a value is rounded.
It takes about twenty minutes, so that no test runs it.
"""

import argparse
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
from agreement import same
from jobs import alone

MODELS = os.path.join(HERE, "..", "..", "models")
REPLICAS, BATCH = 8, 16
TOKENS = "--loss=cross-entropy:axis=-1,ignore_index=-100"
NETWORKS = {  # the options of the model
    "mlp-adam": ["--optimizer=adam"],
    "cnn-adam": ["--optimizer=adam"],
    "lstm-adam": ["--optimizer=adam"],
    "encoder-adamw": ["--optimizer=adamw"],
    "gpt2-lm": [TOKENS, "--optimizer=adamw"],
}
TOPOLOGY = "--deterministic=topology"
OPTIONS = [
    [],
    ["--accumulate=2"],
    ["--clip-norm=0.5", "--log-norms"],
    ["--precision=fp16"],
    ["--precision=bf16"],
    [TOPOLOGY],
    [TOPOLOGY, "--accumulate=2"],
    ["--shard=optimizer"],
    ["--shard=optimizer", "--clip-norm=0.5", "--ema=0.9"],
    ["--shard=optimizer", TOPOLOGY],
    ["--shard=optimizer", "--precision=fp16"],
    ["--shard=optimizer", "--precision=bf16", "--ema=0.9"],
    ["--shard=optimizer", "--accumulate=2"],
    ["--shard=gradients", "--accumulate=2"],
    ["--shard=gradients", "--accumulate=2", "--precision=fp16"],
]


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(command)}: {result.stdout}{result.stderr}")


def compile(bin_, network, trainer, target, replicas, options):
    parts = 2 if "--accumulate=2" in options else 1
    run(os.path.join(bin_, "sinterc"), os.path.join(MODELS, f"train-{network}.onnx"), "-o",
        trainer, "--train", f"--target={target}", f"--batch={BATCH // replicas // parts}",
        *([f"--replicas={replicas}"] if replicas > 1 else []), *NETWORKS[network], *options)


def lossesOf(log):
    with open(log) as file:
        return [record["loss"] for record in map(json.loads, file)
                if "loss" in record and "step" in record]


def row(bin_, folder, network, target, options, steps, transport):
    many, one = os.path.join(folder, "many"), os.path.join(folder, "single")
    compile(bin_, network, many, target, REPLICAS, options)
    run_ = ["--data=npz:" + os.path.join(MODELS, f"train-{network}-data.npz"), f"--steps={steps}",
            f"--transport={transport}"]
    if target == "cpu":
        run_.append("--threads=1")
    with contextlib.redirect_stdout(io.StringIO()):
        same(many, folder, "2,4,8", options=run_)
    whole = [option for option in options
             if not option.startswith("--shard=") and option != "--accumulate=2"]
    compile(bin_, network, one, target, 1, whole)
    alone(one, run_, os.path.join(folder, "whole"))
    found, expected = (lossesOf(os.path.join(folder, name)) for name in ("alone.json",
                                                                         "whole.json"))
    if len(found) != steps or len(expected) != steps:
        sys.exit(f"{len(found)} and {len(expected)} losses of {steps} steps")
    worst = max(abs(a - b) / max(abs(b), 1e-3) for a, b in zip(found, expected))
    name = f"{target} {network} {' '.join(options)}"
    if TOPOLOGY in options and found != expected:
        sys.exit(f"{name}: other bits than one replica")
    if not any(option.startswith("--precision") for option in options) and not worst <= 1e-5:
        sys.exit(f"{name}: differs from one replica by {worst:.3g}")
    print(f"{name}: 1, 2, 4, 8 processes have the same bytes; one replica differs by {worst:.2g}",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "..", "build", "release"))
    parser.add_argument("--steps", type=int, default=48)
    parser.add_argument("--targets", default="cpu,sim")
    parser.add_argument("--transport", default="auto")
    parser.add_argument("networks", nargs="*", default=list(NETWORKS))
    options = parser.parse_args()
    rows = 0
    for target in options.targets.split(","):
        for network in options.networks:
            for one in OPTIONS:
                folder = tempfile.mkdtemp()
                row(os.path.join(options.build, "bin"), folder, network, target, one,
                    options.steps, options.transport)
                shutil.rmtree(folder)
                rows += 1
    print(f"{rows} rows")


if __name__ == "__main__":
    main()
