"""Checks that docs/architecture.md has the table of phases that the tools have.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Compares its rows with those of docs/generated/phases.md, which is made from the tools.
"""

import re

PAGE, GENERATED = "docs/architecture.md", "docs/generated/phases.md"
ROW = re.compile(r"^\| ([a-z]+) \| ([^|]+) \|$", re.M)


def rows(text):
    """The rows of the table of two columns that begins with the phase `import`."""
    found = ROW.findall(text)
    names = [name for name, _ in found]
    return found[names.index("import"):] if "import" in names else []


def check(tree):
    if not tree.exists(PAGE) or not tree.exists(GENERATED):
        return [f"{PAGE} or {GENERATED} is not there"]
    here, tools = rows(tree.text(PAGE)), rows(tree.text(GENERATED))
    if not tools:
        return [f"{GENERATED} has no table"]
    if here != tools:
        wrong = next((row for row in tools if row not in here), tools[0])
        return [f"{PAGE} and {GENERATED} have different tables of phases, at {wrong[0]}"]
    return []


TABLE = "| phase | what it does |\n|---|---|\n| import | reads |\n| fuse | groups |\n"
GOOD = {PAGE: "# A\n\n" + TABLE + "\nmore\n", GENERATED: TABLE}
BAD = [
    {PAGE: TABLE.replace("reads", "writes"), GENERATED: TABLE},
    {PAGE: TABLE.replace("| fuse | groups |\n", ""), GENERATED: TABLE},
    {PAGE: "nothing\n", GENERATED: TABLE},
    {PAGE: TABLE, GENERATED: "nothing\n"},
]
