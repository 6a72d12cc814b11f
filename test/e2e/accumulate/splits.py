"""One batch of 64 rows, four micro-batches of 16 and sixteen of 4 train alike.

splits.py MODEL DATA FOLDER [--target=T] [--weights=1e-5] [--steps=50] [--same-bytes] [OPTION..]

Compiles MODEL three times with the OPTIONs of sinterc and trains each program. Losses must
agree to 1e-5, every state of the export to --weights of its norm; with --same-bytes logs
and exports are equal.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "..", "tools", "scripts"))
from compare_training import norm
from npz import readSafetensors

SPLITS = ((64, 1), (16, 4), (4, 16))


def train(options, rest, batch, parts):
    stem = os.path.join(options.folder, f"{parts}x{batch}")
    shutil.rmtree(f"{stem}-run", ignore_errors=True)
    subprocess.run(["sinterc", options.model, "-o", stem, f"--target={options.target}", "--train",
                    f"--batch={batch}", f"--accumulate={parts}", *rest], check=True)
    subprocess.run([stem, f"--data=npz:{options.data}", f"--steps={options.steps}", "--seed=1",
                    "--quiet", f"--out={stem}-run", f"--log-json={stem}.json"], check=True)
    subprocess.run([stem, "export", f"--checkpoint={stem}-run", "-o", f"{stem}.safetensors"],
                   check=True)
    with open(f"{stem}.json", encoding="utf-8") as file:
        return [json.loads(line) for line in file], readSafetensors(f"{stem}.safetensors")


def bytesOf(options, batch, parts, ending):
    with open(os.path.join(options.folder, f"{parts}x{batch}{ending}"), "rb") as file:
        return file.read()


def compare(name, whole, split, tolerance):
    assert len(whole[0]) == len(split[0]) > 0
    loss = 0
    for a, b in zip(whole[0], split[0]):
        assert (a["step"], a["epoch"], a["lr"]) == (b["step"], b["epoch"], b["lr"]), (a, b)
        loss = max(loss, abs(a["loss"] - b["loss"]) / max(1, abs(a["loss"])))
    assert whole[1].keys() == split[1].keys(), (whole[1].keys(), split[1].keys())
    errors = {}
    for key, expected in whole[1].items():
        distance = norm([x - y for x, y in zip(expected.values, split[1][key].values)])
        errors[key] = distance / max(norm(expected.values), 1e-6)
    worst = max(errors, key=errors.get)
    print(f"{name}: losses to {loss:.2g}, states to {errors[worst]:.2g} ({worst})")
    assert loss <= 1e-5
    assert errors[worst] <= tolerance


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("data")
    parser.add_argument("folder")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--weights", type=float, default=1e-5)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--same-bytes", action="store_true")
    options, rest = parser.parse_known_args()
    runs = [train(options, rest, *split) for split in SPLITS]
    for (batch, parts), run in list(zip(SPLITS, runs))[1:]:
        compare(f"{parts}x{batch}", runs[0], run, options.weights)
        if options.same_bytes:
            for ending in (".json", ".safetensors"):
                assert bytesOf(options, batch, parts, ending) == bytesOf(options, 64, 1, ending)


if __name__ == "__main__":
    main()
