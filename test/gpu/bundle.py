"""The folder that a GPU machine gets: programs, and the libraries they need to start there.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MODELS = os.path.join(ROOT, "test", "models")
LIMIT = 44 << 20  # of the archive: with the project's tree it travels within 64 MiB
# What another machine has of its own, unless it is older: kept apart.
LIBC = re.compile(r"(ld-linux-x86-64|libc|libm|libdl|libpthread|librt|libresolv|libutil)\.so")
OF_DRIVER = ("libdl.so.2", "libpthread.so.0", "librt.so.1")  # the parts of libc that it names
RUNTIME = re.compile(r"(libstdc\+\+|libgcc_s)\.so")


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        words = " ".join(os.path.basename(word) for word in command[:3])
        sys.exit(f"prepare.py: {words}: {done.stderr.strip()[-500:]}")
    return done.stdout


class Bundle:
    """.out    the folder     .target  what is compiled for: "cuda", "sim"
    .small  small sizes    .build   where the tools are"""

    def __init__(self, build, out, target, small):
        self.build, self.out = os.path.abspath(build), os.path.abspath(out)
        self.target, self.small = target, small

    def path(self, *names):
        path = os.path.join(self.out, *names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def tool(self, name):
        return os.path.join(self.build, "bin", name)

    def add(self, source, *folder):
        return shutil.copy(source, self.path(*folder, os.path.basename(source)))

    def addModel(self, words):
        """Copies the test models' files among `words`: "--data=npz:%models/x.npz"."""
        for name in re.findall(r"%models/([\w.-]+)", " ".join(words)):
            self.add(os.path.join(MODELS, name), "models")

    def compile(self, model, file, *options, target=None):
        """A program for any x86-64 of the last ten years, as FOLDER/file. It has cubins only if
        `options` ask for them, since the archive is limited."""
        run([self.tool("sinterc"), model.replace("%models", MODELS), "-o", self.path(file),
             f"--target={target or self.target}", "--mcpu=x86-64-v3", *options,
             *([] if any(option.startswith("--cubin") for option in options)
               else ["--cubin=off"])])
        header = os.path.splitext(self.path(file))[0] + ".h"
        if os.path.exists(header):
            os.remove(header)

    def compileText(self, program, file, *options, **more):
        """A Program of programs.py."""
        text = self.path(file + ".mlir")
        with open(text, "w", encoding="utf-8") as out:
            out.write(program.text)
        self.compile(text, file, *program.options, *options, **more)
        os.remove(text)

    def write(self, name, entries):
        """For Context.list."""
        with open(self.path(name + ".json"), "w", encoding="utf-8") as file:
            json.dump(entries, file, indent=1)

    def read(self, name):
        with open(self.path(name + ".json"), encoding="utf-8") as file:
            return json.load(file)

    def inParallel(self, function, items):
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(function, items))

    # --- tools and what they are linked with ---

    def addTools(self, names):
        for name in names:
            copy = self.add(self.tool(name), "bin")
            if not self.small:
                run(["strip", copy])
            self.addLibraries(copy)

    def addLibraries(self, program):
        """The shared libraries of `program`: lib/ what a machine may lack, lib/libstdc++ and
        lib/libc for a machine whose own are older."""
        sources = re.findall(r"(/\S+) \(0x", run(["ldd", program]))
        libc = next(source for source in sources if os.path.basename(source) == "libc.so.6")
        sources += [os.path.join(os.path.dirname(libc), name) for name in OF_DRIVER]
        for source in sources:
            name = os.path.basename(source)
            folder = "lib/libc" if LIBC.match(name) else \
                "lib/libstdc++" if RUNTIME.match(name) else "lib"
            copy = self.path(folder, name)
            if not os.path.exists(copy):
                shutil.copy(os.path.realpath(source), copy)

    # --- all of it ---

    def files(self):
        return sorted(os.path.join(folder, name) for folder, _, names in os.walk(self.out)
                      for name in names)

    def pack(self, archive, limit=LIMIT):
        """A .tar.xz of several streams that are made at the same time: tools and libraries,
        and programs, whose common parts a wide window finds."""
        import lzma  # not on every machine that reads this file

        def isTool(path):
            return os.path.relpath(path, self.out).startswith(("bin/", "lib/"))
        files = sorted(self.files(), key=lambda p: (not isTool(p), os.path.splitext(p)[1], p))
        with tempfile.TemporaryFile() as plain:
            cuts = [0]
            with tarfile.open(fileobj=plain, mode="w") as tar:
                for path in files:
                    if len(cuts) == 1 and not isTool(path):
                        cuts.append(tar.offset)
                    name = os.path.relpath(path, self.out)
                    tar.add(path, arcname=os.path.join("sinter-gpu", name))
            cuts.append(plain.tell())
            plain.seek(0)
            parts = [plain.read(end - begin) for begin, end in zip(cuts, cuts[1:])]
        code = {"id": lzma.FILTER_X86}
        window = {"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 64 << 20}
        streams = self.inParallel(lambda job: lzma.compress(job[0], filters=job[1]),
                                  zip(parts, ([code, window], [window])))
        with open(archive, "wb") as file:
            file.writelines(streams)
        size = os.path.getsize(archive)
        print(f"{archive}: {size / 2**20:.1f} MiB")
        if size > limit:
            sys.exit(f"prepare.py: {archive} has {size / 2**20:.1f} MiB, at most "
                     f"{limit / 2**20:.1f} are allowed")
