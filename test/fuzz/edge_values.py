"""Values that C leaves undefined: indices out of range, division by zero, casts.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    edge_values.py FOLDER

Each case is compiled twice: with its operands as inputs (the generated code computes) and
as initializers (the compiler folds). Both must give the value that docs/generated/ops
defines, given here; an index that is known to be out of range is refused instead. Prints
`N passed, M failed, 0 skipped`.
"""

import os
import struct
import subprocess
import sys

import npz as arrays
from onnx_bytes import *
from run_broken import npy, npz

INT8, INT32, UINT64 = 3, 6, 13
LEAST64, LEAST32, MOST32 = -(1 << 63), -(1 << 31), (1 << 31) - 1
NAN, INF = float("nan"), float("inf")
# ONNX's number of a type -> numpy's name and struct's letter.
TYPES = {FLOAT: ("<f4", "f"), INT64: ("<i8", "q"), INT32: ("<i4", "i"), INT8: ("|i1", "b"),
         UINT64: ("<u8", "Q")}

# name: operator, attributes, operands (type, values), type and values of the result
CASES = {
    "Gather": ("Gather", {}, [(FLOAT, [1., 2., 3., 4.]),
                              (INT64, [0, -1, 3, -4, 4, 10**12, -5, LEAST64])],
               FLOAT, [1., 4., 4., 1., 4., 4., 1., 1.]),
    "Div": ("Div", {}, [(INT32, [7, -7, 0, LEAST32]), (INT32, [0, 0, 0, -1])], INT32, None),
    "Mod": ("Mod", {}, [(INT64, [7, -7, 0, LEAST64]), (INT64, [0, 0, 0, -1])], INT64, None),
    "Cast to int32": ("Cast", {"to": INT32}, [(FLOAT, [NAN, INF, -INF, 1e30, -1e30, 2.9, -2.9])],
                      INT32, [0, MOST32, LEAST32, MOST32, LEAST32, 2, -2]),
    "Cast to int8": ("Cast", {"to": INT8}, [(FLOAT, [NAN, INF, -INF, 200., -200., 127.9])],
                     INT8, [0, 127, -128, 127, -128, 127]),
    "Max": ("Max", {}, [(FLOAT, [NAN, 1.]), (FLOAT, [1., NAN])], FLOAT, [NAN, NAN]),
    "BitShift": ("BitShift", {"direction": "LEFT"},
                 [(UINT64, [1, 1, 1]), (UINT64, [1, 64, 1 << 40])], UINT64, [2, 0, 0]),
}
NOT_FOLDED = {"Gather"}


def pack(type_, values):
    return struct.pack(f"<{len(values)}{TYPES[type_][1]}", *values)


def run(folder, name, model_, feeds):
    path = os.path.join(folder, "case.onnx")
    with open(path, "wb") as file:
        file.write(model_)
    with open(os.path.join(folder, "in.npz"), "wb") as file:
        file.write(npz(**feeds))
    out = os.path.join(folder, "out.npz")
    result = subprocess.run(["sinter-run", path, "--unchecked-indices", f"--inputs={os.path.join(folder, 'in.npz')}",
                             f"--outputs={out}"], capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"{name}: exit code {result.returncode}: {result.stderr.strip()}")
    return arrays.readNpz(out)["y"].values


def same(left, right):
    return len(left) == len(right) and all(a == b or (a != a and b != b)
                                           for a, b in zip(left, right))


def check(folder, name):
    op, attributes, operands, type_, expected = CASES[name]
    names = [f"x{i}" for i in range(len(operands))]
    values_ = {n: (t, v) for n, (t, v) in zip(names, operands)}
    count = len(expected or operands[0][1])
    shape = {n: (len(v),) for n, (t, v) in values_.items()}
    computed = run(folder, name, model(graph(
        node(op, names, ["y"], "it", **attributes),
        inputs=[(n, shape[n], t) for n, (t, v) in values_.items()],
        outputs=(("y", (count,), type_),))),
        {n: npy(f"({len(v)},)", pack(t, v), TYPES[t][0]) for n, (t, v) in values_.items()})
    if expected is not None and not same(computed, expected):
        raise RuntimeError(f"{name}: {computed}, not {expected}")
    if name in NOT_FOLDED:
        return
    folded = run(folder, name, model(graph(
        *(initializer(n, shape[n], t, pack(t, v)) for n, (t, v) in values_.items()),
        node(op, names, ["y"], "it", **attributes), inputs=(),
        outputs=(("y", (count,), type_),))), {})
    if not same(computed, folded):
        raise RuntimeError(f"{name}: computed {computed}, folded {folded}")


def main():
    failed = 0
    for name in CASES:
        try:
            check(sys.argv[1], name)
        except RuntimeError as error:
            failed += 1
            print(error)
    print(f"{len(CASES) - failed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
