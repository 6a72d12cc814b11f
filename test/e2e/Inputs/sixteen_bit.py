"""Checks a precision plan: the share of multiply-adds in 16 bits, and a reason for every op.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    sixteen_bit.py PLAN.json --least=0.95
"""

import argparse
import json
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plan")
    parser.add_argument("--least", type=float, required=True)
    options = parser.parse_args()
    with open(options.plan, encoding="utf-8") as file:
        plan = json.load(file)
    for op in plan["ops"]:
        if not op["reason"] or op["precision"] not in (plan["policy"], "fp32"):
            sys.exit(f"no reason or precision: {op}")
    for function in {op["function"] for op in plan["ops"]}:
        ops = [op for op in plan["ops"] if op["function"] == function]
        total = sum(op.get("products", 0) for op in ops)
        narrow = sum(op.get("products", 0) for op in ops if op["precision"] == plan["policy"])
        print(f"{function}: {100 * narrow / total:.2f} % of {total:.4g} multiply-adds")
        if abs(plan["sixteen_bit_share"][function] - narrow / total) > 1e-9:
            sys.exit("the plan counts otherwise")
        if narrow < options.least * total:
            sys.exit("too few of them")


if __name__ == "__main__":
    main()
