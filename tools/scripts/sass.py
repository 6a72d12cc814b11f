"""What a GPU executes: kernels as nvdisasm shows them, beside their PTX.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

nvdisasm is part of the CUDA toolkit. Without the toolkit, the wheel of triton on PyPI has it:
pip download --no-deps triton, and in the archive triton/backends/nvidia/bin/nvdisasm.
"""

import os
import re
import shutil
import subprocess

# Exact division, reciprocal and square root call code that ptxas adds for rare operands.
RARE = re.compile(r"__cuda_sm\d+x?_(div|rcp|sqrt|dsqrt|drsqrt|rem)_|__cuda_sm\d+_(div|rem)_")

# What PTX has -> what the machine code must have.
KEPT = [(r"\bmma\.sync", r"\bHMMA\b", "matrix instructions"),
        (r"\bldmatrix", r"\bLDSM\b", "loads of matrices"),
        (r"\bcp\.async\.c[ag]", r"\bLDGSTS\b", "copies in the background"),
        (r"\bld\.global(\.nc)?\.(v4\.[fu]32|v2\.[fu]64)", r"\bLDG\.E\.128\b", "loads of 16 bytes"),
        (r"\bst\.global\.(v4\.[fu]32|v2\.[fu]64)", r"\bSTG\.E\.128\b", "stores of 16 bytes"),
        (r"\bld\.shared\.(v4\.[fu]32|v2\.[fu]64)", r"\bLDS\.128\b", "shared loads of 16 bytes"),
        (r"\bgriddepcontrol\.wait", r"\bACQBULK\b", "the wait for earlier launches"),
        (r"\bcvt\.rn\.bf16x2", r"\bF2FP\.BF16", "conversions of pairs")]


def find():
    """The path of nvdisasm: $SINTER_NVDISASM, or on the path; None if there is none."""
    for path in (os.environ.get("SINTER_NVDISASM"), shutil.which("nvdisasm"),
                 "/usr/local/cuda/bin/nvdisasm"):
        if path and os.path.exists(path):
            return path
    return None


def disassemble(nvdisasm, cubin):
    """{kernel: its machine code}"""
    text = subprocess.run([nvdisasm, "-c", cubin], check=True, capture_output=True,
                          text=True).stdout
    parts = re.split(r"^//-+ \.text\.(\S+)\s+-+$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def surprises(ptx, code):
    """What the machine code of each kernel in `ptx` has or lacks, a line each."""
    for kernel, body in re.findall(r"\.entry (\w+)\((.*?)\n\}", ptx, re.S):
        if kernel not in code:
            yield f"{kernel} has no machine code"
            continue
        own = code[kernel]
        local = len(re.findall(r"\b(?:LDL|STL)\b", own))
        if local:
            yield f"{kernel} has {local} accesses of local memory"
        for callee in set(re.findall(r"CALL\S*\s+`?\(?([^\s;)]+)", own)):
            if not RARE.search(callee):
                yield f"{kernel} calls {callee}"
        for inPtx, inCode, what in KEPT:
            if re.search(inPtx, body) and not re.search(inCode, own):
                yield f"{kernel} has lost its {what}"
