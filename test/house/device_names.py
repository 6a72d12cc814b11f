"""Checks that the compiler asks for a device's traits and does not compare its name.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

The names of kinds ("cpu", "cuda", "sim") stand in backends/, tools/ and tests. The run tower
has a few, where a field of sinter/abi.h depends on the kind.
"""

import re

NAME = re.compile(r'"(cpu|cuda|sim|rocm)(:\d+)?"')
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
FOLDERS = ("ir/", "passes/", "compiler/", "runtime/")
KNOWN = {
    "runtime/base/ControlGroup.cpp",  # the kernel's name of a controller
    "runtime/device/Ceilings.cpp",
    "runtime/exec/ArtifactChecks.cpp",
    "runtime/exec/CommandChecks.cpp",
    "runtime/exec/Program.cpp",
    "runtime/exec/WarmUp.cpp",
    "runtime/harness/Doctor.cpp",  # a key of the report
}


def check(tree):
    problems = []
    for file in tree.sources(".h", ".cpp", ".td"):
        if not file.startswith(FOLDERS) or file in KNOWN:
            continue
        for found in NAME.finditer(COMMENT.sub("", tree.text(file))):
            problems.append(f"{file}: names the device {found.group(0)}; ask for its traits")
    return problems


GOOD = {
    "passes/A.cpp": '// not "cpu"\nif (target.traits().isHost) {}\n',
    "backends/cpu/codegen/B.cpp": 'return "cpu";\n',
    "tools/lib/C.cpp": '"cuda:0"\n',
    "runtime/exec/WarmUp.cpp": '"sim"\n',
}
BAD = [
    {"passes/A.cpp": 'if (target.name() == "cpu") {}\n'},
    {"compiler/A.h": 'const char *byDefault = "cuda:0";\n'},
    {"runtime/exec/Other.cpp": 'if (kind == "sim") {}\n'},
]
