"""Checks which folders may include which: the borders between the folders.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

One row of RULES per folder: the longest folder name that fits a file decides. A row
lists what #include lines may begin with; `std` stands for the headers of C, C++ and
POSIX. docs/include-rules.md explains the borders.
"""

import re

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
TD_INCLUDE = re.compile(r'^include\s+"([^"]+)"', re.M)

MLIR_CORE = ["mlir/", "llvm/ADT/", "llvm/Support/", "llvm/Config/"]
# What the programs of both towers are agreed on, without the artifact's layout.
AGREED = ["sinter/post_ops.h", "sinter/program_names.h"]
BRIDGE = ["sinter/abi.h", "sinter/kernel.h", "sinter/sim.h"] + AGREED
LLVM = MLIR_CORE + ["llvm/", "llvm-c/"]
EVERYTHING = ["backends/", "compiler/", "ir/", "passes/", "runtime/", "tools/", "test/",
              "sinter/", "onnx/", "google/protobuf/", "fmt/", "nlohmann/",
              "catch2/", "xxhash.h", "zlib.h", "zstd.h", "oneapi/", "std"] + LLVM

# What both towers use: runtime/base (files, numbers as text, 16-bit floats), which knows
# neither LLVM nor the ABI, and what they are agreed on.
SHARED = ["runtime/base/", "std"] + AGREED

RULES = {
    "ir": ["ir/"] + SHARED + MLIR_CORE,
    "passes": ["passes/", "ir/"] + SHARED + MLIR_CORE,
    "compiler": ["compiler/", "passes/", "ir/", "runtime/base/", "nlohmann/", "xxhash.h",
                 "std"] + BRIDGE + LLVM,
    # The only code that sees protobuf and the ONNX classes.
    "compiler/import/onnx": ["compiler/", "passes/", "ir/", "runtime/base/", "onnx/", "google/protobuf/",
                        "std"] + BRIDGE + LLVM,
    # Small libraries that are linked into every trainer: header-only or static.
    "runtime": ["runtime/", "sinter/", "nlohmann/", "xxhash.h", "zlib.h", "std"],
    "runtime/base": ["runtime/base/", "sinter/status.h", "xxhash.h", "std"],
    "runtime/include": ["sinter/", "std"],
    # Beneath runtime/base, which must not see the ABI.
    "runtime/include/sinter/status.h": ["std"],
    "tools": EVERYTHING,
    "test": EVERYTHING + ["cuda.h"],
    "docs": ["sinter/", "std"],
}
# What one backend may see beside its own folder.
CODEGEN = ["backends/common/codegen/", "passes/", "ir/", "runtime/base/", "std"] + BRIDGE + LLVM
DEVICE = ["backends/common/device/", "runtime/", "sinter/", "nlohmann/", "std"]
# The libraries of CUDA: over tables of functions, so that the simulated device has the
# same adapters. Code generators may ask the plans, which are arithmetic on abi.h.
LIBRARY = "backends/cuda/library/"
PLANS = [LIBRARY + name for name in ("ConvPlan.h", "DnnGraph.h", "LtPlan.h",
                                    "SdpaPlan.h")]
# The mappings of all GPUs, which know no vendor. A vendor's code generator is over them.
MAPPINGS = "backends/gpu/codegen/"
# The simulated device is a model of NVIDIA's: it retargets modules that are lowered for that
# vendor, and has that vendor's libraries.
SIMULATED = ["backends/cuda/codegen/CudaTarget.h", "backends/cuda/codegen/Nvptx.h"]
VENDOR = {"cpu": ["oneapi/dnnl/", "dnnl.h", "dnnl.hpp", "omp.h"],
          "cuda": ["cuda.h", "cudnn", "cublas", "nccl.h"], "sim": []}

# The folders of input formats: private to themselves, to their registration and to tests.
FORMATS, REGISTRATION = re.compile(r"compiler/import/\w+/"), "compiler/import/Importers.cpp"

# Everything that is not the standard library's or POSIX's.
FOREIGN = re.compile(r"^(mlir|llvm|clang|onnx|google|fmt|nlohmann|catch2|oneapi|boost|"
                     r"absl|gloo|sinter|runtime|backends|compiler|ir|passes|tools|test)/"
                     r"|^(xxhash|zlib|zstd|dnnl|omp|cuda|cudnn|cublas|nccl)[\w.]*\.h")
SYSTEM_FOLDERS = ("sys/", "linux/", "asm/", "arpa/", "netinet/", "bits/", "gnu/",
                  "sanitizer/")


def allowedFor(path):
    """The include prefixes that a file may use; None if no rule speaks of it."""
    parts = path.split("/")
    if parts[0] == "backends" and len(parts) >= 4:
        own = "/".join(parts[:3]) + "/"
        gpu = parts[1] in ("cuda", "sim")
        if parts[2] == "codegen":
            base = [MAPPINGS] + PLANS if gpu else []
            return [own] + CODEGEN + base + (SIMULATED if parts[1] == "sim" else [])
        if parts[2] == "device":
            beside = [LIBRARY, f"backends/{parts[1]}/library/"] if gpu else []
            return [own] + DEVICE + beside + VENDOR.get(parts[1], [])
        if parts[2] == "library":
            return [own] + DEVICE + ([LIBRARY] if gpu else ["gloo/"])
    if path in RULES:
        return RULES[path]
    for depth in (3, 2, 1):
        rule = RULES.get("/".join(parts[:depth]))
        if rule is not None and len(parts) > depth:
            return rule
    return None


def isPrivate(path, name):
    """Whether `name` is a header of an input format that is hidden from `path`."""
    folder = FORMATS.match(name)
    return (folder is not None and path != REGISTRATION
            and not path.startswith(("test/", folder.group())))


def isStandard(name):
    if FOREIGN.match(name):
        return False
    return "/" not in name or name.startswith(SYSTEM_FOLDERS)


def check(tree):
    """One line per include that crosses a border."""
    problems = []
    for path in tree.sources(".h", ".cpp", ".c"):
        allowed = allowedFor(path)
        if allowed is None:
            problems.append(f"{path}: no include rule covers this folder")
            continue
        for quote, name in INCLUDE.findall(tree.text(path)):
            # Quoted names are ours and begin at the top folder, except for an example's
            # generated header and what a folder of tests shares within itself.
            standard = quote == "<" and isStandard(name)
            beside = path.startswith(("docs/", "test/")) and "/" not in name
            if standard and "std" in allowed or beside:
                continue
            if isPrivate(path, name) or not any(name.startswith(prefix) for prefix in allowed if prefix != "std"):
                problems.append(f"{path}: must not include {name}")
    for path in tree.sources(".td"):
        # The list of all passes includes the definitions of each phase.
        own = path.split("/")[0] + "/"
        for name in TD_INCLUDE.findall(tree.text(path)):
            if not name.startswith(own) and name.startswith((".", "/", "passes/", "compiler/",
                                                             "runtime/")):
                problems.append(f"{path}: must not include {name}")
    return problems


# Each sample must be found: {path: text}.
BAD = [
    {"ir/Bad.cpp": '#include "passes/Target.h"\n'},
    {"ir/Bad.cpp": '#include "sinter/abi.h"\n'},
    {"ir/Bad.td": 'include "passes/simplify/Passes.td"\n'},
    {"passes/Bad.cpp": '#include "compiler/options/Options.h"\n'},
    {"passes/Bad.h": '#include "llvm/Target/TargetMachine.h"\n'},
    {"compiler/Bad.cpp": '#include "backends/cpu/codegen/Emit.h"\n'},
    {"compiler/Bad.cpp": '#include "runtime/data/Dataset.h"\n'},
    {"runtime/base/Bad.cpp": '#include "sinter/abi.h"\n'},
    {"runtime/include/sinter/status.h": '#include "sinter/abi.h"\n'},
    {"compiler/emit/Bad.cpp": '#include "onnx/onnx_pb.h"\n'},
    {"compiler/import/Bad.cpp": '#include "onnx/onnx_pb.h"\n'},
    {"compiler/driver/Bad.cpp": '#include "compiler/import/onnx/Import.h"\n'},
    {"compiler/import/Importer.h": '#include "compiler/import/onnx/Import.h"\n'},
    {"compiler/import/sinter/Bad.cpp": '#include "compiler/import/onnx/Import.h"\n'},
    {"tools/lib/Bad.cpp": '#include "compiler/import/sinter/ModuleFile.h"\n'},
    {"backends/cpu/codegen/Bad.cpp": '#include "runtime/exec/Program.h"\n'},
    {"backends/cpu/device/Bad.cpp": '#include "ir/Dialect.h"\n'},
    {"backends/sim/device/Bad.cpp": '#include "backends/cpu/device/Cpu.h"\n'},
    {"backends/cpu/device/Bad.cpp": '#include "backends/cuda/library/LtApi.h"\n'},
    {"backends/cuda/library/Bad.cpp": '#include "backends/sim/library/SimLibrary.h"\n'},
    {"backends/cuda/codegen/Bad.cpp": '#include "backends/cuda/library/LtMatmul.h"\n'},
    {"backends/gpu/codegen/Bad.cpp": '#include "backends/cuda/codegen/Nvptx.h"\n'},
    {"backends/gpu/codegen/Bad.cpp": '#include "backends/cuda/library/LtPlan.h"\n'},
    {"backends/gpu/codegen/Bad.cpp": '#include "backends/sim/codegen/Retarget.h"\n'},
    {"backends/sim/codegen/Bad.cpp": '#include "backends/cuda/codegen/NvvmIntrinsics.h"\n'},
    {"backends/cpu/codegen/Bad.cpp": '#include "backends/gpu/codegen/Threads.h"\n'},
    {"backends/common/codegen/Bad.cpp": '#include "backends/gpu/codegen/Threads.h"\n'},
    {"runtime/exec/Bad.cpp": "#include <mlir/IR/Builders.h>\n"},
    {"runtime/exec/Bad.cpp": '#  include "llvm/ADT/STLExtras.h"\n'},
    {"runtime/include/sinter/bad.h": '#include "runtime/base/Status.h"\n'},
    {"runtime/exec/Bad.cpp": '#include "../base/Status.h"\n'},
    {"runtime/exec/Bad.cpp": "#include <fmt/format.h>\n"},
    {"stray/Bad.cpp": "#include <vector>\n"},
]
GOOD = {
    "ir/Good.cpp": '#include "ir/Dialect.h"\n#include "mlir/IR/Builders.h"\n#include <vector>\n',
    "runtime/exec/Good.cpp": '#include "runtime/base/Status.h"\n#include <sys/mman.h>\n',
    "backends/cuda/codegen/Good.cpp": '#include "backends/cuda/library/LtPlan.h"\n',
    "backends/cuda/codegen/Nvptx.cpp": '#include "backends/gpu/codegen/Lowering.h"\n',
    "backends/gpu/codegen/Good.cpp": '#include "backends/common/codegen/Nest.h"\n',
    "backends/sim/codegen/Good.cpp": '#include "backends/cuda/codegen/Nvptx.h"\n',
    "backends/sim/library/Good.cpp": '#include "backends/cuda/library/LtApi.h"\n',
    "backends/cpu/device/Good.cpp": "#include <oneapi/dnnl/dnnl.hpp>\n#include <omp.h>\n",
    "compiler/import/onnx/Good.cpp": '#include <onnx/onnx_pb.h>\n'
                                     '#include "compiler/import/onnx/Import.h"\n',
    "compiler/import/Importers.cpp": '#include "compiler/import/onnx/Import.h"\n',
    "compiler/driver/Good.cpp": '#include "compiler/import/Importer.h"\n',
    "test/compiler/import/Good.h": '#include "compiler/import/onnx/Import.h"\n',
    "docs/examples/good.c": '#include "classifier.h"\n#include <stdio.h>\n',
}
