"""Checks that the files that pages name are there.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Looks at `folder/name.ext` in backticks, with or without a folder of the page's own; names with
placeholders (backends/X/..) and files that the reader makes are left out by their folders.
"""

import os
import re

PATH = re.compile(r"`([A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)+\.(?:cpp|h|td|py|mlir|test|md|c|txt))`")
ROOTS = ("backends/", "compiler/", "docs/", "ir/", "passes/", "runtime/", "test/", "tools/")
PLACEHOLDER = re.compile(r"(^|/)(X|rocm)(/|$)")


def check(tree):
    problems = []
    for page in tree.files:
        if not page.endswith(".md") or page.startswith("docs/generated/"):
            continue
        for path in PATH.findall(tree.text(page)):
            if not path.startswith(ROOTS) or PLACEHOLDER.search(path):
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
