// Arithmetic that the simplifier changes.
module {
  func.func @main(%x: tensor<4x6xf32> {sinter.input = "x"}, %y: tensor<4x6xf32> {sinter.input = "y"}) -> (tensor<4x6xf32> {sinter.output = "a"}, tensor<4x6xf32> {sinter.output = "b"}, tensor<4x6xf32> {sinter.output = "c"}, tensor<4x6xf32> {sinter.output = "d"}) {
    %eight = sinter.constant dense<8.0> : tensor<4x6xf32> loc("eight")
    %scaled = sinter.div %x, %eight : tensor<4x6xf32> loc("scaled")
    %exp = sinter.exp %y : tensor<4x6xf32> loc("exp")
    %neg = sinter.neg %exp : tensor<4x6xf32> loc("neg")
    %difference = sinter.add %x, %neg : tensor<4x6xf32> loc("difference")
    %three = sinter.constant dense<3.0> : tensor<4x6xf32> loc("three")
    %triple = sinter.mul %y, %three : tensor<4x6xf32> loc("triple")
    %opposite = sinter.neg %triple : tensor<4x6xf32> loc("opposite")
    %low = sinter.constant dense<-0.5> : tensor<4x6xf32> loc("low")
    %lower = sinter.constant dense<-0.75> : tensor<4x6xf32> loc("lower")
    %above = sinter.max %x, %low : tensor<4x6xf32> loc("above")
    %bounded = sinter.max %above, %lower : tensor<4x6xf32> loc("bounded")
    return %scaled, %difference, %opposite, %bounded : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
  }
}
