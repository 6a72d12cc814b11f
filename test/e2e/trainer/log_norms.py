"""Compares the norms that trainers log with those computed in float64 from their checkpoints.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    log_norms.py SCRATCH_FOLDER MODELS_FOLDER

With sgd, the update of a step is the learning rate times the gradient, so the weights before and
after a step give the gradient. Clipping scales it: then the norm of the difference is the clipped
one, and the logged norm says by how much it was scaled.
"""

import json
import math
import os
import struct
import subprocess
import sys

STEPS = 12
RATE = 0.25  # a power of two: the product with it is exact
# Each weight is rounded to float32 when it is updated, so a difference of two is off by up to one
# of their roundings; the norm itself is a sum in float32 of up to 64 rows.
TOLERANCE = 4e-6


def weights(path):
    """{name: list of floats} of the parameters in a checkpoint."""
    with open(os.path.join(path, "state.safetensors"), "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        start = file.tell()
        result = {}
        for name, entry in header.items():
            if name == "__metadata__" or entry["dtype"] != "F32" or "running_" in name or "/" in name:
                continue
            begin, end = entry["data_offsets"]
            file.seek(start + begin)
            result[name] = struct.unpack(f"<{(end - begin) // 4}f", file.read(end - begin))
    return result


def norm(tensors):
    return math.sqrt(math.fsum(value * value for tensor in tensors for value in tensor))


def train(folder, name, model, models, *flags, **more):
    """The log and the checkpoints of a run."""
    trainer, out, log = (os.path.join(folder, name + end) for end in ("", "-run", ".json"))
    subprocess.run(["sinterc", os.path.join(models, model + ".onnx"), "-o", trainer, "--train",
                    "--loss=cross-entropy", "--optimizer=sgd", f"--lr={RATE}", *flags], check=True,
                   stderr=subprocess.DEVNULL)
    subprocess.run([trainer, f"--data=npz:{models}/{model}-data.npz", f"--steps={STEPS}", "--quiet",
                    "--out=" + out, "--checkpoint-every=1", "--keep=0", "--log-json=" + log,
                    *more.get("run", ())], check=True)
    with open(log, encoding="utf-8") as file:
        return [json.loads(line) for line in file], out


def close(got, expected, what, tolerance=TOLERANCE):
    assert abs(got - expected) <= tolerance * abs(expected), f"{what}: {got}, not {expected}"


def check(name, folder, models, *flags, clip=None, model="train-mlp-sgd", **more):
    log, out = train(folder, name.replace(" ", "-"), model, models, *flags, "--log-norms", **more)
    assert len(log) == STEPS, log
    for before, record in zip(log, log[1:]):
        step = record["step"]
        old, new = (weights(os.path.join(out, f"step-{number:08}")) for number in (step - 1, step))
        assert old.keys() == new.keys() and old
        close(record["weight_norm"], norm(old.values()), f"{name}, step {step}: weights")
        moved = norm([(a - b) / RATE for a, b in zip(old[key], new[key])] for key in old)
        gradient = record["grad_norm"]
        if clip:
            gradient *= min(1.0, clip / (gradient + 1e-6))
        close(gradient, moved, f"{name}, step {step}: gradient", more.get("tolerance", TOLERANCE))
    if clip:
        assert any(record["grad_norm"] > clip for record in log), "nothing was clipped"
    plain, _ = train(folder, name.replace(" ", "-") + "-off", model, models, *flags, **more)
    for own, other in zip(log, plain):
        assert not {"grad_norm", "weight_norm"} & other.keys()
        assert own["loss"] == other["loss"], f"{name}: the loss of step {own['step']} changed"
    print(f"{name}: {len(log)} steps")


def main(folder, models):
    batch = "--batch=8"
    check("plain", folder, models, batch)
    check("clipped", folder, models, batch, "--clip-norm=0.25", clip=0.25)
    check("bounded", folder, models, batch, "--clip-value=0.02")
    check("micro-batches", folder, models, "--batch=4", "--accumulate=2")
    check("replicas", folder, models, "--batch=4", "--replicas=2", run=["--device=cpu,cpu"])
    check("loss scale", folder, models, batch, "--loss-scale=dynamic")
    check("bf16", folder, models, batch, "--precision=bf16", "--clip-norm=0.25", clip=0.25)
    check("simulated", folder, models, batch, "--target=sim", "--clip-norm=0.25", clip=0.25)
    print("all agree")


if __name__ == "__main__":
    main(*sys.argv[1:])
