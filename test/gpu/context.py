"""The context that every group of checks gets.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor


class Context:
    """.folder     what prepare.py made
    .device     "cuda:0", "sim:0"; .kind is what comes before the colon
    .small      sizes for a simulated device
    .data       a folder of Fashion-MNIST, if one was given
    .scratch    a folder that is removed at the end
    .environment, .launcher  what our programs are started with; .libc says whose libraries
    .nvidia     the folders of NVIDIA's libraries
    .left()     seconds that the group may still take"""

    def __init__(self, options, results, machine, scratch):
        self.folder = os.path.abspath(options.folder)
        self.device, self.small, self.jobs = options.device, options.small, options.jobs
        self.kind = self.device.split(":")[0]
        self.sanitizer, self.ncu, self.data = options.sanitizer, options.ncu, options.data
        self.results, self.scratch = results, scratch
        self.environment, self.launcher = dict(machine.environment), machine.launcher
        self.libc, self.nvidia = machine.libc, machine.nvidia

    def beginGroup(self, name):
        """What libraries choose by time is kept within a group: of those that are timed,
        nothing was chosen while other programs ran."""
        self.environment["XDG_CACHE_HOME"] = os.path.join(self.scratch, "cache", name)

    def left(self):
        return self.results.left()

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def list(self, name):
        """What prepare.py wrote to NAME.json; nothing where it wrote none."""
        path = self.path(name + ".json")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def program(self, *names):
        """The words that start a program of the folder."""
        return [*self.launcher, self.path(*names)]

    def runner(self, file, inputs, *options):
        """The words that run a compiled program on the device."""
        return [*self.program("bin", "sinter-run"), self.path(file), f"--inputs={inputs}",
                f"--device={self.device}", *options]

    def script(self, name, *arguments):
        return [sys.executable, self.path(name), *arguments]

    def models(self, words):
        """`words` of a test, with the folder's models."""
        return [word.replace("%models", self.path("models")) for word in words]

    def attempt(self, group, name, command, most, **options):
        options.setdefault("env", self.environment)
        return self.results.attempt(group, name, command, most, **options)

    def run(self, group, name, command, most, check=None, **options):
        """Python's own scripts are run with env=os.environ, without our libraries."""
        options.setdefault("env", self.environment)
        return self.results.run(group, name, command, most, check, **options)

    def inParallel(self, function, items, jobs=None):
        """For what is not timed: several processes share the device."""
        with ThreadPoolExecutor(jobs or self.jobs) as pool:
            return list(pool.map(function, items))
