"""Checks the cubins in a program: each has the kernels of the program and an architecture.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    cubins.py PROGRAM

Prints a line for each cubin: "sm_90: 3 kernels, as in the program".
"""

import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "gpu"))
import load


def capture(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def kernelsOf(program):
    kernels = json.loads(capture("sinter-inspect", "kernels", program, "--json"))
    return {kernel["name"] for kernel in kernels if "grid" in kernel}


def main():
    (program,) = sys.argv[1:]
    found = list(load.cubins(program))
    if not found:
        sys.exit("no cubin")
    for _, image, architecture in found:
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(image)
            file.flush()
            if not re.search(r"Machine: +NVIDIA CUDA architecture", capture("llvm-readelf", "-h",
                                                                            file.name)):
                sys.exit("readelf sees another machine")
            symbols = re.findall(r" FUNC +GLOBAL .* (\S+)$", capture("llvm-readelf", "-sW", file.name),
                                 re.M)
        isSame = set(symbols) == kernelsOf(program)
        print(f"sm_{architecture}: {len(symbols)} kernels, "
              f"{'as in the program' if isSame else 'others than in the program'}")


if __name__ == "__main__":
    main()
