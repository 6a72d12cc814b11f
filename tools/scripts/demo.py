#!/usr/bin/env python3
"""The main job on real data: compile a CNN into a trainer, train it, use the result.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Called by `tools/dev demo`. For each seed, the trainer that sinterc made from
docs/examples/fashion_cnn.onnx learns Fashion-MNIST and exports an ONNX file. sinterc
compiles that file to a library, and docs/examples/classify.c, plain C, predicts the 10 000
test images with it. Then the trainer evaluates the same images with the library's
predictions as labels, so that its accuracy is the share on which the two agree.
Needs only Python's standard library.
"""

import argparse
import gzip
import json
import os
import shutil
import struct
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "docs", "examples")
DATA = "/usr/share/datasets/fashion-mnist"
IMAGES = 10000          # of the test set
LOWEST_ACCURACY = 91.0  # percent; below it the demo fails
LIBRARY_BATCH = 100
OPTIMIZER = ["--optimizer=adam", "--batch=128"]
SCHEDULE = ["--lr=0.002", "--lr-schedule=cosine"]


class Failure(Exception):
    """One line for the user."""


def run(command, capture=False):
    """Prints a command and runs it; returns its stdout with `capture`, else shows it."""
    print("+", " ".join(os.path.relpath(part) if part.startswith(ROOT) else part
                        for part in command), flush=True)
    result = subprocess.run(command, stdout=subprocess.PIPE if capture else None, text=True)
    if result.returncode != 0:
        raise Failure(f"{os.path.basename(command[0])} exited with {result.returncode}")
    return result.stdout


def lastEvaluation(log):
    """The newest line of a --log-json file that is an evaluation."""
    with open(log, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.strip()]
    found = [line for line in lines if line.get("eval")]
    if not found:
        raise Failure(f"{log} holds no evaluation")
    return found[-1]


def unzip(name, folder):
    """Decompresses DATA/name into `folder`; returns the path."""
    path = os.path.join(folder, os.path.basename(name).removesuffix(".gz"))
    with gzip.open(os.path.join(DATA, name)) as source, open(path, "wb") as target:
        shutil.copyfileobj(source, target)
    return path


def compileTrainer(sinterc, folder):
    trainer = os.path.join(folder, "trainer")
    run([sinterc, os.path.join(EXAMPLES, "fashion_cnn.onnx"), "-o", trainer,
         "--train", "--loss=cross-entropy"] + OPTIMIZER)
    return trainer


def compileClassifier(sinterc, model, folder, compiler):
    """Builds the exported model as a library, and the C program that uses it; returns the
    program's path."""
    library = os.path.join(folder, "fashion_cnn.so")
    run([sinterc, model, "-o", library, f"--batch={LIBRARY_BATCH}"])
    classify = os.path.join(folder, "classify")
    run([compiler, "-std=c11", "-O2", "-Wall", "-Wextra", f"-I{folder}",
         os.path.join(EXAMPLES, "classify.c"), library, f"-Wl,-rpath,{folder}",
         "-o", classify])
    return classify


def agreement(trainer, classify, checkpoint, folder, threads):
    """The number of test images for which the trainer and the library predict the same class."""
    predicted = os.path.join(folder, "predicted")
    os.makedirs(predicted)
    images = unzip("t10k-images-idx3-ubyte.gz", predicted)
    labels = os.path.join(predicted, "t10k-labels-idx1-ubyte")
    run([classify, images, labels])
    with open(labels, "rb") as file:
        magic, count = struct.unpack(">II", file.read(8))
    if (magic, count) != (0x801, IMAGES):
        raise Failure(f"{labels} does not hold {IMAGES} labels")
    result = json.loads(run([trainer, "eval", f"--data=idx:{predicted}", "--json",
                             f"--checkpoint={checkpoint}", f"--threads={threads}"],
                            capture=True))
    if result["rows"] != IMAGES:
        raise Failure(f"the trainer evaluated {result['rows']} images")
    return round(result["accuracy"] * IMAGES)


def oneSeed(seed, options, sinterc, trainer, folder):
    """Returns (accuracy in percent, seconds of training, number of images agreed on)."""
    os.makedirs(folder)
    checkpoint = os.path.join(folder, "run")
    log = os.path.join(folder, "log.json")
    start = time.monotonic()
    run([trainer, f"--data={DATA}", f"--eval-data={DATA}", f"--epochs={options.epochs}",
         *SCHEDULE, f"--seed={seed}", f"--threads={options.threads}",
         f"--out={checkpoint}", f"--log-json={log}"])
    seconds = time.monotonic() - start
    accuracy = 100 * lastEvaluation(log)["accuracy"]
    model = os.path.join(folder, "fashion_cnn.onnx")
    run([trainer, "export", f"--checkpoint={checkpoint}", "-o", model])
    classify = compileClassifier(sinterc, model, folder, options.cc)
    agreed = agreement(trainer, classify, checkpoint, folder, options.threads)
    return accuracy, seconds, agreed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build folder")
    parser.add_argument("--seeds", type=int, default=1, help="run seeds 1..SEEDS")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cc", default="clang-19", help="compiler of the C program")
    options = parser.parse_args()
    if options.seeds < 1 or options.epochs < 1 or options.threads < 1:
        parser.error("--seeds, --epochs and --threads must be at least 1")

    if not os.path.isdir(DATA):
        raise Failure(f"{DATA} not found; install the package dataset-fashion-mnist")
    sinterc = os.path.join(os.path.abspath(options.build), "bin", "sinterc")
    folder = os.path.join(os.path.abspath(options.build), "demo")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    trainer = compileTrainer(sinterc, folder)
    results = []
    for seed in range(1, options.seeds + 1):
        accuracy, seconds, agreed = oneSeed(seed, options, sinterc, trainer,
                                            os.path.join(folder, f"seed{seed}"))
        results.append((accuracy, seed, seconds, agreed))
        if options.seeds > 1:
            print(f"demo: seed {seed}: {accuracy:.2f} %, {seconds:.0f} s of training, "
                  f"agrees on {agreed}", flush=True)
    accuracy, seed, seconds, agreed = min(results)
    print(f"demo: test accuracy {accuracy:.2f} % (seed {seed}, {options.epochs} epochs, "
          f"{seconds:.0f} s of training on {options.threads} threads), exported library "
          f"agrees on {agreed} of {IMAGES} images")
    return accuracy >= LOWEST_ACCURACY and all(r[3] == IMAGES for r in results)


if __name__ == "__main__":
    try:
        sys.exit(0 if main() else 1)
    except Failure as failure:
        print(f"demo: error: {failure}", file=sys.stderr)
        sys.exit(1)
