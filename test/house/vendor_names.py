"""Checks that what all GPUs share names no vendor and nothing that only one vendor has.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

The mappings in backends/gpu reach a GPU only through their interface of intrinsics. Comments
count, too: a rule of one vendor belongs to the code of that vendor.
"""

import re

FOLDER = "backends/gpu/"
NAME = re.compile(r"nvvm|nvptx|ptx|cuda|nvidia|cublas|cudnn|nvgpu|rocdl|rocm|amdgpu|amdgcn|\bhip"
                  r"|\bx86|mma\.sync|ldmatrix|cp\.async|membar|\bsm_\d", re.I)


def check(tree):
    problems = []
    for file in tree.sources():
        if not file.startswith(FOLDER):
            continue
        for number, line in enumerate([file, *tree.text(file).splitlines()]):
            if found := NAME.search(line):
                problems.append(f"{file}:{number}: names '{found.group(0)}' of one vendor; "
                                "ask backends/gpu/codegen/Intrinsics.h")
    return problems


GOOD = {
    "backends/gpu/codegen/A.cpp": "intrinsics.barrier(b, loc); // a chip, whippet\n",
    "backends/gpu/codegen/README.md": "backends/cuda implements the intrinsics in NVVM\n",
    "backends/cuda/codegen/B.cpp": "b.create<NVVM::Barrier0Op>(loc);\n",
}
BAD = [
    {"backends/gpu/codegen/A.cpp": "b.create<NVVM::Barrier0Op>(loc);\n"},
    {"backends/gpu/codegen/A.cpp": '"llvm.nvvm.membar.gl"\n'},
    {"backends/gpu/codegen/A.h": "/// As PTX has it.\n"},
    {"backends/gpu/codegen/A.h": 'return "cuda";\n'},
    {"backends/gpu/codegen/A.h": "// waits as cp.async does\n"},
    {"backends/gpu/codegen/A.cpp": "b.create<ROCDL::BarrierOp>(loc);\n"},
    {"backends/gpu/codegen/PtxText.cpp": "\n"},
    {"backends/gpu/codegen/A.cpp": '#include "backends/common/codegen/X86Object.h"\n'},
]
