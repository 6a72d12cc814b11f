"""Checks that every pass has its file, its flag and its test: one name in four spellings.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

`FuseSiblings` in passes/fuse/Passes.td = passes/fuse/FuseSiblings.cpp =
--sinter-fuse-siblings = test/passes/fuse-siblings.mlir.
"""

import re

PASS = re.compile(r'^def\s+(\w+)\s*:\s*Pass<\s*"([^"]*)"', re.M)
SUMMARY = re.compile(r'let\s+summary\s*=\s*"([^"]*)"')
DESCRIPTION = re.compile(r"let\s+description\s*=\s*\[\{(.*?)\}\]", re.S)
TEST_SUFFIXES = ("-invalid", "-quantized", "-chains", "-in-place", "-shards", "-parts")


def dashed(name):
    """FuseSiblings -> fuse-siblings, DecomposeGRU2 -> decompose-gru2."""
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1-\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1-\2", name).lower()


def declared(tree):
    """(file, name, flag, body) of every pass in the Passes.td of a folder."""
    for path in tree.sources(".td"):
        folder, _, name = path.rpartition("/")
        if not folder.startswith("passes/") or name != "Passes.td":
            continue
        text = tree.text(path)
        entries = list(PASS.finditer(text))
        for index, entry in enumerate(entries):
            end = entries[index + 1].start() if index + 1 < len(entries) else len(text)
            yield (path, *entry.groups(), text[entry.end():end])


def check(tree):
    problems, names = [], set()
    for path, name, flag, body in declared(tree):
        names.add(name)
        folder = path.rpartition("/")[0]
        if flag != f"sinter-{dashed(name)}":
            problems.append(f"{path}: {name}: the flag is {flag}, not sinter-{dashed(name)}")
        if not tree.exists(f"{folder}/{name}.cpp"):
            problems.append(f"{path}: {name}: {folder}/{name}.cpp is missing")
        if not tree.exists(f"{folder}/README.md"):
            problems.append(f"{folder}: README.md is missing")
        if not tree.exists(f"test/passes/{dashed(name)}.mlir"):
            problems.append(f"{path}: {name}: test/passes/{dashed(name)}.mlir is missing")
        summary, description = SUMMARY.search(body), DESCRIPTION.search(body)
        if not summary or not summary.group(1).strip():
            problems.append(f"{path}: {name}: no summary")
        if not description or not description.group(1).strip():
            problems.append(f"{path}: {name}: no description")
    if not names:
        problems.append("passes: no Passes.td of a folder has a pass")
    for file in tree.sources(".cpp"):
        if file.startswith("passes/"):
            for name in re.findall(r"^#define GEN_PASS_DEF_(\w+)", tree.text(file), re.M):
                own = file.split("/")[-1][:-len(".cpp")]
                if own not in names or name != own.upper():
                    problems.append(f"{file}: defines the pass {name}, not one of its own name")
    flags = {dashed(name) for name in names}
    for file in tree.files:
        if file.startswith("test/passes/") and file.endswith(".mlir"):
            stem = file[len("test/passes/"):-len(".mlir")]
            for suffix in TEST_SUFFIXES:
                stem = stem.removesuffix(suffix)
            if stem not in flags:
                problems.append(f"{file}: no pass has this name")
    return problems


GOOD = {
    "passes/fuse/Passes.td": 'def FuseSiblings : Pass<"sinter-fuse-siblings"> {\n'
                             '  let summary = "a";\n  let description = [{ b }];\n}\n',
    "passes/fuse/FuseSiblings.cpp": "#define GEN_PASS_DEF_FUSESIBLINGS\n",
    "passes/fuse/README.md": "",
    "test/passes/fuse-siblings.mlir": "",
    "test/passes/fuse-siblings-invalid.mlir": "",
}
TABLE = GOOD["passes/fuse/Passes.td"]
BAD = [
    {k: v for k, v in GOOD.items() if k != "passes/fuse/FuseSiblings.cpp"},
    {k: v for k, v in GOOD.items() if k != "passes/fuse/README.md"},
    {k: v for k, v in GOOD.items() if k != "test/passes/fuse-siblings.mlir"},
    dict(GOOD, **{"passes/fuse/Passes.td": TABLE.replace("fuse-s", "merge-s")}),
    dict(GOOD, **{"passes/fuse/Passes.td": TABLE.replace("[{ b }]", "[{ }]")}),
    dict(GOOD, **{"test/passes/stray.mlir": ""}),
    dict(GOOD, **{"passes/fuse/Other.cpp": "#define GEN_PASS_DEF_FUSESIBLINGS\n"}),
]
