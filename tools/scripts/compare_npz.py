#!/usr/bin/env python3
"""Compares the arrays of an npz file with a reference, output by output.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    compare_npz.py GOT.npz REFERENCE.npz --tolerance=1e-5

For each array of the reference: max |got - reference| / max |reference| must be at most
the tolerance; integers and bools must be equal, or differ by at most --codes. Names and
shapes must agree.
"""

import argparse
import math
import sys

from npz import readNpz


def difference(got, reference, codes=0):
    """None if they agree, a number to compare with the tolerance, or a sentence."""
    if got.shape != reference.shape:
        return f"shape {list(got.shape)}, not {list(reference.shape)}"
    if not reference.isFloat:
        if got.isFloat:
            return "floats where integers are expected"
        wrong = sum(abs(a - b) > codes for a, b in zip(got.values, reference.values))
        return f"{wrong} of {len(got.values)} integers differ" if wrong else 0.0
    if not got.isFloat:
        return "integers where floats are expected"
    worst = largest = 0.0
    for a, b in zip(got.values, reference.values):
        if math.isnan(b) or math.isinf(b):
            if not (a == b or math.isnan(a) and math.isnan(b)):
                return f"{a} where the reference has {b}"
        elif not math.isfinite(a):
            return f"{a} where the reference has {b}"
        else:
            worst, largest = max(worst, abs(a - b)), max(largest, abs(b))
    return worst / largest if largest else worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("got")
    parser.add_argument("reference")
    parser.add_argument("--tolerance", type=float, default=1e-5)
    parser.add_argument("--codes", type=int, default=0)
    options = parser.parse_args()
    got, reference = readNpz(options.got), readNpz(options.reference)
    failed = False
    for name, expected in reference.items():
        if name not in got:
            print(f"{name}: missing; there are {', '.join(got)}")
            failed = True
            continue
        result = difference(got[name], expected, options.codes)
        if isinstance(result, str):
            print(f"{name}: {result}")
            failed = True
        else:
            bad = result > options.tolerance
            failed |= bad
            print(f"{name}: error {result:.3g}{' EXCEEDS ' if bad else ' within '}"
                  f"{options.tolerance:g}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
