module @few_results {
  func.func @main(%x: tensor<1x524288xf32> {sinter.input = "x"}, %i: tensor<64xi64> {sinter.input = "i"}, %u: tensor<64x8xf32> {sinter.input = "u"})
      -> (tensor<1xf32> {sinter.output = "y"}, tensor<3000x8xf32> {sinter.output = "z"}) {
    %square = sinter.mul %x, %x : tensor<1x524288xf32>
    %y = sinter.reduce sum %square dims [1] : (tensor<1x524288xf32>) -> tensor<1xf32>
    %zero = sinter.constant dense<0.0> : tensor<3000x8xf32>
    %z = sinter.scatter sum %zero, %i, %u axis 0 : (tensor<3000x8xf32>, tensor<64xi64>, tensor<64x8xf32>) -> tensor<3000x8xf32>
    return %y, %z : tensor<1xf32>, tensor<3000x8xf32>
  }
}
