"""Finds NVIDIA's libraries on this machine, and what Sinter's programs need to start on it.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

cuBLAS, cuDNN and NCCL may be installed in the system, below /usr/local/cuda, or come with a
framework as pip's nvidia-* packages, each of which has a folder of its own. Our programs find
them by LD_LIBRARY_PATH.
"""

import glob
import json
import os
import shutil
import subprocess
import sys

LIBRARIES = ["libcublasLt.so", "libcudnn.so", "libnccl.so", "libnvrtc.so", "libcublas.so"]
CODE_OF_PATHS = "import site, sys; print('\\n'.join([*sys.path, *site.getsitepackages()]))"


def pythons():
    """Interpreters whose packages may hold the libraries."""
    found = [sys.executable, shutil.which("python3"), shutil.which("python")]
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if variable in os.environ:
            found.append(os.path.join(os.environ[variable], "bin", "python3"))
    found += sorted(glob.glob("/opt/*/bin/python3") + glob.glob("/opt/*/.venv/bin/python3"))
    return [path for path in dict.fromkeys(found) if path and os.path.exists(path)]


def packageFolders():
    """pip's site-packages, of all interpreters."""
    folders = []
    for python in pythons():
        try:
            done = subprocess.run([python, "-c", CODE_OF_PATHS], capture_output=True, text=True,
                                  timeout=20)
        except (OSError, subprocess.TimeoutExpired):
            continue
        folders += [line for line in done.stdout.splitlines() if os.path.isdir(line)]
    return list(dict.fromkeys(folders))


def holds(folder, library):
    return bool(glob.glob(os.path.join(folder, library + ".*")))


def wanted(folders):
    """Those of `folders` that hold a library which none before them has."""
    chosen, found = [], set()
    for folder in folders:
        new = {library for library in LIBRARIES if holds(folder, library)} - found
        if new:
            chosen.append(folder)
            found |= new
    return chosen


def nvidiaFolders(packages=None):
    """The folders of NVIDIA's libraries. The packages beside one framework fit each other, so
    the first that has cuBLAS is taken whole, before what is installed elsewhere."""
    packages = packageFolders() if packages is None else packages
    sets = [sorted(glob.glob(os.path.join(folder, "nvidia", "*", "lib"))) for folder in packages]
    whole = next((folders for folders in sets
                  if any(holds(folder, "libcublasLt.so") for folder in folders)), [])
    others = [os.path.join(os.environ[variable], "lib64")
              for variable in ("CUDA_HOME", "CUDA_PATH") if variable in os.environ]
    others += ["/usr/local/cuda/lib64", *sorted(glob.glob("/usr/local/cuda-*/lib64"))]
    return wanted(whole + others)


def driverFolders():
    """Where the driver is when the linker's cache does not know it."""
    return [folder for folder in ("/usr/local/nvidia/lib64", "/usr/local/nvidia/lib",
                                  "/usr/lib/wsl/lib", "/run/opengl-driver/lib")
            if holds(folder, "libcuda.so")]


class Machine:
    """.environment and .launcher: what our programs start with. `libc`: "auto" takes as much
    from the system as does, "system" everything, "bundled" nothing."""

    def __init__(self, folder, libc):
        self.folder = folder
        self.nvidia = nvidiaFolders()
        library = self.library = os.path.join(folder, "lib")
        base = [library, *self.nvidia, *driverFolders()]
        bundled = os.path.join(library, "libc")
        loader = os.path.join(bundled, "ld-linux-x86-64.so.2")
        runtime = os.path.join(library, "libstdc++")
        # The system's, the system's with our libstdc++, ours.
        tries = [("system", base, []), ("system, with our libstdc++", [*base, runtime], [])]
        if os.path.exists(loader):
            everything = os.pathsep.join([bundled, runtime, *self.paths(base)])
            tries.append(("bundled", base, [loader, "--library-path", everything]))
        if libc != "auto":
            tries = [entry for entry in tries if entry[0] == libc]
        self.problem = f"there is no libc of that name: {libc}"
        for self.libc, folders, self.launcher in tries:
            self.environment = dict(os.environ)
            if not self.launcher:
                self.environment["LD_LIBRARY_PATH"] = os.pathsep.join(self.paths(folders))
            self.problem = self.trial()
            if not self.problem:
                return
        sys.exit(f"run.py: no program of {folder} starts here: {self.problem}")

    def save(self, path):
        """For processes that need not look again: load()."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(vars(self), file)

    @staticmethod
    def load(path):
        machine = Machine.__new__(Machine)
        with open(path, encoding="utf-8") as file:
            vars(machine).update(json.load(file))
        return machine

    @staticmethod
    def paths(folders):
        """The user's own first."""
        given = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
        return list(dict.fromkeys(filter(None, [*given, *folders])))

    def trial(self):
        """Why sinter-run does not start; "" if it does."""
        command = [*self.launcher, os.path.join(self.folder, "bin", "sinter-run"), "--version"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60,
                                  env=self.environment)
        except OSError as error:
            return str(error)
        return "" if done.returncode == 0 else \
            (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[0]
