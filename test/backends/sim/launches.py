#!/usr/bin/env python3
"""Checks that the simulated device launches the kernels of the PTX, in the same shapes.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    launches.py PROGRAMS --models=DIR --work=DIR

Each line of PROGRAMS is a model of DIR and flags of sinterc. The data of a model to train are
MODEL-data.npz; without that file the model is skipped. The program is compiled for
CUDA and run on sim:0 (training: two steps and an evaluation). The kernels in the report
of --sim-report must be exactly the entries of --emit=ptx, and each launch must
have the grid and block of the program for CUDA.
"""

import argparse
import json
import os
import re
import subprocess
import sys


def run(*command, **environment):
    """What it prints; raises RuntimeError with its complaint."""
    done = subprocess.run(command, capture_output=True, text=True,
                          env=dict(os.environ, **environment))
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def check(words, options):
    model, flags = os.path.join(options.models, words[0]), words[1:]
    data = model[:-len(".onnx")] + "-data.npz"
    cuda = ["sinterc", model, *flags, "--target=cuda", "--gpu-arch=sm_90"]
    entries = set(re.findall(r"\.entry (\w+)\(", run(*cuda, "--emit=ptx", "-o", "-")))
    binary = os.path.join(options.work, "cuda")
    run(*cuda, "-o", binary)
    shapes = {kernel["name"]: (kernel["grid"], kernel["block"])
              for kernel in json.loads(run("sinter-inspect", "kernels", binary, "--json"))
              if "grid" in kernel}
    report = os.path.join(options.work, "report.json")
    if "--train" in flags:
        trainer = os.path.join(options.work, "trainer")
        run("sinterc", model, *flags, "--target=sim", "-o", trainer)
        subprocess.run(["rm", "-rf", trainer + "-out"], check=True)
        run(trainer, f"--data=npz:{data}", f"--eval-data=npz:{data}", "--steps=2",
            f"--out={trainer}-out", SINTER_SIM=f"report={report}")
    else:
        run("sinter-run", model, *flags, "--device=sim:0", "--inputs=random:seed=1",
            f"--sim-report={report}")
    with open(report, encoding="utf-8") as file:
        launches = json.load(file)
    launched = {launch["kernel"] for launch in launches}
    if launched != entries:
        raise RuntimeError(f"launched and in the PTX differ: {sorted(launched ^ entries)}")
    if set(shapes) != entries:
        raise RuntimeError(f"the program's kernels differ: {sorted(set(shapes) ^ entries)}")
    for launch in launches:
        if (launch["grid"], launch["block"]) != shapes[launch["kernel"]]:
            raise RuntimeError(f"{launch['kernel']} is launched as {launch['grid']} x "
                               f"{launch['block']}, for CUDA {shapes[launch['kernel']]}")
    return len(entries), len(launches)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs")
    parser.add_argument("--models", required=True)
    parser.add_argument("--work", required=True)
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    with open(options.programs, encoding="utf-8") as file:
        programs = [line.split() for line in file if line.strip() and line[0] != "#"]
    kernels = launches = problems = leftOut = 0
    for words in programs:
        data = os.path.join(options.models, words[0][:-len(".onnx")] + "-data.npz")
        if "--train" in words and not os.path.exists(data):
            leftOut += 1
            continue
        try:
            numKernels, numLaunches = check(words, options)
        except RuntimeError as error:
            print(f"{' '.join(words)}: {error}")
            problems += 1
            continue
        kernels += numKernels
        launches += numLaunches
    print(f"sim: {len(programs) - leftOut} programs, {leftOut} left out, {kernels} kernels, {launches} launches, "
          f"{problems} problems")
    return 1 if problems or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
