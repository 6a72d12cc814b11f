"""Checks that the files that pages name are there.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Checks `folder/name.ext` in backticks, from the root or from the page's own folder. Skips paths
outside of the project's folders, and those with a variable folder (backends/X/...).
"""

import os
import re

PATH = re.compile(r"`([A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)+\.(?:cpp|h|td|py|mlir|test|md|c|txt))`")
ROOTS = ("backends/", "compiler/", "docs/", "ir/", "passes/", "runtime/", "test/", "tools/")
VARIABLE = re.compile(r"(^|/)(X|rocm)(/|$)")


def check(tree):
    problems = []
    for page in tree.files:
        if not page.endswith(".md") or page.startswith("docs/generated/"):
            continue
        for path in PATH.findall(tree.text(page)):
            if not path.startswith(ROOTS) or VARIABLE.search(path):
                continue
            if not tree.exists(path) and not tree.exists(
                    os.path.join(os.path.dirname(page), path)):
                problems.append(f"{page}: there is no {path}")
    return problems


GOOD = {
    "docs/a.md": "see `ir/A.td`, `backends/X/codegen/B.cpp` and `model/c.py`\n",
    "ir/A.td": "",
}
BAD = [
    {"docs/a.md": "see `ir/A.td`\n"},
    {"passes/fuse/README.md": "begin with `passes/fuse/Nothing.cpp`\n"},
]
