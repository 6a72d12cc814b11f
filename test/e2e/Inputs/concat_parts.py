"""Row sums of 24 inputs, side by side: each summed alone, or all at once.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    concat_parts.py alone|together ROWS

Inputs of ROWS x 40, and in the middle one of 3 x 40, after which results have other
addresses modulo 16 bytes.
"""

import sys

COLUMNS = 40


def rowsOf(rows):
    return [3 if i == 10 else rows for i in range(24)]


def main():
    how, rows = sys.argv[1], rowsOf(int(sys.argv[2]))
    total = sum(rows)
    inputs = ", ".join(f'%x{i}: tensor<{n}x{COLUMNS}xf32> {{sinter.input = "x{i}"}}'
                       for i, n in enumerate(rows))
    print(f'func.func @main({inputs}) -> (tensor<{total}xf32> {{sinter.output = "y"}}) {{')
    if how == "alone":
        for i, n in enumerate(rows):
            print(f"  %a{i} = sinter.abs %x{i} : tensor<{n}x{COLUMNS}xf32>")
            print(f"  %s{i} = sinter.reduce sum %a{i} dims [1] : "
                  f"(tensor<{n}x{COLUMNS}xf32>) -> tensor<{n}xf32>")
        types = ", ".join(f"tensor<{n}xf32>" for n in rows)
        names = ", ".join(f"%s{i}" for i in range(len(rows)))
        print(f"  %y = sinter.concat {names} axis 0 : ({types}) -> tensor<{total}xf32>")
    else:
        types = ", ".join(f"tensor<{n}x{COLUMNS}xf32>" for n in rows)
        names = ", ".join(f"%x{i}" for i in range(len(rows)))
        all_ = f"tensor<{total}x{COLUMNS}xf32>"
        print(f"  %c = sinter.concat {names} axis 0 : ({types}) -> {all_}")
        print(f"  %a = sinter.abs %c : {all_}")
        print(f"  %y = sinter.reduce sum %a dims [1] : ({all_}) -> tensor<{total}xf32>")
    print(f"  return %y : tensor<{total}xf32>\n}}")


main()
