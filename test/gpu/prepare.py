#!/usr/bin/env python3
"""Gathers what test/gpu/run.sh needs into one folder, and an archive of it.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    prepare.py --build=BUILD --out=FOLDER [--target=cuda] [--archive=FILE.tar.xz] [--small]

Needs no GPU and no CUDA: trainers hold PTX. In the folder: stripped tools, trainers of
the training tests with their data and references, models of kernels and networks, the
scripts, and the CPU contraction library that binaries are linked with. --archive also
packs it, and fails above 64 MiB. --small leaves out what a test does without.
"""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MODELS = os.path.join(ROOT, "test", "models")
LIMIT = 64 << 20
# Models whose weights are not in the file, at their real sizes.
NETWORKS = ["fusion-encoder-post", "fusion-resnet50"]
SCRIPTS = ["test/gpu/run.sh", "test/gpu/run.py", "test/gpu/peers.py",
           "tools/scripts/compare_training.py", "tools/scripts/npz.py",
           "tools/scripts/compare_npz.py"]


def trainingTests(small):
    """(name, sinterc's options, trainer's options, reference, comparison's options)"""
    names = ["mlp-adam", "cnn-adam"] if small else \
        sorted(os.path.basename(path)[:-len(".test")]
               for path in glob.glob(os.path.join(ROOT, "test/e2e/training/*.test")))
    for name in names:
        with open(os.path.join(ROOT, "test/e2e/training", name + ".test")) as file:
            text = file.read()
        compiled = re.search(r"RUN: sinterc (\S+) -o %t/trainer (.*)", text)
        trained = re.search(r"RUN: %t/trainer (--data.*) --out=%t/run --log-json=\S+", text)
        compared = re.search(r"compare_training.py \S+ \S+ (\S+)(.*)", text)
        if compiled and trained and compared:
            yield (name, compiled.group(1), compiled.group(2).split(),
                   trained.group(1).split(), compared.group(1), compared.group(2).split())


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"prepare.py: {' '.join(command)}: {done.stderr.strip()[-500:]}")


def copyTo(source, folder):
    os.makedirs(folder, exist_ok=True)
    return shutil.copy(source, folder)


def copyTools(build, out, small):
    tools = ["sinter-run"] if small else ["sinter-run", "sinter-op-tests"]
    for tool in tools:
        copy = copyTo(os.path.join(build, "bin", tool), os.path.join(out, "bin"))
        if not small:
            run(["strip", copy])
    listing = subprocess.run(["ldd", os.path.join(out, "bin", "sinter-run")],
                             capture_output=True, text=True).stdout
    found = re.search(r"(libdnnl\.so\.\d+) => (\S+)", listing)
    if found and not small:
        os.makedirs(os.path.join(out, "lib"), exist_ok=True)
        shutil.copy(os.path.realpath(found.group(2)), os.path.join(out, "lib", found.group(1)))


def makeTrainers(build, out, target, small):
    """trainers.txt: name|trainer's options|reference|comparison's options."""
    lines = []
    os.makedirs(os.path.join(out, "trainers"), exist_ok=True)
    compiler = os.path.join(build, "bin", "sinterc")
    for name, model, options, training, reference, comparison in trainingTests(small):
        run([compiler, model.replace("%models", MODELS), "-o",
             os.path.join(out, "trainers", name), f"--target={target}", *options])
        for word in training:
            if word.startswith("--data=npz:"):
                copyTo(word[len("--data=npz:"):].replace("%models", MODELS),
                       os.path.join(out, "models"))
        copyTo(reference.replace("%models", MODELS), os.path.join(out, "models"))
        lines.append("|".join([name, " ".join(training), reference, " ".join(comparison)]))
    with open(os.path.join(out, "trainers.txt"), "w") as file:
        file.write("\n".join(lines) + "\n")
    # What is measured: a network at its real size on generated data.
    for name, model, size in (
            ("cnn", os.path.join(ROOT, "docs/examples/fashion_cnn.onnx"), ["--batch=64"]),
            ("mlp", os.path.join(HERE, "Inputs/mlp.mlir"), [])):
        run([compiler, model, "-o", os.path.join(out, "trainers", f"bench-{name}-64"),
             f"--target={target}", "--train", "--optimizer=adam", *size])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--archive")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    out = os.path.abspath(options.out)
    if os.path.exists(out) and os.listdir(out):
        sys.exit(f"prepare.py: {out} is not empty")
    copyTools(options.build, out, options.small)
    makeTrainers(options.build, out, options.target, options.small)
    for name in NETWORKS:
        copyTo(os.path.join(MODELS, name + ".onnx"), os.path.join(out, "models"))
    for script in SCRIPTS:
        copyTo(os.path.join(ROOT, script), out)
    files = [os.path.join(folder, name) for folder, _, names in os.walk(out)
             for name in names]
    size = sum(map(os.path.getsize, files))
    print(f"{out}: {len(files)} files, {size / 2**20:.1f} MiB")
    if options.archive:
        with tarfile.open(options.archive, "w:xz") as archive:
            archive.add(out, arcname="sinter-gpu")
        packed = os.path.getsize(options.archive)
        print(f"{options.archive}: {packed / 2**20:.1f} MiB")
        if packed > LIMIT:
            sys.exit(f"prepare.py: {options.archive} has more than 64 MiB")


main()
