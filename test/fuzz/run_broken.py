"""Runs sinterc, sinter-run and a trainer on broken inputs: one line each, no crash.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    run_broken.py models FOLDER                  every model of broken_models.py
    run_broken.py truncated FOLDER MODEL.onnx    a model cut at many lengths
    run_broken.py data FOLDER TRAINER            broken data files

For each: the expected exit code (never a signal), at least one line on stderr, the first
one an error of reasonable length that holds the expected words; ended within 20 s.
Prints `N passed, M failed, 0 skipped`.
"""

import gzip
import io
import os
import struct
import subprocess
import sys
import zipfile

from broken_models import CASES, INVALID

LIMIT_SECONDS, LONGEST_LINE = 20, 2000


def problemOf(command, expected, words):
    """None when the command fails as it should, else a sentence."""
    try:
        result = subprocess.run(command, capture_output=True, timeout=LIMIT_SECONDS,
                                stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return f"not ended after {LIMIT_SECONDS} s"
    lines = result.stderr.decode(errors="replace").splitlines()
    if result.returncode != expected:
        return f"exit code {result.returncode}, not {expected}: {lines[:2]}"
    if not lines:
        return "no message"
    if words not in "\n".join(lines):
        return f"{words!r} is not in: {lines[:2]}"
    if max(map(len, lines)) > LONGEST_LINE:
        return f"a line of {max(map(len, lines))} characters"
    if expected == INVALID and len(lines) > 1:
        return f"{len(lines)} lines, not one: {lines[:3]}"
    return None


def models(folder):
    with open(os.path.join(folder, "weights"), "wb") as file:
        file.write(bytes(64))
    os.symlink("weights", os.path.join(folder, "link"))
    for name, (content, expected, words) in CASES.items():
        path = os.path.join(folder, name + ".onnx")
        with open(path, "wb") as file:
            file.write(content)
        command = ["sinterc", path, "-o", os.path.join(folder, "out.so")]
        yield name, command, expected, words


def truncated(folder, model):
    with open(model, "rb") as file:
        content = file.read()
    step = max(len(content) // 60, 1)
    for length in [*range(0, 40), *range(40, len(content) - 1, step)]:
        path = os.path.join(folder, f"cut-{length}.onnx")
        with open(path, "wb") as file:
            file.write(content[:length])
        yield f"cut at {length}", ["sinterc", path, "--check"], INVALID, ""


def npy(dims, values, descr="<f4", order="False", header=None):
    header = header or f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {dims}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values


def npz(**arrays):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in arrays.items():
            archive.writestr(name + ".npy", content)
    return stream.getvalue()


# The trainer of test/models/train-mlp-adam.onnx: x [8, 12] float, labels in 0..4.
X = npy((16, 12), struct.pack("<192f", *[0.5] * 192))
LABELS = npy((16,), struct.pack("<16q", *[i % 5 for i in range(16)]), "<i8")
PICTURES = struct.pack(">IIII", 0x803, 16, 3, 4) + bytes(192)
DATA = {
    "nothing.npz": (None, "nothing"),
    "empty.npz": (b"", "empty"),
    "text.npz": (b"hello world\n" * 20, "text"),
    "cut.npz": (npz(x=X, labels=LABELS)[:300], "cut"),
    "no-labels.npz": (npz(x=X), "labels"),
    "no-x.npz": (npz(labels=LABELS), "x"),
    "wrong-shape.npz": (npz(x=npy((16, 13), bytes(16 * 13 * 4)), labels=LABELS), "13"),
    "rows-differ.npz": (npz(x=npy((15, 12), bytes(15 * 12 * 4)), labels=LABELS), "15"),
    "too-few.npz": (npz(x=npy((3, 12), bytes(144)), labels=npy((3,), bytes(24), "<i8")), "3"),
    "no-rows.npz": (npz(x=npy((0, 12), b""), labels=npy((0,), b"", "<i8")), ""),
    "label-range.npz": (npz(x=X, labels=npy((16,), struct.pack("<16q", *[9] * 16), "<i8")), "9"),
    "label-negative.npz": (npz(x=X, labels=npy((16,), struct.pack("<16q", *[-3] * 16), "<i8")),
                           "-3"),
    "pickle.npz": (npz(x=npy((16, 12), b"\x80\x04", "|O"), labels=LABELS), "x"),
    "shape-overflow.npz": (npz(x=npy((1 << 40, 1 << 40), b""), labels=LABELS), "x"),
    "short-values.npz": (npz(x=npy((16, 12), bytes(100)), labels=LABELS), "x"),
    "code-header.npz": (npz(x=npy(None, b"", header="__import__('os').system('true')"),
                            labels=LABELS), "x"),
    "letters.csv": (b"a,b,label\n1,2,0\n1,two,1\n", "two"),
    "ragged.csv": (b"a,b,label\n1,2,0\n1,1\n", "ragged"),
}
IDX = {
    "magic": (b"\x00\x00\x09\x09" + PICTURES[4:], "magic"),
    "count": (struct.pack(">IIII", 0x803, 0xFFFFFFFF, 0xFFFF, 0xFFFF) + bytes(64), ""),
    "cut": (PICTURES[:60], ""),
    "gzip": (gzip.compress(PICTURES)[:40], ""),
}


def broken_data(folder, trainer):
    def training(spec):
        return [trainer, f"--data={spec}", "--steps=3", "--quiet"]

    for name, (content, words) in DATA.items():
        path = os.path.join(folder, name)
        if content is not None:
            with open(path, "wb") as file:
                file.write(content)
        yield name, training(path), INVALID, words
    for name, (content, words) in IDX.items():
        own = os.path.join(folder, "idx-" + name)
        os.mkdir(own)
        ending = ".gz" if name == "gzip" else ""
        with open(os.path.join(own, "train-images-idx3-ubyte" + ending), "wb") as file:
            file.write(content)
        with open(os.path.join(own, "train-labels-idx1-ubyte"), "wb") as file:
            file.write(struct.pack(">II", 0x801, 16) + bytes(16))
        yield "idx: " + name, training(own), INVALID, words


def main():
    kind, folder, *rest = sys.argv[1:]
    cases = {"models": models, "truncated": truncated, "data": broken_data}[kind](folder, *rest)
    passed = failed = 0
    for name, command, expected, words in cases:
        problem = problemOf(command, expected, words)
        if problem:
            failed += 1
            print(f"{name}: {problem}")
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
