"""Runs the shell commands of a page of the documentation, as a reader would.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    run_docs.py PAGE.md FOLDER MODEL.onnx WIDTH[xHEIGHT...] CLASSES HEADING...

Takes every `sh` block below the headings (given by their beginnings), in order, and runs them
in one shell in FOLDER, which contains the files that the pages mention: model.onnx, and
arrays with the shape of one example in in.npz, data.npz, train.npz and test.npz. Fails with
the first command that fails.
"""

import os
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fuzz"))
from run_broken import npy, npz


def blocks(page, headings):
    """The text of the `sh` blocks below these headings."""
    wanted = block = False
    with open(page) as file:
        for line in file:
            if line.startswith("```"):
                block = line.strip() == "```sh" and wanted
            elif line.startswith("## "):
                wanted = any(line[3:].startswith(heading) for heading in headings)
            elif block:
                yield line


def arrays(rows, shape, classes):
    count = rows
    for size in shape:
        count *= size
    values = [(i * 2654435761 % 1000) / 1000 for i in range(count)]
    x = npy((rows, *shape), struct.pack(f"<{count}f", *values))
    labels = npy((rows,), struct.pack(f"<{rows}q", *(i % classes for i in range(rows))), "<i8")
    return x, labels


def main():
    page, folder, model, shape, classes, *headings = sys.argv[1:]
    shape = [int(size) for size in shape.split("x")]
    shutil.copyfile(model, os.path.join(folder, "model.onnx"))
    x, labels = arrays(192, shape, int(classes))
    for name in ("data", "train", "test"):
        with open(os.path.join(folder, name + ".npz"), "wb") as file:
            file.write(npz(x=x, labels=labels))
    with open(os.path.join(folder, "in.npz"), "wb") as file:
        file.write(npz(x=arrays(2, shape, 1)[0]))
    commands = "".join(blocks(page, headings))
    if not commands:
        sys.exit(f"{page}: no commands below {headings}")
    result = subprocess.run(["bash", "-exc", commands], cwd=folder, stderr=subprocess.STDOUT)
    sys.exit(result.returncode)


if __name__ == "__main__":
    main()
