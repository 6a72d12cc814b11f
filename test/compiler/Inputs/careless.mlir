// One of each mistake that a graph can have by itself.
sinter.state @weight : tensor<6x6xf32> {role = #sinter<role param>, trainable, init = dense<0.5> : tensor<6x6xf32>}
sinter.state @table : tensor<8xf32> {role = #sinter<role param>, trainable,
    init = dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<8xf32>}
sinter.state @gate : tensor<6xf32> {role = #sinter<role param>, trainable, init = dense<[0.0, 1.0, 1.0, 0.0, 1.0, 1.0]> : tensor<6xf32>}
sinter.state @norm.running_mean : tensor<6xf32> {role = #sinter<role param>, trainable, init = dense<0.0> : tensor<6xf32>}
sinter.state @held : tensor<6xf32> {role = #sinter<role param>, trainable, init = dense<0.5> : tensor<6xf32>}
func.func @main(%x: tensor<8x6xf32> {sinter.input = "x"}, %w: tensor<6x6xf32> {sinter.state = @weight},
                %t: tensor<8xf32> {sinter.state = @table}, %g: tensor<6xf32> {sinter.state = @gate},
                %m: tensor<6xf32> {sinter.state = @norm.running_mean}, %h: tensor<6xf32> {sinter.state = @held})
    -> (tensor<f32> {sinter.output = "loss"}) {
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0]
     : (tensor<8x6xf32>, tensor<6x6xf32>) -> tensor<8x6xf32> loc("first")
  %1 = sinter.dot_general %0, %w batch [] x [] contract [1] x [1]
     : (tensor<8x6xf32>, tensor<6x6xf32>) -> tensor<8x6xf32> loc("second")
  %2 = sinter.broadcast %t dims [0] : tensor<8xf32> -> tensor<8x6xf32> loc("shift")
  %3 = sinter.add %1, %2 : tensor<8x6xf32> loc("shift")
  %4 = sinter.broadcast %g dims [1] : tensor<6xf32> -> tensor<8x6xf32> loc("gated")
  %5 = sinter.mul %3, %4 : tensor<8x6xf32> loc("gated")
  %6 = sinter.broadcast %m dims [1] : tensor<6xf32> -> tensor<8x6xf32> loc("centred")
  %7 = sinter.sub %5, %6 : tensor<8x6xf32> loc("centred")
  %8 = sinter.sign %h : tensor<6xf32> loc("direction")
  %9 = sinter.broadcast %8 dims [1] : tensor<6xf32> -> tensor<8x6xf32> loc("directed")
  %10 = sinter.mul %7, %9 : tensor<8x6xf32> loc("directed")
  %loss = sinter.reduce sum %10 dims [0, 1] : (tensor<8x6xf32>) -> tensor<f32> loc("total")
  return %loss : tensor<f32>
}
