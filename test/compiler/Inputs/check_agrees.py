#!/usr/bin/env python3
"""Checks that sinterc --check reports what compiling reports: exit code and error lines.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    check_agrees.py WORK

Each row: a small model, flags, the exit code, and what the errors must name. Prints
`N passed, M failed, 0 skipped`.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../fuzz"))
from onnx_bytes import INT64, data, floats, graph, initializer, model, node, value  # noqa: E402

DONE, USAGE, UNSUPPORTED = 0, 2, 3
ROWS, PLANES = (2, 4), (2, 3, 5, 5, 5, 5)


def onnx(*parts, inputs=(("x", ROWS),), outputs=(("y", ROWS),), types=()):
    """`types`: outputs of another type than float, (name, dims, type)."""
    declared = b"".join(data(12, value(*row)) for row in types)
    return model(graph(*parts, inputs=inputs, outputs=outputs) + declared)


def weight(name, *dims):
    count = 1
    for dim in dims:
        count *= dim
    return initializer(name, dims, raw=floats(count))


def text(body, results):
    """A module in text form with the state @w and the input x, both of 2x4 elements."""
    types = ", ".join(f'tensor<2x4xf32> {{sinter.output = "{name}"}}' for name in results)
    values = ", ".join("%" + name for name in results)
    return f'''sinter.state @w : tensor<2x4xf32> {{role = #sinter<role param>,
  init = dense<0.5> : tensor<2x4xf32>}}
func.func @main(%x: tensor<2x4xf32> {{sinter.input = "x"}},
                %w: tensor<2x4xf32> {{sinter.state = @w}}) -> ({types}) {{
  {body}
  return {values} : {", ".join(["tensor<2x4xf32>"] * len(results))}
}}
'''.encode()


MULTIPLIED = node("MatMul", ["x", "w"], ["y"], "multiply") + weight("w", 4, 4)
TWO = node("Relu", ["y"], ["z"], "rectify")
SPATIAL = node("Conv", ["x", "w"], ["y"], "convolve") + weight("w", 3, 3, 1, 1, 1, 1)
# Two ops without a gradient in a row, and one beside them that nothing is learned through.
WINDOW = """{window = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
     pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>}
    : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>"""
BLOCKED = f"""%a = sinter.reduce_window_grad max %x, %w {WINDOW} loc("first")
  %b = sinter.reduce_window_grad max %x, %a {WINDOW} loc("second")
  %c = sinter.copy %b to 0 : tensor<2x4xf32> loc("third")
  %d = sinter.copy %x to 0 : tensor<2x4xf32> loc("beside")
  %y = sinter.add %c, %d : tensor<2x4xf32> loc("fourth")"""
GRADIENTS = ["nodes 'first', 'second': 'sinter.reduce_window_grad' has no gradient",
             "node 'third': 'sinter.copy' has no gradient"]
FOUR = """%r = sinter.reshape %y : tensor<2x4xf32> -> tensor<2x4x1x1x1x1xf32> loc("fifth")
  %k = sinter.constant dense<0.5> : tensor<4x4x1x1x1x1xf32>
  %o = sinter.conv %r, %k {strides = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1, 1, 1>,
     pads_low = array<i64: 0, 0, 0, 0>, pads_high = array<i64: 0, 0, 0, 0>}
    : (tensor<2x4x1x1x1x1xf32>, tensor<4x4x1x1x1x1xf32>) -> tensor<2x4x1x1x1x1xf32> loc("convolve")
  %z = sinter.reshape %o : tensor<2x4x1x1x1x1xf32> -> tensor<2x4xf32> loc("sixth")"""
SEVERAL = "several float outputs ('y', 'z'); say which, for example --loss=cross-entropy:logits=y"
DIMENSIONS = "sinter.conv (not available over more than 3 spatial dimensions)"

CASES = [
    ("fits", onnx(MULTIPLIED), "--train", DONE, []),
    ("inference", onnx(MULTIPLIED), "", DONE, []),
    ("symbolic", onnx(MULTIPLIED, inputs=(("x", ("N", 4)),), outputs=(("y", ("N", 4)),)),
     "--train --batch=3", DONE, []),
    # Operators: all of them, whatever else is wrong.
    ("unknown", onnx(node("Frob", ["x"], ["a"], "one"), node("Blob", ["x"], ["b"], "two"),
                     node("Add", ["a", "b"], ["y"], "sum")), "--train", UNSUPPORTED,
     ["operator Frob is not supported (node 'one')",
      "operator Blob is not supported (node 'two')"]),
    ("unknown-inference", onnx(node("Frob", ["x"], ["y"], "one")), "", UNSUPPORTED, ["Frob"]),
    ("unknown-misfit", onnx(node("Frob", ["x"], ["y"], "one")), "--train --loss=none",
     UNSUPPORTED, ["Frob"]),
    ("device", onnx(SPATIAL, inputs=(("x", PLANES),), outputs=(("y", PLANES),)), "",
     UNSUPPORTED, [DIMENSIONS, "of node convolve"]),
    ("device-train", onnx(SPATIAL, inputs=(("x", PLANES),), outputs=(("y", PLANES),)),
     "--train --loss=mse", UNSUPPORTED, [DIMENSIONS, "conv_filter_grad"]),
    ("device-misfit", onnx(SPATIAL + TWO, inputs=(("x", PLANES),),
                           outputs=(("y", PLANES), ("z", PLANES))), "--train", UNSUPPORTED,
     [SEVERAL, DIMENSIONS]),
    # Gradients.
    ("gradient", text(BLOCKED, ["y"]), "--train", UNSUPPORTED, GRADIENTS),
    ("gradient-inference", text('%y = sinter.add %x, %w : tensor<2x4xf32>', ["y"]), "", DONE, []),
    ("gradient-frozen", text(BLOCKED + "\n  %z = sinter.mul %x, %w : tensor<2x4xf32>", ["y", "z"]),
     "--train --loss=mse:logits=z", DONE, []),
    ("gradient-device", text(BLOCKED + "\n  " + FOUR, ["z"]), "--train", UNSUPPORTED,
     [*GRADIENTS, DIMENSIONS]),
    ("gradient-misfit", text(BLOCKED + "\n  %z = sinter.neg %y : tensor<2x4xf32>", ["y", "z"]),
     "--train", UNSUPPORTED, [SEVERAL, *GRADIENTS]),
    # Options.
    ("several", onnx(MULTIPLIED + TWO, outputs=(("y", ROWS), ("z", ROWS))), "--train", USAGE,
     [SEVERAL]),
    ("chosen", onnx(MULTIPLIED + TWO, outputs=(("y", ROWS), ("z", ROWS))),
     "--train --loss=cross-entropy:logits=z", DONE, []),
    ("no-such-output", onnx(MULTIPLIED), "--train --loss=mse:logits=q", USAGE, ["logits=q"]),
    ("no-float", onnx(node("ArgMax", ["x"], ["y"], "most"), weight("w", 4), outputs=(),
                      types=(("y", (1, 4), INT64),)), "--train", USAGE,
     ["no float output for the loss"]),
    ("rank", onnx(node("Mul", ["x", "w"], ["y"], "scale"), weight("w", 4), inputs=(("x", (4,)),),
                  outputs=(("y", (4,)),)), "--train", USAGE, ["needs logits of rank 2 or more"]),
    ("one-class", onnx(node("MatMul", ["x", "w"], ["y"], "multiply"), weight("w", 4, 1),
                       outputs=(("y", (2, 1)),)), "--train", USAGE, ["has one class"]),
    ("one-logit", onnx(node("MatMul", ["x", "w"], ["y"], "multiply"), weight("w", 4, 1),
                       outputs=(("y", (2, 1)),)), "--train --loss=bce", DONE, []),
    ("no-scalar", onnx(MULTIPLIED), "--train --loss=none", USAGE, ["no scalar float output"]),
    ("labels", onnx(MULTIPLIED, node("Mul", ["x", "t"], ["u"], "use"), inputs=(("x", ROWS),
                    ("t", (2, 1))), outputs=(("y", ROWS), ("u", ROWS))),
     "--train --loss=mse:logits=y,labels=t", USAGE, ["labels input 't' has type"]),
    ("nothing", onnx(node("Relu", ["x"], ["y"], "rectify")), "--train", USAGE,
     ["nothing to train"]),
    ("frozen", onnx(MULTIPLIED), "--train --freeze=w", USAGE, ["nothing to train"]),
    ("no-parameter", onnx(MULTIPLIED), "--train --freeze=q", USAGE, ["--freeze=q"]),
    ("mixes", onnx(MULTIPLIED, node("Softmax", ["y"], ["z"], "over-rows", axis=0),
                   outputs=(("z", ROWS),)), "--train --loss=mse", USAGE,
     ["node 'over-rows': mixes the rows"]),
    ("one-value", onnx(node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"], "norm"),
                       *[weight(n, 4) for n in "sbmv"], inputs=(("x", (1, 4)),),
                       outputs=(("y", (1, 4)),)), "--train --bn-running-var=unbiased", USAGE,
     ["node 'norm': normalises over one value"]),
    ("optimizer", onnx(MULTIPLIED), "--train --optimizer=adam --momentum=0.9", USAGE,
     ["momentum"]),
    ("no-node", onnx(MULTIPLIED), "--precision=bf16 --keep-fp32=q", USAGE, ["--keep-fp32=q"]),
    ("tf32", onnx(MULTIPLIED), "--precision=tf32", USAGE, ["tf32"]),
    ("library", onnx(MULTIPLIED), "--train --emit=lib", USAGE, ["contradicts --train"]),
    ("places", onnx(MULTIPLIED), "--target=cpu,sim --place=multiply=cpu", USAGE,
     ["applies to one program"]),
    ("damaged", onnx(node("MatMul", ["x", "w"], ["y"], "multiply"), weight("w", 5, 4)), "--train",
     USAGE, ["node 'multiply'"]),
    ("sim", onnx(MULTIPLIED + TWO, outputs=(("y", ROWS), ("z", ROWS))),
     "--train --target=cpu,sim", USAGE, [SEVERAL]),
]


def run(path, flags):
    done = subprocess.run(["sinterc", path, *flags], capture_output=True, text=True)
    return done.returncode, [line for line in done.stderr.splitlines() if " error: " in line], done.stdout


def problems(path, flags, code, words):
    compiled, errors, _ = run(path, [*flags, "-o", path + ".out"])
    checked, said, answer = run(path, [*flags, "--check"])
    if compiled != code:
        yield f"compiling ends with {compiled}, not {code}: {errors}"
    if checked != compiled:
        yield f"--check ends with {checked}, compiling with {compiled}: {said}"
    # A list of targets: compiling ends with the first.
    if (said[:len(errors)] if "," in " ".join(flags) else said) != errors:
        yield f"--check says {said}, compiling {errors}"
    for word in words:
        if not any(word in line for line in errors):
            yield f"{word!r} is not in {errors}"
    isCovered = "every operator is supported" in answer
    if isCovered and code not in (DONE, USAGE) or not isCovered and code == DONE:
        yield f"ends with {code}, but says {answer!r}"


def main():
    work, failed = sys.argv[1], 0
    os.makedirs(work, exist_ok=True)
    for name, content, flags, code, words in CASES:
        isText = content.startswith(b"sinter")
        path = os.path.join(work, name + (".mlir" if isText else ".onnx"))
        with open(path, "wb") as file:
            file.write(content)
        found = list(problems(path, flags.split(), code, words))
        failed += bool(found)
        for problem in found:
            print(f"{name}: {problem}")
    print(f"{len(CASES) - failed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
