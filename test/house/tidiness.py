"""Checks headers, sizes and folders of files.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import os
import re

LICENCE = "Part of Sinter, under Apache-2.0 WITH LLVM-exception."
BANNER = re.compile(r"^//===-+ *([\w.-]+) ")
LONGEST = 800
ROOT = {"CMakeLists.txt", "CMakePresets.json", "README.md", "LICENSE", ".ci",
        ".clang-format", ".gitignore", "ir", "passes", "compiler", "backends",
        "runtime", "tools", "test", "docs"}
# Folders of whoever wrote the file; spelled in pieces so that this line is none.
MACHINE_PATH = re.compile(r"(?<![\w./-])/(?:wo" r"rk|ro" r"ot|ho" r"me/[\w.-]+|tm" r"p/[\w.-]+)/[\w.]")
# As clang-format leaves them: at the beginning of a line.
NAMESPACE = re.compile(r"^(?:inline )?namespace ?([\w:]*) ?\{$|^(\}) // namespace")
TYPE = re.compile(r"^(?:class|struct) (\w+)\b(?!;|::|<)")
TEXT = (".h", ".cpp", ".c", ".td", ".py", ".md", ".txt", ".cmake", ".json", ".mlir",
        ".test", ".in", ".sh")


def licences(tree):
    """Every source names the licence near its top; a banner is one line, 80 columns wide,
    that names its own file."""
    problems = []
    for path in tree.sources(".h", ".cpp", ".c", ".td", ".py"):
        text = tree.text(path)
        if LICENCE not in "\n".join(text.splitlines()[:20]):
            problems.append(f"{path}: no line '{LICENCE}'")
        banner = BANNER.match(text)
        if banner and banner.group(1) != os.path.basename(path):
            problems.append(f"{path}: its first line names {banner.group(1)}")
        line = text.partition("\n")[0]
        end = "-*- C++ -*-===//" if path.endswith(".h") else "===//"
        if banner and not (len(line) == 80 and line.endswith(end)):
            problems.append(f"{path}: its banner does not end with '{end}' in column 80")
    return problems


def sizes(tree):
    return [f"{path}: {lines} lines; split it (at most {LONGEST})"
            for path in tree.sources(".h", ".cpp", ".c", ".td", ".py")
            if (lines := tree.text(path).count("\n")) > LONGEST]


def places(tree):
    """Nothing strange at the root; at most two folder levels below a top folder."""
    problems = []
    for entry in sorted({path.split("/")[0] for path in tree.files} - ROOT):
        problems.append(f"{entry}: does not belong at the root")
    for path in tree.files:
        if path.count("/") > 3:
            problems.append(f"{path}: more than two folder levels below {path.split('/')[0]}")
    return problems


def machinePaths(tree):
    problems = []
    for path in tree.files:
        if path.endswith(TEXT) or path in ("tools/dev", ".ci/run"):
            for number, line in enumerate(tree.text(path).splitlines(), 1):
                if MACHINE_PATH.search(line):
                    problems.append(f"{path}:{number}: a path of one machine: {line.strip()[:60]}")
    return problems


def unitTests(tree):
    """A unit test without an assertion proves nothing."""
    return [f"{path}: no CHECK or REQUIRE" for path in tree.sources(".cpp")
            if path.startswith("test/") and path.endswith("Test.cpp")
            and not re.search(r"\b(CHECK|REQUIRE)", tree.text(path))]


def types(tree):
    """A type of one name in two files that a program may have both of: its functions are
    those of either, by chance. Tests are programs of their own."""
    problems, seen = [], {}
    for path in sorted(tree.sources(".h", ".cpp"), key=lambda path: path.startswith("test/")):
        spaces = []
        for line in tree.text(path).splitlines():
            if space := NAMESPACE.match(line):
                spaces = spaces[:-1] if space.group(2) else spaces + [space.group(1)]
            elif (name := TYPE.match(line)) and "" not in spaces:
                name = "::".join(spaces + [name.group(1)])
                first = seen.setdefault(name, path)
                if first != path and not first.startswith("test/"):
                    problems.append(f"{path}: {first} has another {name}")
    return problems


HEADER = "//===- Good.h - an example " + "-*- C++ -*-===//\n".rjust(54, "-") + "// " + LICENCE + "\n"
IN_A = "namespace a {\n%s\n} // namespace a\n"
SAMPLES = {
    licences: ({"ir/Good.h": HEADER},
               [{"ir/Bad.h": "#pragma once\n"}, {"ir/Bad.h": HEADER},
                {"ir/Good.h": HEADER.replace("---", "--", 1)}]),
    sizes: ({"ir/Good.h": "\n" * LONGEST}, [{"ir/Bad.h": "\n" * (LONGEST + 1)}]),
    places: ({"README.md": "", "compiler/import/onnx/Good.cpp": ""},
             [{"notes.txt": ""}, {"ir/a/b/c/Bad.cpp": ""}]),
    machinePaths: ({"docs/good.md": "/usr/share/datasets, build/release/bin\n"},
                   [{"docs/bad.md": "see /ho" "me/jo/x.onnx\n"},
                    {"ir/Bad.cpp": '"/tm' 'p/build-x/y"\n'}]),
    unitTests: ({"test/runtime/GoodTest.cpp": "CHECK(true);\n"},
                [{"test/runtime/BadTest.cpp": "int main() {}\n"}]),
    types: ({"ir/Good.h": IN_A % "class B;\nclass Own {};", "ir/Good.cpp": IN_A % "struct B {\n};",
             "ir/Other.cpp": IN_A % "namespace {\nstruct B {};\n} // namespace" + "struct B {};\n",
             "test/A.h": IN_A % "struct C {};", "test/B.h": IN_A % "struct C {};"},
            [{"ir/Bad.h": IN_A % "class B {};", "backends/Bad.cpp": IN_A % "struct B final : C {\n};"},
             {"ir/Bad.h": IN_A % "class B {};", "test/Bad.h": IN_A % "class B {};"}]),
}
