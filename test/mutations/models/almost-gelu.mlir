// gelu's formula with another factor in front of the cube.
module {
  func.func @main(%x: tensor<4x6xf32> {sinter.input = "x"}) -> (tensor<4x6xf32> {sinter.output = "y"}) {
    %a = sinter.constant dense<0.06> : tensor<4x6xf32> loc("a")
    %k = sinter.constant dense<0.797884583> : tensor<4x6xf32> loc("k")
    %half = sinter.constant dense<0.5> : tensor<4x6xf32> loc("half")
    %one = sinter.constant dense<1.0> : tensor<4x6xf32> loc("one")
    %square = sinter.mul %x, %x : tensor<4x6xf32> loc("square")
    %cube = sinter.mul %square, %x : tensor<4x6xf32> loc("cube")
    %term = sinter.mul %cube, %a : tensor<4x6xf32> loc("term")
    %sum = sinter.add %x, %term : tensor<4x6xf32> loc("sum")
    %inner = sinter.mul %sum, %k : tensor<4x6xf32> loc("inner")
    %tanh = sinter.tanh %inner : tensor<4x6xf32> loc("tanh")
    %shifted = sinter.add %tanh, %one : tensor<4x6xf32> loc("shifted")
    %product = sinter.mul %x, %shifted : tensor<4x6xf32> loc("product")
    %y = sinter.mul %product, %half : tensor<4x6xf32> loc("y")
    return %y : tensor<4x6xf32>
  }
}
