#!/usr/bin/env python3
"""Checks that every contract of --require that is exceeded by one fails and names nodes.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    contracts.py MODELS WORK

Compiles programs and reads the actual numbers from their manifests. For each number it
demands exactly that, which must hold, and then a little more than that, which must
end with exit code 4 and one line per entry that names the contract, the number and nodes
of the model.
"""

import json
import os
import subprocess
import sys

PROGRAMS = [
    "lenet.onnx --batch=2",
    "gpt2.onnx --dim=batch=2 --dim=sequence=8",
    "resnet-basic.onnx --batch=2 --target=cuda",
    "fusion-encoder-post.onnx --target=cuda --libraries=none",
    "train-mlp-adam.onnx --train --batch=8 --optimizer=adam",
    "train-cnn-adam.onnx --train --batch=8 --target=cuda",
    "train-gpt2-lm.onnx --train --batch=4 --loss=cross-entropy:axis=-1,ignore_index=-100"
    " --optimizer=adamw --target=sim",
    "ranking.onnx --batch=2 --target=cuda:0,cuda:1 --place=^/items/=cpu --place=^/tower/=cuda:1",
    "../e2e/Inputs/far.mlir --target=cuda --libraries=onednn,cublaslt --allow-cpu=far",
]
# Contract -> how a number is demanded; by how much it is breached.
COUNTS = ["kernels", "launches", "library-calls", "copies", "fills", "casts"]
BYTES = ["peak", "arena", "states", "constants"]
SHARES = ["bf16-flops", "fp16-flops", "16bit-flops", "fp32-flops"]
NOTHING = {"no-library-calls": "library-calls", "no-copies": "copies", "no-casts": "casts",
           "no-f64": "f64-ops", "no-cpu-fallback": "cpu-fallbacks",
           "no-host-sync": "host-syncs"}


def compiled(words, output, *flags):
    return subprocess.run(["sinterc", *words, "-o", output, *flags], capture_output=True,
                          text=True)


def errors(done):
    return [line for line in done.stderr.splitlines() if not line.startswith("sinterc: warning: ")]


def demands(realised):
    """(what holds, what does not; None if it cannot be breached) of each contract."""
    for name in COUNTS + BYTES:
        number = int(realised[name])
        yield f"{name}:{number}", f"{name}:{number - 1}" if number else None
    for name in SHARES:
        share = realised[name]
        low = int(share * 10) / 10
        yield f"{name}:{low}%", f"{name}:{low + 0.2:.1f}%" if low + 0.2 <= 100 else None
    for name, counted in NOTHING.items():
        number = realised[counted]
        yield (None, name) if number else (name, None)


def main():
    models, work = sys.argv[1:]
    os.makedirs(work, exist_ok=True)
    output = os.path.join(work, "program")
    problems = breaches = kept = 0
    for program in PROGRAMS:
        words = program.split()
        words[0] = os.path.join(models, words[0])
        if lines := errors(compiled(words, output)):
            print(f"{program}: {lines}")
            return 1
        summary = json.loads(subprocess.run(["sinter-inspect", output, "--json"],
                                            capture_output=True, text=True).stdout)
        plan = subprocess.run(["sinter-inspect", "plan", output, "--json"],
                              capture_output=True, text=True).stdout
        nodes = {node for entry in json.loads(plan) for command in entry["commands"]
                 for node in command["nodes"]} | {s["name"] for s in summary["states"]}
        for holds, fails in demands(summary["manifest"]["contracts"]):
            if holds:
                kept += 1
                done = compiled(words, output, "--require=" + holds)
                if done.returncode:
                    print(f"{program} {holds}: exit {done.returncode}: {done.stderr.strip()}")
                    problems += 1
            if fails:
                breaches += 1
                done = compiled(words, output, "--require=" + fails)
                says = errors(done)
                named = all(line.startswith(f"sinterc: error: --require={fails}: @") and
                            ("constant" in line or any(node in line for node in nodes))
                            for line in says)
                if done.returncode != 4 or not says or not named:
                    print(f"{program} {fails}: exit {done.returncode}: {done.stderr.strip()}")
                    problems += 1
    print(f"contracts: {kept} kept, {breaches} breached, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
