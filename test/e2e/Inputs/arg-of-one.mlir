// The place of the largest element of a line of one, in a kernel that gives the line, too.
module @arg_of_one attributes {sinter.model = "arg_of_one"} {
  func.func @main(%x: tensor<3x1xf32> {sinter.input = "x"}, %u: tensor<1x5xf32> {sinter.input = "u"})
      -> (tensor<3xi64> {sinter.output = "at"}, tensor<3x1xf32> {sinter.output = "y"},
          tensor<5xi64> {sinter.output = "atFirst"}, tensor<1x5xf32> {sinter.output = "z"}) {
    %y = sinter.relu %x : tensor<3x1xf32> loc("relu")
    %at = sinter.arg_reduce max %y {axis = 1 : i64} : (tensor<3x1xf32>) -> tensor<3xi64> loc("at")
    %z = sinter.relu %u : tensor<1x5xf32> loc("otherRelu")
    %first = sinter.arg_reduce min %z {axis = 0 : i64} : (tensor<1x5xf32>) -> tensor<5xi64> loc("atFirst")
    return %at, %y, %first, %z : tensor<3xi64>, tensor<3x1xf32>, tensor<5xi64>, tensor<1x5xf32>
  }
}
