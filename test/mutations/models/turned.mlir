// A kernel that transposes.
module {
  func.func @main(%x: tensor<96x64xf32> {sinter.input = "x"}, %z: tensor<64x96xf32> {sinter.input = "z"}) -> (tensor<64x96xf32> {sinter.output = "y"}) {
    %turned = sinter.transpose %x perm [1, 0] : (tensor<96x64xf32>) -> tensor<64x96xf32> loc("turned")
    %sum = sinter.add %turned, %z : tensor<64x96xf32> loc("sum")
    return %sum : tensor<64x96xf32>
  }
}
