"""Prints a function of many additions of one splat.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

ADDITIONS = 128  # with a copy of the splat for each of them, what a kernel may have
TYPE = "tensor<64x64xf32>"

print(f"func.func @chain(%x0: {TYPE}) -> {TYPE} {{")
print(f"  %c = sinter.constant dense<0.5> : {TYPE}")
for i in range(ADDITIONS):
    print(f"  %x{i + 1} = sinter.add %x{i}, %c : {TYPE}")
print(f"  %y = sinter.exp %x{ADDITIONS} : {TYPE}")
print(f"  return %y : {TYPE}")
print("}")
