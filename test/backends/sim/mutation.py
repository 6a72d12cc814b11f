#!/usr/bin/env python3
"""How many barriers and predicates of programs' kernels can be left out unnoticed.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Every barrier of the block, and every comparison of indices that guards something, is
left out once (sinter-run --sim-drop), under up to 5 schedules: it is found when the run
fails or an output differs in a bit. Survivors are listed; one whose removal changes
nothing, whatever happens, counts as a survivor all the same.

    mutation.py --build=build/release [--least=95] [--libraries=none] MODEL...

MODEL.onnx has its inputs in MODEL-in.npz beside it, or gets random ones.
"""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

SEEDS = range(5)


class Program:
    def __init__(self, tool, model, libraries, folder):
        inputs = model[:-len(".onnx")] + "-in.npz"
        self.name = os.path.basename(model)
        self.base = [tool, model, "--device=sim:0", "--libraries=" + libraries,
                     "--inputs=" +
                     (inputs if os.path.exists(inputs) else "random:seed=1")]
        self.reference = os.path.join(folder, self.name + ".npz")
        self.report = os.path.join(folder, self.name + ".json")

    def run(self, *options):
        return subprocess.run(self.base + list(options), capture_output=True, text=True,
                              timeout=600)

    def prepare(self):
        """What is wrong with the program as it is; "" if nothing."""
        first = self.run("--outputs=" + self.reference, "--sim-report=" + self.report)
        if first.returncode != 0:
            return (first.stderr or first.stdout).strip()
        for seed in SEEDS:
            if self.isFound(seed):
                return f"differs under seed {seed}"
        return ""

    def isFound(self, seed, *options):
        return self.run("--reference=" + self.reference, "--rtol=0", "--atol=0",
                        f"--sim-seed={seed}", *options).returncode != 0

    def sites(self):
        """{"barrier:3": "kernel"} of the kernels that were launched."""
        found = {}
        with open(self.report, encoding="utf-8") as file:
            for launch in json.load(file):
                for kind in ("barrier", "predicate"):
                    first, count = launch[kind + "Sites"]
                    for number in range(first, first + count):
                        found[f"{kind}:{number}"] = launch["kernel"]
        return found

    def survives(self, site):
        return not any(self.isFound(seed, "--sim-drop=" + site) for seed in SEEDS)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build folder")
    parser.add_argument("--least", type=float, default=95, help="per cent to be found")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--libraries", default="all", help="as sinterc's")
    parser.add_argument("models", nargs="+", metavar="MODEL")
    options = parser.parse_args()
    tool = os.path.join(options.build, "bin", "sinter-run")
    numSites = numSurvivors = 0
    isBroken = False
    with tempfile.TemporaryDirectory(prefix="sinter-mutation-") as folder, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for model in options.models:
            program = Program(tool, model, options.libraries, folder)
            problem = program.prepare()
            if problem:
                print(f"{program.name}: {problem}")
                isBroken = True
                continue
            sites = program.sites()
            survivors = [site for site, lives in
                         zip(sites, pool.map(program.survives, sites)) if lives]
            numSites += len(sites)
            numSurvivors += len(survivors)
            print(f"{program.name}: {len(sites) - len(survivors)} of {len(sites)} found")
            for site in survivors:
                print(f"  survivor: {site} of {sites[site]}")
    score = 100 * (numSites - numSurvivors) / numSites if numSites else 100
    print(f"mutation score: {score:.1f} % of {numSites}")
    return 1 if isBroken or score < options.least else 0


if __name__ == "__main__":
    sys.exit(main())
