"""Runs sinterc, sinter-run and a trainer on broken inputs: one line each, no crash.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    run_broken.py models FOLDER                  every broken model of broken_models.py
    run_broken.py legal FOLDER                   its models at the edge that are right
    run_broken.py bytecode FOLDER PROGRAM        a program in MLIR bytecode, damaged
    run_broken.py programs FOLDER LIBRARY.so     a compiled program, damaged
    run_broken.py truncated FOLDER MODEL.onnx    a model cut at many lengths
    run_broken.py data FOLDER TRAINER            broken data files

For each: the expected exit code (never a signal), at least one line on stderr, the first
one an error of reasonable length that holds the expected words; ended within 20 s (200 s under sanitizers).
Prints `N passed, M failed, 0 skipped`.
"""

import gzip
import io
import os
import struct
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor

from broken_models import CASES, INVALID, LEGAL
from onnx_bytes import floats, graph, initializer, model, node

ANY = -1000  # an exit code that says something: done, or an error
LIMIT_SECONDS, LONGEST_LINE = 20, 2000
if "ASAN_OPTIONS" in os.environ:
    LIMIT_SECONDS *= 10  # a build with sanitizers


def problemOf(command, expected, words):
    """None when the command fails as it should, else a sentence."""
    try:
        result = subprocess.run(command, capture_output=True, timeout=LIMIT_SECONDS,
                                stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return f"not ended after {LIMIT_SECONDS} s"
    lines = result.stderr.decode(errors="replace").splitlines()
    if expected == ANY:
        expected = result.returncode if result.returncode in range(4) else 0
    if result.returncode != expected:
        return f"exit code {result.returncode}, not {expected}: {lines[:2]}"
    if expected == 0:
        return None if not lines else f"a message: {lines[:2]}"
    if not lines:
        return "no message"
    if words not in "\n".join(lines):
        return f"{words!r} is not in: {lines[:2]}"
    if max(map(len, lines)) > LONGEST_LINE:
        return f"a line of {max(map(len, lines))} characters"
    if expected == INVALID and len(lines) > 1:
        return f"{len(lines)} lines, not one: {lines[:3]}"
    return None


def besideModels(folder):
    """What external data refers to; see broken_tensors.py."""
    os.mkdir(os.path.join(folder, "there"))
    for path in ("weights", "hard", "there/weights"):
        with open(os.path.join(folder, path), "wb") as file:
            file.write(bytes(64))
    os.link(os.path.join(folder, "hard"), os.path.join(folder, "hard-again"))
    os.symlink("weights", os.path.join(folder, "link"))
    os.symlink("there", os.path.join(folder, "inside"))


def legal(folder):
    """Models at the edge: compiled, loaded and run."""
    besideModels(folder)
    for name, content in LEGAL.items():
        path = os.path.join(folder, name + ".onnx")
        with open(path, "wb") as file:
            file.write(content)
        yield name, ["sinter-run", path, "--inputs=random:seed=0"], 0, ""


def models(folder):
    besideModels(folder)
    for name, (content, expected, words) in CASES.items():
        path = os.path.join(folder, name + ".onnx")
        with open(path, "wb") as file:
            file.write(content)
        command = ["sinterc", path, "-o", path + ".so"]
        yield name, command, expected, words


def bytecode(folder, program):
    """MLIR bytecode cut, and with single bits flipped: any answer but a crash."""
    with open(program, "rb") as file:
        content = file.read()
    for number in range(0, len(content), max(len(content) // 60, 1)):
        flipped = bytearray(content)
        flipped[number] ^= 1 << number % 8
        for kind, changed in (("cut", content[:number]), ("flip", bytes(flipped))):
            path = os.path.join(folder, f"{kind}-{number}.mlirbc")
            with open(path, "wb") as file:
                file.write(changed)
            # A flipped bit of a weight or a name leaves a good program.
            yield (f"{kind} at {number}", ["sinterc", path, "-o", "/dev/null",
                                           "--stop-after=simplify"],
                   INVALID if kind == "cut" else ANY, "")


def programs(folder, library):
    """A compiled library, damaged: sinter-inspect reads it without running it."""
    with open(library, "rb") as file:
        content = file.read()
    for number in range(0, len(content), max(len(content) // 150, 1)):
        for kind, changed in (
                ("cut", content[:number]),
                ("flip", content[:number] + b"\xff" * 8 + content[number + 8:])):
            path = os.path.join(folder, f"{kind}-{number}.so")
            with open(path, "wb") as file:
                file.write(changed)
            yield f"{kind} at {number}", ["sinter-inspect", "plan", path], ANY, ""


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
STREAM = gzip.compress(PICTURES)
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
    "no-rows.npz": (npz(x=npy((0, 12), b""), labels=npy((0,), b"", "<i8")), "no rows"),
    "label-range.npz": (npz(x=X, labels=npy((16,), struct.pack("<16q", *[9] * 16), "<i8")), "9"),
    "label-negative.npz": (npz(x=X, labels=npy((16,), struct.pack("<16q", *[-3] * 16), "<i8")),
                           "-3"),
    "pickle.npz": (npz(x=npy((16, 12), b"\x80\x04", "|O"), labels=LABELS), "x"),
    "shape-overflow.npz": (npz(x=npy((1 << 40, 1 << 40), b""), labels=LABELS), "x"),
    "short-values.npz": (npz(x=npy((16, 12), bytes(100)), labels=LABELS), "x"),
    "code-header.npz": (npz(x=npy(None, b"", header="__import__('os').system('true')"),
                            labels=LABELS), "x"),
    "header-1GiB.npz": (npz(x=b"\x93NUMPY\x02\x00" + struct.pack("<I", 1 << 30) + b"{'descr'",
                            labels=LABELS), "x"),
    "dims-negative.npz": (npz(x=npy((-16, 12), bytes(64)), labels=LABELS), "x"),
    "type-unknown.npz": (npz(x=npy((16, 12), bytes(768), "<U1"), labels=LABELS), "x"),
    "label-fraction.npz": (npz(x=X, labels=npy((16,), struct.pack("<16f", *[0.5] * 16))),
                           "labels"),
    "not-a-number.npz": (npz(x=npy((16, 12), struct.pack("<192f", *[float("nan")] * 192)),
                             labels=LABELS), "row 7 holds nan"),
    "letters.csv": (b"a,b,label\n1,2,0\n1,two,1\n", "two"),
    "ragged.csv": (b"a,b,label\n1,2,0\n1,1\n", "ragged"),
}
IDX = {
    "magic": (b"\x01\x02\x08\x03" + PICTURES[4:], "magic"),
    "count": (struct.pack(">IIII", 0x803, 0xFFFFFFFF, 0xFFFF, 0xFFFF) + bytes(64), "large"),
    "cut": (PICTURES[:60], "60 bytes"),
    "cut-stream": (STREAM[:-12], ".gz"),
    "cut-trailer": (STREAM[:-3], ".gz"),
    "damaged-stream": (STREAM[:15] + b"\xff" + STREAM[16:], ".gz"),
    "bomb": (gzip.compress(PICTURES + bytes(1 << 28)), "more follow"),
    "no-rows": (struct.pack(">IIII", 0x803, 0, 3, 4), "no rows"),
    "more-rows-than-labels": (struct.pack(">IIII", 0x803, 17, 3, 4) + bytes(204), "17"),
    "other-size": (struct.pack(">IIII", 0x803, 16, 5, 5) + bytes(400), "5"),
}
# Kinds of data that are planned, and places where there is none.
SPECS = {
    "tfrecord:*.tfrecord": "yet", "tokens:text.bin": "yet", "images:pictures": "yet",
    "nonsense:there": "nonsense", "npz:no/such/file.npz": "file.npz", "idx:/dev/null": "no pair",
    "npz:/dev/zero": "zero", "csv:/": "/", "/proc/self": "self", "": "data",
}


def broken_data(folder, trainer):
    def training(spec):
        return [trainer, f"--data={spec}", "--steps=3", "--quiet"]

    for spec, words in SPECS.items():
        yield spec, training(spec), INVALID, words
    os.mkdir(os.path.join(folder, "empty-folder"))
    yield "empty-folder", training(os.path.join(folder, "empty-folder")), INVALID, "empty-folder"
    for name, (content, words) in DATA.items():
        path = os.path.join(folder, name)
        if content is not None:
            with open(path, "wb") as file:
                file.write(content)
        yield name, training(path), INVALID, words
    # The same classifier for pictures of 3 x 4 points.
    path, pictures = os.path.join(folder, "pictures.onnx"), os.path.join(folder, "pictures")
    with open(path, "wb") as file:
        file.write(model(graph(initializer("w", (12, 5), raw=floats(60)),
                               node("Flatten", ["x"], ["f"]), node("MatMul", ["f", "w"], ["y"]),
                               inputs=(("x", (8, 1, 3, 4)),), outputs=(("y", (8, 5)),))))
    subprocess.run(["sinterc", path, "-o", pictures, "--train", "--loss=cross-entropy",
                    "--optimizer=sgd"], check=True)
    trainer = pictures
    for name, (content, words) in IDX.items():
        own = os.path.join(folder, "idx-" + name)
        os.mkdir(own)
        ending = ".gz" if content[:2] == b"\x1f\x8b" else ""
        with open(os.path.join(own, "train-images-idx3-ubyte" + ending), "wb") as file:
            file.write(content)
        with open(os.path.join(own, "train-labels-idx1-ubyte"), "wb") as file:
            file.write(struct.pack(">II", 0x801, 16) + bytes(16))
        yield "idx: " + name, training(own), INVALID, words


def main():
    kind, folder, *rest = sys.argv[1:]
    cases = {"models": models, "legal": legal, "truncated": truncated, "programs": programs,
             "bytecode": bytecode, "data": broken_data}[kind](folder, *rest)
    passed = failed = 0
    cases = list(cases)  # all files are written now
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        problems = list(pool.map(lambda case: problemOf(*case[1:]), cases))
    for (name, *_), problem in zip(cases, problems):
        if problem:
            failed += 1
            print(f"{name}: {problem}")
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
