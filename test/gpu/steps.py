"""Milliseconds of a training step, beside PyTorch and JAX where they are installed.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import os
import zipfile

import bundle as bundles
from results import lastLine

GROUP = "bench"


def prepare(bundle):
    for name, model, size in (
            ("cnn", os.path.join(bundles.ROOT, "docs/examples/fashion_cnn.onnx"), ["--batch=64"]),
            ("mlp", os.path.join(bundles.HERE, "Inputs/mlp.mlir"), [])):
        bundle.compile(model, f"trainers/bench-{name}-64", "--train", "--optimizer=adam", *size)


def run(context, results):
    """The difference of a long and a short run."""
    counts = (2, 4) if context.small else (200, 4000)
    data = os.path.join(context.scratch, "bench.npz")
    writeData(data)
    for name in ("mlp",) if context.small else ("mlp", "cnn"):
        taken = []
        for count in counts:
            done = context.attempt(GROUP, f"{name} batch 64, {count} steps", [
                *context.program("trainers", f"bench-{name}-64"), f"--data=npz:{data}",
                f"--steps={count}", "--quiet", f"--device={context.device}"], 60)
            if done is None:
                break
            taken.append(done[1])
        if len(taken) < 2:
            continue
        ours = 1e3 * (taken[1] - taken[0]) / (counts[1] - counts[0])
        numbers = {"ours_ms": ours}
        for peer in ("torch", "torch-compile", "jax"):
            theirs = askPeer(context, results, peer, name)
            if theirs is not None:
                numbers[peer.replace("-", "_") + "_ms"] = theirs
                numbers["times_" + peer.replace("-", "_")] = theirs / ours
        results.add(GROUP, f"{name} training step, batch 64", "measured", sum(taken),
                    f"{ours:.4f} ms" + "".join(f", {key[6:]} {value:.2f}x" for key, value
                                               in numbers.items() if key.startswith("times_")),
                    **numbers)


def askPeer(context, results, peer, name):
    """Their milliseconds; None where they are not installed, or on a simulation."""
    if context.kind != "cuda":
        return None
    label = f"{name}: {peer}"
    done = context.attempt(GROUP, label, context.script("peers.py", peer, name), 60, env=None,
                           mayLack=True)
    return float(lastLine(done[0])) if done else None


def writeData(path):
    """npz with x and labels, without numpy."""
    rows = 64 * 64
    pixels = bytes((i * 2654435761 >> 13) & 255 for i in range(rows * 784 // 64)) * 64
    labels = b"".join(int(i % 10).to_bytes(8, "little") for i in range(rows))
    with zipfile.ZipFile(path, "w") as archive:
        for name, kind, shape, data in (("x", "|u1", (rows, 1, 28, 28), pixels),
                                        ("labels", "<i8", (rows,), labels)):
            header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
            header = header.ljust(117).encode() + b"\n"
            archive.writestr(name + ".npy", b"\x93NUMPY\x01\x00" +
                             len(header).to_bytes(2, "little") + header + data)
