"""Checks that names which two places agree on are written in one.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Entries, outputs, states and control fields of a program: sinter/program_names.h has the
names, both towers use its constants. Attributes of the IR ("sinter.input"): one constant
each. Keys of JSON and of dictionaries may be the same words.
"""

import re

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
HEADER = "runtime/include/sinter/program_names.h"
DEFINED = re.compile(r'#define (SINTER_(?:ENTRY|OUTPUT|STATE|SLOT|CONTROL)_\w+) "(\w+)"')
# What takes or compares such a name.
USE = (r"(?:lookupSymbol<[\w:]+>|hasFunction|findEntry|EntryRunner::create|addControl|"
       r"addOutput|scalar|counter|setName|control|getSymName\(\) ==|->name,|find)"
       r'\s*\(?[^();"]*"(\w+)"')
# Words that nothing else in the tree is called.
ALONE = {"loss_sum", "loss_count", "correct_count", "valid_rows", "micro_batch",
         "skipped_steps", "growth_tracker"}
ATTRIBUTE = re.compile(r'"sinter\.[a-z_]+"')
CONSTANT = re.compile(r"constexpr (?:llvm::)?StringLiteral\s+\w+\s*=\s*$")
FOLDERS = ("ir/", "passes/", "compiler/", "backends/", "runtime/", "tools/")
# The sums of micro-batches are states of their own, called as what they sum.
KNOWN = {("passes/train/TrainingAccumulation.cpp", "loss_sum")}


def check(tree):
    problems = []
    names = {}
    if HEADER in tree.files:
        for constant, name in DEFINED.findall(tree.text(HEADER)):
            names.setdefault(name, constant)
    for file in tree.sources(".h", ".cpp"):
        if not file.startswith(FOLDERS) or file.startswith("runtime/include/"):
            continue
        text = COMMENT.sub("", tree.text(file))
        used = set(re.findall(USE, text))
        used |= ALONE & set(re.findall(r'"(\w+)"', text))
        for name in sorted(used & set(names)):
            if (file, name) not in KNOWN:
                problems.append(f'{file}: writes "{name}"; {HEADER} has {names[name]}')
        for found in ATTRIBUTE.finditer(text):
            if not CONSTANT.search(text[:found.start()]):
                problems.append(f"{file}: writes {found.group(0)}; attributes have a constant")
    return problems


NAMES = '#define SINTER_ENTRY_EVAL "eval"\n#define SINTER_OUTPUT_LOSS_SUM "loss_sum"\n'
GOOD = {
    HEADER: NAMES,
    "runtime/harness/A.cpp": 'findEntry(artifact, SINTER_ENTRY_EVAL); json["eval"] = 1;\n',
    "passes/B.h": 'constexpr llvm::StringLiteral kAttr = "sinter.input"; // "loss_sum"\n',
}
BAD = [
    {HEADER: NAMES, "runtime/harness/A.cpp": 'findEntry(artifact, "eval");\n'},
    {HEADER: NAMES, "passes/A.cpp": 'module.lookupSymbol<func::FuncOp>("eval");\n'},
    {HEADER: NAMES, "passes/A.cpp": 'result.push_back({"loss_sum", sum});\n'},
    {"compiler/A.cpp": 'main.getArgAttr(i, "sinter.input");\n'},
]
