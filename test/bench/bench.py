#!/usr/bin/env python3
"""Speed beside the reference frameworks: ratios, measured in one interleaved run.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Called by `tools/dev bench`. Inference of networks at their real sizes against ONNX
Runtime; training steps against PyTorch. Rounds alternate between the two sides, so that a
busy machine slows both; the figure is the ratio of the medians of the rounds (above 1: we
are faster). Makes what it needs in BUILD/bench: a virtual environment with onnxruntime
(pip), and the models (Debian's python3-torch and python3-onnx; without them the
comparisons that need them are left out and named).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "..", "docs", "examples")
NETWORKS = ["resnet50", "bert-base", "vit-b", "mobilenet-v3"]
DATA = "/usr/share/datasets/fashion-mnist"
TORCH_PYTHON = "/usr/bin/python3"


def capture(command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        line = (result.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"{os.path.basename(command[0])}: {line}")
    return result.stdout


def hasTorch():
    return subprocess.run([TORCH_PYTHON, "-c", "import torch, onnx"],
                          capture_output=True).returncode == 0


def prepareRuntime(folder):
    """A Python with onnxruntime, or None."""
    python = os.path.join(folder, "venv", "bin", "python3")
    try:
        if not os.path.exists(python):
            capture([sys.executable, "-m", "venv", os.path.join(folder, "venv")])
        if subprocess.run([python, "-c", "import onnxruntime"],
                          capture_output=True).returncode != 0:
            capture([python, "-m", "pip", "install", "-q", "onnxruntime", "numpy"])
        return python
    except RuntimeError as error:
        print(f"left out: ONNX Runtime: {error}")
        return None


def oursInference(bin_, model, batch, options):
    result = json.loads(capture([
        os.path.join(bin_, "sinter-run"), model, "--inputs=random:seed=0", f"--batch={batch}",
        "--bench", f"--duration={options.seconds}s", f"--threads={options.threads}", "--json"]))
    return result["medianMs"]


def oursTraining(trainer, options):
    """Milliseconds of one step: the difference of a long and a short run."""
    def seconds(steps):
        begin = time.perf_counter()
        capture([trainer, f"--data={DATA}", f"--steps={steps}", "--lr=0.001", "--quiet",
                 f"--threads={options.threads}"])
        return time.perf_counter() - begin

    short, long = 20, 220
    return 1000 * (seconds(long) - seconds(short)) / (long - short)


def compare(name, ours, theirs, options):
    """Prints one row. `ours` and `theirs` measure once, in milliseconds."""
    a, b = [], []
    try:
        for _ in range(options.rounds):
            a.append(ours())
            b.append(theirs())
    except (RuntimeError, KeyError, ValueError) as error:
        print(f"{name:<28} failed: {error}", flush=True)
        return
    mine, other = statistics.median(a), statistics.median(b)
    print(f"{name:<28} {mine:10.2f} {other:10.2f} {other / mine:8.2f}x", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build folder")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3, help="of each measurement")
    parser.add_argument("--only", default="", help="substring of the rows to run")
    options = parser.parse_args()
    bin_ = os.path.join(os.path.abspath(options.build), "bin")
    folder = os.path.join(os.path.abspath(options.build), "bench")
    os.makedirs(folder, exist_ok=True)
    if not hasTorch():
        sys.exit("bench: the models are made with PyTorch: install python3-torch and python3-onnx")
    if not os.path.exists(os.path.join(folder, "mlp.onnx")):
        print("making the models ...", flush=True)
        capture([TORCH_PYTHON, os.path.join(HERE, "make_models.py"), folder])
    python = prepareRuntime(folder)

    print(f"{'milliseconds':<28} {'sinter':>10} {'reference':>10}   ratio", flush=True)
    for network in NETWORKS if python else []:
        for batch in (1, 8):
            name = f"{network}, batch {batch}"
            model = os.path.join(folder, network + ".onnx")
            if options.only in name:
                compare(name, lambda: oursInference(bin_, model, batch, options),
                        lambda: float(capture([python, os.path.join(HERE, "run_onnxruntime.py"),
                                               model, str(batch), str(options.threads),
                                               str(options.seconds)])), options)
    for name, model in (("mlp", os.path.join(folder, "mlp.onnx")),
                        ("cnn", os.path.join(EXAMPLES, "fashion_cnn.onnx"))):
        row = f"{name} training step, batch 128"
        if options.only in row:
            trainer = os.path.join(folder, name + "-trainer")
            capture([os.path.join(bin_, "sinterc"), model, "-o", trainer, "--train",
                     "--loss=cross-entropy", "--optimizer=adam", "--batch=128"])
            compare(row, lambda: oursTraining(trainer, options),
                    lambda: float(capture([TORCH_PYTHON, os.path.join(HERE, "run_torch.py"), name,
                                           "128", str(options.threads), str(options.seconds)])),
                    options)


if __name__ == "__main__":
    main()
