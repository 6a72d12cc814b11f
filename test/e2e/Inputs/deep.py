"""Writes a model of L equal layers (product, bias, relu, dropout) as MLIR text.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    deep.py LAYERS > deep.mlir
"""
import sys

LAYERS, BATCH, WIDTH = int(sys.argv[1]), 8, 16
X, W, B = f"tensor<{BATCH}x{WIDTH}xf32>", f"tensor<{WIDTH}x{WIDTH}xf32>", f"tensor<{WIDTH}xf32>"

print('module @deep attributes {sinter.model = "deep"} {')
arguments = [f'%x: {X} {{sinter.input = "x"}}']
for layer in range(LAYERS):
    for name, type, value in (("w", W, 0.06 + layer * 1e-4), ("b", B, 0.01)):
        print(f"  sinter.state @{name}{layer} : {type} {{role = #sinter<role param>, trainable,"
              f" init = dense<{value}> : {type}}}")
        arguments.append(f"%{name}{layer}: {type} {{sinter.state = @{name}{layer}}}")
arguments += ['%seed: tensor<i64> {sinter.control = "seed"}', '%step: tensor<i64> {sinter.control = "step"}']
print(f"  func.func @main({', '.join(arguments)}) -> ({X} {{sinter.output = \"y\"}}) {{")
value = "%x"
for layer in range(LAYERS):
    print(f"    %p{layer} = sinter.dot_general {value}, %w{layer} batch [] x [] contract [1] x [0]"
          f" : ({X}, {W}) -> {X}")
    print(f"    %q{layer} = sinter.broadcast %b{layer} dims [1] : {B} -> {X}")
    print(f"    %s{layer} = sinter.add %p{layer}, %q{layer} : {X}")
    print(f"    %t{layer} = sinter.tanh %s{layer} : {X}")
    print(f"    %d{layer} = sinter.dropout %t{layer}, %seed, %step"
          f" {{ratio = 0.1 : f64, op_id = {layer} : i64}} : ({X}, tensor<i64>, tensor<i64>) -> {X}")
    value = f"%d{layer}"
print(f"    return {value} : {X}\n  }}\n}}")
