#!/usr/bin/env python3
"""Checks that a change of the compiler does not change the generated code by a single byte.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    same_code.py record --build=BUILD -o before.json     compiles and saves the hashes
    same_code.py compare --build=BUILD before.json       compiles again and compares

Compiles every test model as a library and as a trainer, for cpu, cuda and sim, in float32
and bf16, to object files: machine code, PTX, plans, constants and manifest, but not the build
id. A case that no command compiles is compared by its error messages ("no command" in the
report). The last line is `N passed, M failed, K skipped`; --only and --every=N select some of
the models.
"""

import argparse
import concurrent.futures
import glob
import hashlib
import itertools
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODELS = ["test/models/*.onnx", "test/e2e/Inputs/*.onnx", "test/gpu/Inputs/*.onnx"]
TARGETS = ["cpu", "cuda", "sim"]
PRECISIONS = ["fp32", "bf16"]
LOSSES = ["cross-entropy", "cross-entropy:axis=-1", "mse", "none"]
SIZES = ["--batch=2", "--batch=2 --dim=sequence=16 --dim=seq=16 --dim=s=16", ""]
# A hash of the planned program as text, so that another syntax changes it.
BUILD_ID = re.compile(rb"[0-9a-f]{32}")
RELA, SYMTAB = 4, 2  # kinds of ELF sections
MERGED_STRINGS = 0x30  # flags: strings, which the assembler sorts


class Object:
    """A relocatable ELF file of 64 bits."""

    def __init__(self, data):
        self.data = data
        start, = struct.unpack_from("<Q", data, 40)
        size, count, _ = struct.unpack_from("<HHH", data, 58)
        # name, type, flags, address, offset, size, link, info, alignment, entry size
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", data, start + i * size)
                         for i in range(count)]
        self.symbols = next(i for i, s in enumerate(self.sections) if s[1] == SYMTAB)

    def bytes(self, section):
        return self.data[section[4]:section[4] + section[5]]

    def target(self, info, addend):
        """What a relocation refers to; strings by what they are."""
        symbol = self.bytes(self.sections[self.symbols])[(info >> 32) * 24:][:24]
        _, _, _, index, value, _ = struct.unpack("<IBBHQQ", symbol)
        if index < len(self.sections):
            section = self.sections[index]
            if section[2] & MERGED_STRINGS == MERGED_STRINGS:
                text = self.bytes(section)[value + addend:].split(b"\0")[0]
                return b"the build id" if BUILD_ID.fullmatch(text) else text
        return struct.pack("<qq", info, addend)

    def hash(self):
        """Of all sections, but for the build id and where it lies among the strings."""
        digest = hashlib.sha256()
        for section in self.sections:
            data = self.bytes(section)
            if section[1] == RELA:
                for offset, info, addend in struct.iter_unpack("<QQq", data):
                    digest.update(struct.pack("<QQ", offset, info & 0xffffffff))
                    digest.update(self.target(info, addend))
            elif section[2] & MERGED_STRINGS == MERGED_STRINGS:
                strings = [s for s in data.split(b"\0") if not BUILD_ID.fullmatch(s)]
                digest.update(b"\0".join(sorted(strings)))
            else:
                digest.update(data)
        return digest.hexdigest()


def attempts(kind):
    """The command lines to try in turn, as words in addition to the target's."""
    if kind == "lib":
        return [size.split() for size in SIZES]
    return [["--train", f"--loss={loss}", "--optimizer=adamw", *size.split()]
            for size, loss in itertools.product(SIZES, LOSSES)]


def compileOne(sinterc, model, kind, target, precision):
    """(command, hash) of the first command that compiles, else of all messages."""
    errors = []
    with tempfile.TemporaryDirectory() as folder:
        # Names must be equal, because they are part of the artifact.
        out = os.path.join(folder, "out.o")
        for words in attempts(kind):
            command = [model, "--emit=obj", f"--target={target}", f"--precision={precision}",
                       "--mcpu=x86-64-v4", "-j1", *words]
            done = subprocess.run([sinterc, *command, "-o", out], cwd=ROOT, text=True,
                                  capture_output=True)
            if done.returncode == 0:
                with open(out, "rb") as file:
                    return " ".join(command), Object(file.read()).hash()
            errors.append(f"{done.returncode}: {done.stderr.replace(folder, '')}")
    return "no command", hashlib.sha256("\n".join(errors).encode()).hexdigest()


def compileAll(options):
    """{case: [command, hash]} for every model and every way to compile it."""
    models = sorted(path for pattern in MODELS
                    for path in glob.glob(pattern, root_dir=ROOT) if options.only in path)
    cases = list(itertools.product(models[::options.every], ["lib", "trainer"], TARGETS,
                                   PRECISIONS))
    sinterc = os.path.join(os.path.abspath(options.build), "bin", "sinterc")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda case: compileOne(sinterc, *case), cases)
        return {" ".join(case): list(result) for case, result in zip(cases, results)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("before", nargs="?", help="the file that `record` wrote")
    parser.add_argument("--build", required=True, help="build folder")
    parser.add_argument("-o", "--output", help="the file that `record` writes")
    parser.add_argument("--only", default="", help="models whose path contains this")
    parser.add_argument("--every", type=int, default=1, help="every N-th model")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_intermixed_args()
    if options.action == "record":
        if not options.output:
            parser.error("record needs -o")
        found = compileAll(options)
        with open(options.output, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)
        compiled = sum(command != "no command" for command, _ in found.values())
        print(f"{compiled} of {len(found)} cases compile")
        return 0
    if not options.before:
        parser.error("compare needs the file that record wrote")
    with open(options.before, encoding="utf-8") as file:
        before = json.load(file)
    found = compileAll(options)
    failed = missing = 0
    for case, result in found.items():
        if case not in before:
            missing += 1
        elif result != before[case]:
            failed += 1
            print(f"differs: {case}\n  before: {before[case][0]}\n  now:    {result[0]}")
    if not found or missing == len(found):
        print("nothing was compared")
        return 1
    print(f"{len(found) - failed - missing} passed, {failed} failed, {missing} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
