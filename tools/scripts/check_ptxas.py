#!/usr/bin/env python3
"""The ptxas gate: assembles every kernel of test programs and allows no spills and no calls.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    check_ptxas.py PROGRAMS --models=DIR [--list]

Each line of PROGRAMS lists a model of DIR and flags of sinterc. --list prints the resources that
each kernel uses on sm_90, and the share of a multiprocessor's threads that it can have there.
PTX for sm_80 is assembled for sm_80. PTX for sm_90 is assembled for sm_90, sm_100 and sm_120.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

# PTX for the first is assembled for the others.
ARCHITECTURES = {"sm_80": ["sm_80"], "sm_90": ["sm_90", "sm_100", "sm_120"]}


def findPtxas():
    for path in (shutil.which("ptxas"), "/usr/local/cuda/bin/ptxas"):
        if path and os.path.exists(path):
            return path
    sys.exit("check_ptxas: ptxas not found; it is part of the CUDA toolkit")


# A multiprocessor of sm_90: threads, registers, bytes of shared memory, blocks; and the shared
# memory that each block takes in addition to its own.
THREADS, REGISTERS, SHARED, BLOCKS, SHARED_OF_BLOCK = 2048, 65536, 228 << 10, 32, 1 << 10


def occupancy(threads, registers, shared):
    """The share of a multiprocessor's threads that a kernel's blocks can have."""
    warps = -(-threads // 32)
    registersOfBlock = warps * -(-max(registers, 1) * 32 // 256) * 256
    blocks = min(THREADS // (warps * 32), REGISTERS // registersOfBlock,
                 SHARED // (shared + SHARED_OF_BLOCK), BLOCKS)
    return blocks * warps * 32 / THREADS


def assemble(ptxas, text, target, folder):
    """The entries that ptxas compiled, with stack, spills, registers and shared memory; and
    its error message, if any."""
    source = os.path.join(folder, "kernels.ptx")
    with open(source, "w") as file:
        file.write(text)
    done = subprocess.run(
        [ptxas, f"-arch={target}", "-v", source, "-o", os.path.join(folder, "kernels.cubin")],
        capture_output=True, text=True)
    if done.returncode:
        return {}, done.stderr.strip()
    entries, name = {}, None
    for line in done.stderr.splitlines():
        if match := re.search(r"Function properties for (\S+)", line):
            name = match.group(1)
        elif match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, "
                                r"(\d+) bytes spill loads", line):
            entries[name] = tuple(map(int, match.groups()))
        elif name and (match := re.search(r"Used (\d+) registers", line)):
            shared = re.search(r"(\d+) bytes smem", line)
            entries[name] += (int(match.group(1)), int(shared.group(1)) if shared else 0)
    return entries, None


def surprises(ptx):
    """What kernels in `ptx` should not have, a line each."""
    for kernel, body in re.findall(r"\.entry (\w+)\((.*?)\n\}", ptx, re.S):
        for word, what in ((r"\bcall\b", "calls a function"),
                           (r"\.local\b", "has local memory")):
            if re.search(word, body):
                yield f"{kernel} {what}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs")
    parser.add_argument("--models", required=True)
    parser.add_argument("--list", action="store_true",
                        help="print the resources of each kernel")
    options = parser.parse_args()
    ptxas = findPtxas()
    with open(options.programs) as file:
        programs = [line.split() for line in file if line.strip() and line[0] != "#"]
    problems, kernels, assembled = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for model, *flags in programs:
            for arch, targets in ARCHITECTURES.items():
                done = subprocess.run(
                    ["sinterc", os.path.join(options.models, model), *flags, "--target=cuda",
                     f"--gpu-arch={arch}", "--emit=ptx", "-o", "-"],
                    capture_output=True, text=True)
                if done.returncode:
                    problems.append(f"{model}: {done.stderr.strip()}")
                    break
                expected = set(re.findall(r"\.entry (\w+)\(", done.stdout))
                threads = dict(re.findall(r"\.entry (\w+)\([^{]*?\.maxntid (\d+)", done.stdout))
                kernels += len(expected)
                problems += [f"{model} for {arch}: {text}" for text in surprises(done.stdout)]
                for target in targets:
                    entries, complaint = assemble(ptxas, done.stdout, target, folder)
                    if complaint or set(entries) != expected:
                        problems.append(f"{model} for {target}: "
                                        f"{complaint or 'entries are missing'}")
                    assembled += len(entries)
                    for name, (stack, stores, loads, registers, shared) in entries.items():
                        if options.list and target == "sm_90":
                            share = occupancy(int(threads[name]), registers, shared)
                            print(f"{model} {name}: {threads[name]} threads, {registers} "
                                  f"registers, {shared} bytes shared, {share:.0%} of threads")
                        if stack or stores or loads:
                            problems.append(
                                f"{model} for {target}: {name} has {stack} bytes of stack, "
                                f"{stores} of spill stores and {loads} of spill loads")
    for problem in problems:
        print(problem)
    print(f"ptxas: {len(programs)} programs, {kernels} kernels, {assembled} assembled, "
          f"{len(problems)} problems")
    sys.exit(1 if problems or not assembled else 0)


if __name__ == "__main__":
    main()
