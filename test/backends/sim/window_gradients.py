"""Writes a program of gradients of windows.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    window_gradients.py gather|own PROGRAM.mlir

gather: cases in which a thread has elements; own: large tensors, whose threads have windows.
Rounding makes equal elements in a window, and one in ten is NaN: the first of the greatest
gets the gradient.
"""

import sys

# Element type, then lists with an entry per dimension: sizes, window, strides, dilations,
# padding before and after.
CASES = {"gather": [
    # Channels last and first, as in a residual network.
    ("f32", (2, 9, 9, 8), (1, 3, 3, 1), (1, 2, 2, 1), (1, 1, 1, 1), (0, 1, 1, 0), (0, 1, 1, 0)),
    ("f32", (2, 5, 9, 8), (1, 1, 3, 3), (1, 1, 2, 2), (1, 1, 1, 1), (0, 0, 1, 1), (0, 0, 1, 1)),
    # Every element in as many windows as a window has elements.
    ("f32", (1, 6, 5, 4), (1, 5, 5, 1), (1, 1, 1, 1), (1, 1, 1, 1), (0, 2, 2, 0), (0, 2, 2, 0)),
    # Dilated: the windows over an element are not neighbours.
    ("f32", (2, 11, 10, 12), (1, 3, 2, 1), (1, 2, 1, 1), (1, 2, 3, 1), (0, 2, 1, 0), (0, 3, 0, 0)),
    ("f32", (3, 19), (1, 4), (1, 3), (1, 4), (0, 5), (0, 2)),
    # Windows that do not meet; vectors of two channels, and of none.
    ("f32", (1, 9, 9, 6), (1, 2, 2, 1), (1, 3, 4, 1), (1, 1, 1, 1), (0, 1, 0, 0), (0, 0, 2, 0)),
    ("f32", (2, 6, 6, 5), (1, 2, 2, 1), (1, 2, 2, 1), (1, 1, 1, 1), (0, 0, 0, 0), (0, 0, 0, 0)),
    # The whole image, and windows of padding alone.
    ("f32", (4, 7, 7, 8), (1, 7, 7, 1), (1, 7, 7, 1), (1, 1, 1, 1), (0, 0, 0, 0), (0, 0, 0, 0)),
    ("f32", (2, 3, 4), (1, 2, 1), (1, 2, 1), (1, 1, 1), (0, 4, 0), (0, 5, 0)),
    # Windows along all dimensions, and along none.
    ("f32", (5, 7), (2, 3), (1, 2), (1, 1), (1, 1), (0, 1)),
    ("f32", (5, 8), (1, 1), (1, 1), (1, 1), (0, 0), (0, 0)),
    ("bf16", (2, 9, 9, 8), (1, 3, 3, 1), (1, 2, 2, 1), (1, 1, 1, 1), (0, 1, 1, 0), (0, 1, 1, 0)),
    ("f16", (2, 5, 6, 7), (1, 1, 3, 2), (1, 1, 1, 1), (1, 1, 1, 1), (0, 0, 1, 0), (0, 0, 1, 1)),
    ("f64", (1, 9, 9, 4), (1, 3, 3, 1), (1, 1, 2, 1), (1, 1, 1, 1), (0, 1, 1, 0), (0, 1, 1, 0)),
], "own": [
    # The whole image, channels last and first.
    ("f32", (16, 7, 7, 2048), (1, 7, 7, 1), (1, 7, 7, 1), (1, 1, 1, 1), (0, 0, 0, 0), (0, 0, 0, 0)),
    ("f32", (2048, 16, 7, 7), (1, 1, 7, 7), (1, 1, 7, 7), (1, 1, 1, 1), (0, 0, 0, 0), (0, 0, 0, 0)),
    # Elements between windows and after the last one; padding.
    ("f32", (16, 12, 8, 1536), (1, 5, 6, 1), (1, 6, 7, 1), (1, 1, 1, 1), (0, 1, 0, 0), (0, 0, 3, 0)),
    ("bf16", (16, 9, 7, 2048), (1, 4, 6, 1), (1, 8, 7, 1), (1, 2, 1, 1), (0, 1, 0, 0), (0, 7, 0, 0)),
    # Windows that overlap along one dimension, and along all.
    ("f32", (2, 7, 8, 8192), (1, 7, 8, 1), (1, 7, 1, 1), (1, 1, 1, 1), (0, 0, 4, 0), (0, 0, 3, 0)),
    ("f32", (8, 131072), (8, 1), (1, 1), (1, 1), (4, 0), (3, 0)),
]}


def tensor(sizes, element):
    return f"tensor<{'x'.join(map(str, sizes))}x{element}>"


def main():
    cases, path = CASES[sys.argv[1]], sys.argv[2]
    inputs, results, body, values = [], [], [], []
    for i, (element, sizes, window, strides, dilations, low, high) in enumerate(cases):
        windows = [(size + before + after - (width - 1) * dilation - 1) // stride + 1
                   for size, width, stride, dilation, before, after
                   in zip(sizes, window, strides, dilations, low, high)]
        x, g, bits = tensor(sizes, element), tensor(windows, element), tensor(sizes, "i1")
        inputs += [f'%x{i}: {x} {{sinter.input = "x{i}"}}', f'%g{i}: {g} {{sinter.input = "g{i}"}}']
        lists = ", ".join(f"{name} = array<i64: {', '.join(map(str, numbers))}>" for name, numbers in
                          [("window", window), ("strides", strides), ("dilations", dilations),
                           ("pads_low", low), ("pads_high", high)])
        body.append(f"""  %eight{i} = sinter.constant dense<8.0> : {x}
  %limit{i} = sinter.constant dense<7.2> : {x}
  %zero{i} = sinter.constant dense<0.0> : {x}
  %nan{i} = sinter.div %zero{i}, %zero{i} : {x}
  %scaled{i} = sinter.mul %x{i}, %eight{i} : {x}
  %floor{i} = sinter.floor %scaled{i} : {x}
  %much{i} = sinter.compare gt %scaled{i}, %limit{i} : {x}
  %v{i} = sinter.where %much{i}, %nan{i}, %floor{i} : {bits}, {x}""")
        for kind in ("max", "sum"):
            results.append(f'{x} {{sinter.output = "{kind}{i}"}}')
            values.append((f"%{kind}{i}", x))
            body.append(f"  %{kind}{i} = sinter.reduce_window_grad {kind} %v{i}, %g{i} {{{lists}}} "
                        f": ({x}, {g}) -> {x}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"func.func @main({', '.join(inputs)})\n    -> ({', '.join(results)}) {{\n")
        file.write("\n".join(body))
        file.write(f"\n  return {', '.join(v for v, _ in values)} : {', '.join(t for _, t in values)}\n}}\n")


if __name__ == "__main__":
    main()
