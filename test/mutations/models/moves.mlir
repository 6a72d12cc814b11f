// Transposes, reshapes and gathers.
module {
  func.func @main(%x: tensor<4x33x40xf32> {sinter.input = "x"}, %w: tensor<33x24xf32> {sinter.input = "w"}) -> (tensor<4x33x40xf32> {sinter.output = "a"}, tensor<4x5x40xf32> {sinter.output = "b"}, tensor<40x4x24xf32> {sinter.output = "c"}) {
    %first = sinter.transpose %x perm [1, 2, 0] : (tensor<4x33x40xf32>) -> tensor<33x40x4xf32> loc("first")
    %exp = sinter.exp %first : tensor<33x40x4xf32> loc("exp")
    %second = sinter.transpose %exp perm [1, 2, 0] : (tensor<33x40x4xf32>) -> tensor<40x4x33xf32> loc("second")
    %third = sinter.transpose %second perm [1, 2, 0] : (tensor<40x4x33xf32>) -> tensor<4x33x40xf32> loc("third")
    %places = sinter.constant dense<[9, 7, 5, 3, 1]> : tensor<5xi64> loc("places")
    %chosen = sinter.gather %x, %places axis 1 : (tensor<4x33x40xf32>, tensor<5xi64>) -> tensor<4x5x40xf32> loc("chosen")
    %tanh = sinter.tanh %x : tensor<4x33x40xf32> loc("tanh")
    %turned = sinter.transpose %tanh perm [2, 0, 1] : (tensor<4x33x40xf32>) -> tensor<40x4x33xf32> loc("turned")
    %product = sinter.dot_general %turned, %w batch [] x [] contract [2] x [0] : (tensor<40x4x33xf32>, tensor<33x24xf32>) -> tensor<40x4x24xf32> loc("product")
    return %third, %chosen, %product : tensor<4x33x40xf32>, tensor<4x5x40xf32>, tensor<40x4x24xf32>
  }
}
