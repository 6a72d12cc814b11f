"""Compares the simulated device with the real one: the same programs, the same inputs.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

prepare() compiles each program for the device and runs it on the simulated one, checked; the
results are packed. Generated kernels must give the same bits, except the payload of NaNs and
sums on tensor cores: there integers, whose sums are exact in any order, must still give the
same bits; other results may differ by a bound that the program computes beside them
(programs.boundedProducts). Results of library calls agree to a tolerance of the largest element.
"""

import math
import os
import sys
import tempfile
import zipfile
from typing import NamedTuple

import architectures
import bundle as bundles
import load
import mappings
import programs
from npz import parseNpy

GROUP = "simulated"
TEXTS = ["norms", "few-results", "attention-mask"]
# Of float32 networks: each side may be off by 1e-5, as in their tests; of 16-bit attention,
# whose probabilities are rounded to 16 bits in another place.
LIBRARY_TOLERANCE, NARROW_TOLERANCE = 2e-5, 2e-2


class Job(NamedTuple):
    name: str
    model: str
    rule: object  # "bits", "bound" or a tolerance
    options: list  # sinterc's
    inputs: str = "random:seed=3"
    file: str = ""  # where another group compiled it


def networks(bundle):
    for path in architectures.tests(bundle.small):
        name = os.path.basename(path)[:-len(".test")]
        model, inputs, _, _ = architectures.readTest(path)
        shapes = architectures.shapes(inputs)
        for libraries, rule in (("none", "bits"), ("all", LIBRARY_TOLERANCE)):
            yield Job(name + ("" if rule == "bits" else ", libraries"), model, rule,
                      [*shapes, f"--libraries={libraries}"], inputs,
                      architectures.fileOf(name, libraries))


def texts(bundle):
    root = os.path.join(bundles.ROOT, "test/e2e/Inputs")
    for name in TEXTS[:1] if bundle.small else TEXTS:
        yield Job(name, os.path.join(root, name + ".mlir"), "bits", ["--libraries=none"])
    yield Job("attention, libraries", os.path.join(root, "attention.mlir"), NARROW_TOLERANCE, [])


def generated(bundle, folder):
    """Kernels that are measured elsewhere, at small sizes, and products on tensor cores."""
    def write(program):
        path = os.path.join(folder, programs.fileName(program.name) + ".mlir")
        with open(path, "w", encoding="utf-8") as file:
            file.write(program.text)
        return path
    for program in programs.kernels(small=True):
        yield Job(program.name, write(program), "bits", [])
    for program in mappings.programs():
        yield Job(program.name, write(program), "bits", [*program.options])
    script = os.path.join(bundles.ROOT, "test/backends/sim/products.py")
    bundles.run([sys.executable, script, folder])
    for element in ["bf16"] if bundle.small else ["bf16", "f16", "tf32"]:
        yield Job(f"whole numbers in {element}", os.path.join(folder, element + ".mlir"), "bits",
                  ["--libraries=none"])
        program = programs.boundedProducts(element)
        yield Job(program.name, write(program), "bound", [*program.options])


def checkRule(job, path):
    """PTX says what a program is made of: whether its rule is the right one."""
    # The runtime's own kernels, for epilogues of cuBLASLt and for training data, are in every file.
    code = b"".join(text for _, text, _ in load.texts(path) if b".entry sinter_" not in text)
    if job.rule == "bits" and b".approx" in code:
        raise SystemExit(f"prepare.py: {job.name} has approximate functions: give it a bound")
    if job.rule == "bound" and b".target sm_" in code and b"mma.sync" not in code:
        raise SystemExit(f"prepare.py: {job.name} has no matrix instructions")
    if lacking := mappings.missing(job.name, code):
        raise SystemExit(f"prepare.py: the kernels of {job.name} have no {' and no '.join(lacking)}")


def prepare(bundle):
    def make(job):
        base = f"simulated/{programs.fileName(job.name)}"
        file = job.file or base + ".so"
        if not job.file:
            bundle.compile(job.model, file, *job.options)
        checkRule(job, bundle.path(file))
        model, inputs = (word.replace("%models", bundles.MODELS)
                         for word in (job.model, job.inputs))
        bundles.run([bundle.tool("sinter-run"), model, "--device=sim:0", *job.options,
                     f"--inputs={inputs}", "--outputs=" + bundle.path(base + ".npz")])
        return {"name": job.name, "file": file, "inputs": job.inputs, "outputs": base + ".npz",
                "rule": job.rule}
    with tempfile.TemporaryDirectory() as folder:
        jobs = [*networks(bundle), *texts(bundle), *generated(bundle, folder)]
        bundle.write("simulated", bundle.inParallel(make, jobs))


# --- comparing -----------------------------------------------------------------------------------


def readMembers(path):
    """{name: the bytes of its .npy}"""
    try:
        with zipfile.ZipFile(path) as archive:
            return {name.removesuffix(".npy"): archive.read(name) for name in archive.namelist()}
    except (OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{os.path.basename(path)}: {error}") from None


def compareBits(name, got, expected):
    if got == expected:
        return
    a, b = parseNpy(got), parseNpy(expected)
    if (a.shape, a.letter) != (b.shape, b.letter):
        raise ValueError(f"{name}: {a.letter}{list(a.shape)}, not {b.letter}{list(b.shape)}")
    size = len(expected) // max(1, len(b.values))
    tails = got[-size * len(a.values):], expected[-size * len(b.values):]
    wrong = [i for i, (x, y) in enumerate(zip(a.values, b.values))
             if tails[0][i * size:(i + 1) * size] != tails[1][i * size:(i + 1) * size]
             and not (b.isFloat and math.isnan(x) and math.isnan(y))]
    if wrong:
        raise ValueError(f"{name}: {len(wrong)} of {len(b.values)} elements have other bits; "
                         f"[{wrong[0]}] is {a.values[wrong[0]]!r}, not {b.values[wrong[0]]!r}")


def compareBound(name, got, expected, bound):
    """The largest part of the bound that is used."""
    worst = 0.0
    for i, (x, y, most) in enumerate(zip(got.values, expected.values, bound.values)):
        if not abs(x - y) <= most:
            raise ValueError(f"{name}[{i}] is {x!r}, not {y!r}: off by {abs(x - y):.3g}, "
                             f"at most {most:.3g}")
        worst = max(worst, abs(x - y) / most if most else 0.0)
    return worst


def compareTolerance(name, got, expected, tolerance):
    """The error, relative to the largest element."""
    if not expected.isFloat:
        if got.values != expected.values:
            raise ValueError(f"{name}: integers differ")
        return 0.0
    largest = max(map(abs, filter(math.isfinite, expected.values)), default=0.0)
    error = 0.0
    for i, (x, y) in enumerate(zip(got.values, expected.values)):
        if x == y or math.isnan(x) and math.isnan(y):
            continue
        if not abs(x - y) <= tolerance * largest:
            raise ValueError(f"{name}[{i}] is {x!r}, not {y!r}: more than {tolerance:g} of "
                             f"{largest:.3g}")
        error = max(error, abs(x - y))
    return error / largest if largest else error


def compare(got, expected, rule):
    """One line; ValueError where they disagree."""
    got, expected = readMembers(got), readMembers(expected)
    if got.keys() != expected.keys():
        raise ValueError(f"outputs {', '.join(got)}, not {', '.join(expected)}")
    if rule == "bits":
        for name, data in expected.items():
            compareBits(name, got[name], data)
        return f"the same bits, {sum(map(len, expected.values()))} bytes"
    arrays = [{name: parseNpy(data) for name, data in side.items()} for side in (got, expected)]
    worst = 0.0
    for name, array in arrays[1].items():
        if arrays[0][name].shape != array.shape:
            raise ValueError(f"{name}: another shape")
        if rule != "bound":
            worst = max(worst, compareTolerance(name, arrays[0][name], array, rule))
        elif not name.startswith("bound_"):
            worst = max(worst, compareBound(name, arrays[0][name], array,
                                            arrays[1]["bound_" + name]))
    if rule == "bound":
        return f"{worst:.3g} of the bound"
    return f"error {worst:.3g}, at most {rule:g}"


def check(context, results, program):
    """One row of an entry of simulated.json."""
    name = program["name"]
    out = os.path.join(context.scratch, "simulated-" + os.path.basename(program["outputs"]))
    inputs, = context.models([program["inputs"]])
    done = context.attempt(GROUP, name, context.runner(program["file"], inputs,
                                                       f"--outputs={out}"), 90)
    if done is None:
        return
    try:
        detail = compare(out, context.path(program["outputs"]), program["rule"])
        results.add(GROUP, name, "passed", done[1], detail)
    except ValueError as error:
        results.add(GROUP, name, "failed", done[1], str(error))


def run(context, results):
    context.inParallel(lambda program: check(context, results, program),
                       context.list("simulated"))
