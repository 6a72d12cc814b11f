#!/usr/bin/env python3
"""The ptxas gate: assembles every kernel of test programs and allows no spills and no calls.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    check_ptxas.py PROGRAMS --models=DIR [--list] [--sass]
    check_ptxas.py --ptx=FILE [--sass]

Each line of PROGRAMS lists a model of DIR and flags of sinterc. --list prints the resources that
each kernel uses on sm_90, and the share of a multiprocessor's threads that it can have there.
--ptx assembles the PTX of a file for all architectures. --sass also disassembles what is assembled
for sm_90, and compares it with the PTX (sass.py).
PTX for sm_80 is assembled for sm_80. PTX for sm_90 is assembled for sm_90, sm_100 and sm_120.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

import sass

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
    entries = {name: values for name, values in entries.items() if len(values) == 5}
    return entries, None


def surprises(ptx):
    """What kernels in `ptx` should not have, a line each."""
    for kernel, body in re.findall(r"\.entry (\w+)\((.*?)\n\}", ptx, re.S):
        for word, what in ((r"\bcall\b", "calls a function"),
                           (r"\.local\b", "has local memory")):
            if re.search(word, body):
                yield f"{kernel} {what}"


class Gate:
    """Assembles PTX and counts kernels and problems."""

    def __init__(self, isListing, hasSass):
        self.ptxas, self.isListing = findPtxas(), isListing
        self.nvdisasm, self.disassembled = sass.find() if hasSass else None, 0
        if hasSass and not self.nvdisasm:
            sys.exit("check_ptxas: nvdisasm not found; tools/scripts/sass.py says where it is")
        self.problems, self.kernels, self.assembled = [], 0, 0

    def check(self, name, text, targets):
        expected = set(re.findall(r"\.entry (\w+)\(", text))
        threads = dict(re.findall(r"\.entry (\w+)\([^{]*?\.maxntid (\d+)", text))
        self.kernels += len(expected)
        self.problems += [f"{name}: {text}" for text in surprises(text)]
        for target in targets:
            with tempfile.TemporaryDirectory() as folder:
                entries, complaint = assemble(self.ptxas, text, target, folder)
                if self.nvdisasm and target == "sm_90" and not complaint:
                    code = sass.disassemble(self.nvdisasm, os.path.join(folder, "kernels.cubin"))
                    self.disassembled += len(code)
                    self.problems += [f"{name}: {line}" for line in sass.surprises(text, code)]
            if complaint or set(entries) != expected:
                self.problems.append(f"{name} for {target}: {complaint or 'entries are missing'}")
            self.assembled += len(entries)
            for kernel, (stack, stores, loads, registers, shared) in entries.items():
                if self.isListing and target == "sm_90":
                    share = occupancy(int(threads[kernel]), registers, shared)
                    print(f"{name} {kernel}: {threads[kernel]} threads, {registers} "
                          f"registers, {shared} bytes shared, {share:.0%} of threads")
                if stack or stores or loads:
                    self.problems.append(
                        f"{name} for {target}: {kernel} has {stack} bytes of stack, "
                        f"{stores} of spill stores and {loads} of spill loads")


def checkProgram(gate, model, flags, models):
    for arch, targets in ARCHITECTURES.items():
        done = subprocess.run(
            ["sinterc", os.path.join(models, model), *flags, "--target=cuda",
             f"--gpu-arch={arch}", "--emit=ptx", "-o", "-"],
            capture_output=True, text=True)
        if done.returncode:
            gate.problems.append(f"{model}: {done.stderr.strip()}")
            return
        gate.check(model, done.stdout, targets)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="?")
    parser.add_argument("--models")
    parser.add_argument("--list", action="store_true",
                        help="print the resources of each kernel")
    parser.add_argument("--sass", action="store_true", help="disassemble the kernels for sm_90")
    parser.add_argument("--ptx", help="a file with kernels, instead of programs")
    options = parser.parse_args()
    if (options.ptx is None) == (options.programs is None):
        parser.error("either PROGRAMS or --ptx=FILE")
    if options.programs and not options.models:
        parser.error("PROGRAMS needs --models=DIR")
    gate, programs = Gate(options.list, options.sass), []
    if options.ptx:
        with open(options.ptx) as file:
            gate.check(os.path.basename(options.ptx), file.read(),
                       sum(ARCHITECTURES.values(), []))
    else:
        with open(options.programs) as file:
            programs = [line.split() for line in file if line.strip() and line[0] != "#"]
    for model, *flags in programs:
        checkProgram(gate, model, flags, options.models)
    for problem in gate.problems:
        print(problem)
    print(f"ptxas: {len(programs)} programs, {gate.kernels} kernels, {gate.assembled} assembled, "
          f"{f'{gate.disassembled} disassembled, ' if options.sass else ''}{len(gate.problems)} problems")
    sys.exit(1 if gate.problems or not gate.assembled else 0)


if __name__ == "__main__":
    main()
