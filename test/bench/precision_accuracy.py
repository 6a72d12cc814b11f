#!/usr/bin/env python3
"""Compares the accuracy of 16-bit training with float32: model x precision x seed.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    precision_accuracy.py --bin=BUILD/bin --folder=WORK [--models=cnn,resnet,gpt] [--seeds=3]
                          [--short] [--threads=1]

Trains the demo's CNN on Fashion-MNIST and, on generated data, a small ResNet and a small
GPT (test/models/make_accuracy.py) in fp32, bf16 and fp16 with dynamic loss scaling. Prints
a table of final figures and shares of multiply-adds in 16 bits, and ends with 1 where the
mean over the seeds is worse than float32's by more than 0.3 points of accuracy or 1 % of
loss, or a share is below 95 %. --short trains less: 1 seed of a part of the data.
"""

import argparse
import json
import os
import subprocess
import sys
from typing import NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import accuracy_data

MODELS = os.path.join(ROOT, "test", "models")
FASHION = "/usr/share/datasets/fashion-mnist"
PRECISIONS = ["fp32", "bf16", "fp16"]
POINTS, RELATIVE, SHARE = 0.3, 0.01, 0.95


class Job(NamedTuple):
    """One model: how it is compiled and trained, and which figure at the end counts."""
    onnx: str
    compile: list
    train: list
    figure: str  # "accuracy" or "loss"
    write: object = None  # makes data: (path, rows, seed)
    rows: tuple = ()  # of training and evaluation
    shortRows: tuple = ()
    epochs: int = 10
    shortEpochs: int = 3


JOBS = {
    "cnn": Job(os.path.join(ROOT, "docs", "examples", "fashion_cnn.onnx"),
               ["--loss=cross-entropy", "--optimizer=adam", "--batch=128"],
               ["--lr=0.002", "--lr-schedule=cosine"], "accuracy", shortEpochs=1),
    "resnet": Job(os.path.join(MODELS, "accuracy-resnet.onnx"),
                  ["--loss=cross-entropy", "--optimizer=sgd", "--momentum=0.9", "--batch=64",
                   "--weight-decay=5e-4"],
                  ["--lr=0.05", "--lr-schedule=cosine", "--warmup-steps=20"], "accuracy",
                  accuracy_data.writeImages, (8192, 8192), (2048, 1024), 8, 3),
    "gpt": Job(os.path.join(MODELS, "accuracy-gpt.onnx"),
               ["--loss=cross-entropy:axis=-1", "--optimizer=adamw", "--batch=32",
                "--clip-norm=1"],
               ["--lr=0.003", "--lr-schedule=cosine", "--warmup-steps=20"], "loss",
               accuracy_data.writeTokens, (4096, 1024), (1024, 512), 6, 3),
}


def run(command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}\nexited with {result.returncode}: {result.stdout[-2000:]}")


def lastEvaluation(log):
    with open(log, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.strip()]
    return [line for line in lines if line.get("eval")][-1]


def dataOf(job, options, folder):
    """(--data, --eval-data)."""
    if not job.write:
        return FASHION, FASHION
    paths = []
    for part, rows in zip(("train", "test"), job.shortRows if options.short else job.rows):
        path = os.path.join(folder, f"{part}.npz")
        job.write(path, rows, part)
        paths.append("npz:" + path)
    return paths


def trainModel(name, options):
    """{precision: (share, [figure of each seed])}; prints a line for each run."""
    job, folder = JOBS[name], os.path.join(options.folder, name)
    os.makedirs(folder, exist_ok=True)
    data, evalData = dataOf(job, options, folder)
    epochs = job.shortEpochs if options.short else job.epochs
    found = {}
    for precision in PRECISIONS:
        trainer, plan = (os.path.join(folder, precision + suffix) for suffix in ("", ".json"))
        command = [os.path.join(options.bin, "sinterc"), job.onnx, "-o", trainer, "--train",
                   f"--precision={precision}", *job.compile]
        share = 0
        if precision != "fp32":
            run(command + [f"--save-precision-plan={plan}"])
            with open(plan, encoding="utf-8") as file:
                share = min(json.load(file)["sixteen_bit_share"].values())
        else:
            run(command)
        figures = []
        for seed in range(1, options.seeds + 1):
            log = os.path.join(folder, f"{precision}-{seed}.json")
            run([trainer, f"--data={data}", f"--eval-data={evalData}", f"--epochs={epochs}",
                 f"--seed={seed}", f"--threads={options.threads}", f"--log-json={log}",
                 "--quiet", *job.train])
            end = lastEvaluation(log)
            figures.append(100 * end["accuracy"] if job.figure == "accuracy" else end["loss"])
            print(f"{name:7}{precision:6}seed {seed}  accuracy {100 * end['accuracy']:6.2f} %  "
                  f"loss {end['loss']:.5f}  16-bit {100 * share:6.2f} %", flush=True)
        found[precision] = (share, figures)
    return found


def judge(name, found):
    """What is out of bounds, as sentences."""
    figure, problems = JOBS[name].figure, []
    means = {p: sum(f) / len(f) for p, (_, f) in found.items()}
    spread = max(found["fp32"][1]) - min(found["fp32"][1])
    for precision in PRECISIONS[1:]:
        share = found[precision][0]
        if figure == "accuracy":
            off, allowed = means["fp32"] - means[precision], POINTS
            text = f"{off:+.3f} points of accuracy lost"
        else:
            off, allowed = means[precision] / means["fp32"] - 1, RELATIVE
            text = f"{100 * off:+.3f} % of loss gained"
        print(f"{name}: {precision} {means[precision]:.5g}, fp32 {means['fp32']:.5g} "
              f"(its seeds differ by {spread:.3g}): {text}", flush=True)
        if not off <= allowed:
            problems.append(f"{name} in {precision}: {text}")
        if share < SHARE:
            problems.append(f"{name} in {precision}: {100 * share:.2f} % in 16 bits")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--models", default="cnn,resnet,gpt")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    if options.short:
        options.seeds = 1
    problems = []
    for name in options.models.split(","):
        problems += judge(name, trainModel(name, options))
    for problem in problems:
        print(f"out of bounds: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
