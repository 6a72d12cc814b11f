#!/usr/bin/env python3
"""Random model graphs, run in many ways and compared.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    run.py --build=BUILD [--count=20000] [--seed=S] [--jobs=N] [--oracle=onnxruntime|reference]

Makes COUNT graphs (generate.py; graph I has the seed S + I) and runs each with sinter-graphs
on the CPU and in two more of the modes, in turn: the simulated CUDA device, -O0,
--libraries=none, --precision=bf16, gradients. Results are compared with ir/eval in float64,
which is compared with the oracle where one is given; gradients with finite differences too.
Each finding is shrunk (shrink.py) and written to --out, with the command that shows it.
Prints `N passed, M failed, K skipped`: K graphs were refused or have no stable result.
--show=SEED writes the graph of a seed and says what comes of it; --one=FOLDER runs a graph
that was written.
"""

import argparse
import collections
import os
import subprocess
import sys
import tempfile

from generate import generate
from oracles import Oracle
from runner import MODES, Runner, modesOf
from shrink import shrink

BATCH = 200
MOST_REFUSED, MOST_UNSTABLE = 0.05, 0.10  # shares; more is a finding


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build folder")
    parser.add_argument("--count", type=int, default=300, help="graphs; default 300")
    parser.add_argument("--seed", type=int, default=1, help="of the first graph; default 1")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--modes", default=",".join(MODES),
                        help="by commas; every graph runs in the first. Default: all")
    parser.add_argument("--oracle", choices=["onnxruntime", "reference"],
                        help="a Python package that can be imported")
    parser.add_argument("--out", default="graphs-found", help="folder of findings")
    parser.add_argument("--no-shrink", action="store_true", help="write findings as they are")
    parser.add_argument("--show", type=int, metavar="SEED", help="one graph, in all modes")
    parser.add_argument("--one", metavar="FOLDER", help="a graph that was written, in all modes")
    options = parser.parse_args()
    options.modes = options.modes.split(",")
    if unknown := set(options.modes) - set(MODES):
        parser.error(f"no mode {', '.join(sorted(unknown))}; there are {', '.join(MODES)}")
    options.build = os.path.abspath(options.build)
    return options


def runOne(options, folder):
    lines = "\t".join([folder, *options.modes]) + "\n"
    return subprocess.run([os.path.join(options.build, "bin", "sinter-graphs")], input=lines,
                          text=True).returncode


def report(options, seed, result, graph, runner):
    """Shrinks a finding and writes it; says where."""
    small = graph
    if not options.no_shrink:
        small = shrink(graph, result.mode, result.kind(), runner)
    folder = os.path.abspath(os.path.join(options.out, f"{seed}-{result.mode or 'start'}"))
    small.write(folder)
    mode = result.mode if result.mode in MODES else MODES[0]
    command = (f"{sys.executable} {os.path.abspath(__file__)} --build={options.build} "
               f"--modes={mode} --one={folder}")
    with open(os.path.join(folder, "command"), "w") as file:
        file.write(f"{command}\n# {result.outcome} in {result.mode}: {result.text}\n"
                   f"# seed {seed}; nodes: {', '.join(n.op for n in small.nodes)}\n")
    print(f"  {folder}: {', '.join(n.op for n in small.nodes)}", flush=True)


def fuzz(options, runner):
    totals, refused, oracle = collections.Counter(), collections.Counter(), collections.Counter()
    kinds = set()
    for first in range(0, options.count, BATCH):
        seeds = range(options.seed + first, options.seed + min(first + BATCH, options.count))
        graphs = {str(seed): (generate(seed), modesOf(seed, options.modes)) for seed in seeds}
        for name, results in runner.run(graphs).items():
            outcomes = {r.outcome for r in results}
            for result in results:
                if result.mode == "oracle" and result.outcome == "none":
                    oracle[result.text] += 1
                if result.outcome == "refused":
                    refused[result.text] += 1
            found = [r for r in results if r.isFinding]
            if found or not results:
                totals["failed"] += 1
            elif outcomes & {"refused"} or "passed" not in outcomes:
                totals["refused" if "refused" in outcomes else "unstable"] += 1
            else:
                totals["passed"] += 1
            if not results:
                print(f"seed {name}: no answer")
            for result in found:
                print(f"seed {name}: {result.mode} {result.outcome}: {result.text}", flush=True)
                if result.kind() not in kinds:
                    kinds.add(result.kind())
                    report(options, name, result, graphs[name][0], runner)
    for text, number in refused.most_common():
        print(f"refused {number} times: {text}")
    if oracle:
        print(f"{sum(oracle.values())} graphs without an oracle, for example")
    for text, number in oracle.most_common(20):
        print(f"  {number} times: {text}")
    for kind, most in (("refused", MOST_REFUSED), ("unstable", MOST_UNSTABLE)):
        if totals[kind] > most * options.count:
            print(f"{totals[kind]} graphs are {kind}: more than {most:.0%}")
            totals["failed"] += 1
    print(f"{totals['passed']} passed, {totals['failed']} failed, "
          f"{totals['refused'] + totals['unstable']} skipped")
    return 1 if totals["failed"] else 0


def main():
    options = arguments()
    if options.one:
        return runOne(options, os.path.abspath(options.one))
    if options.show is not None:
        folder = os.path.abspath(os.path.join(options.out, str(options.show)))
        generate(options.show).write(folder)
        return runOne(options, folder)
    oracle = Oracle(options.oracle) if options.oracle else None
    with tempfile.TemporaryDirectory() as folder:
        return fuzz(options, Runner(options.build, folder, options.jobs, oracle))


if __name__ == "__main__":
    sys.exit(main())
