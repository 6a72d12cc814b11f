#!/usr/bin/env python3
"""Writes a model that adds up many inputs.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    many_values.py COUNT > model.mlir
"""

import sys


def main():
    count = int(sys.argv[1])
    inputs = ", ".join(f'%x{i}: tensor<64xf32> {{sinter.input = "x{i}"}}' for i in range(count))
    print(f'func.func @main({inputs}) -> (tensor<64xf32> {{sinter.output = "y"}}) {{')
    for i in range(1, count):
        last = "%x0" if i == 1 else f"%y{i - 1}"
        print(f'  %y{i} = sinter.add {last}, %x{i} : tensor<64xf32> loc("n{i}")')
    print(f"  return %y{count - 1} : tensor<64xf32>\n}}")


if __name__ == "__main__":
    main()
