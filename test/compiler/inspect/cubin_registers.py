"""Compares the registers and stack of kernels that sinter-inspect shows with those of ptxas -v.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

usage: cubin_registers.py PTX JSON    JSON: of sinter-inspect kernels
"""

import json
import os
import re
import shutil
import subprocess
import sys


def main():
    ptxas = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    run = subprocess.run([ptxas, "-v", "-arch=sm_90", sys.argv[1], "-o", os.devnull],
                         capture_output=True, text=True, check=True)
    said = re.findall(r"entry function '(\w+)'.*?(\d+) bytes stack frame.*?Used (\d+) registers",
                      run.stderr, re.S)
    with open(sys.argv[2], encoding="utf-8") as file:
        shown = {k["name"]: (k["stack_bytes"], k["registers"]) for k in json.load(file)}
    expected = {name: (int(stack), int(registers)) for name, stack, registers in said}
    if shown != expected:
        print(f"shown {shown}, ptxas says {expected}")
        return 1
    print(f"{len(shown)} kernels as ptxas says")
    return 0


if __name__ == "__main__":
    sys.exit(main())
