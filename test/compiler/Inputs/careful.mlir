// What careless.mlir does, as it should be; sizes that tensor cores like.
sinter.state @weight : tensor<16x16xf32> {role = #sinter<role param>, trainable, init = dense<0.5> : tensor<16x16xf32>}
sinter.state @other : tensor<16x16xf32> {role = #sinter<role param>, trainable, init = dense<0.5> : tensor<16x16xf32>}
sinter.state @bias : tensor<16xf32> {role = #sinter<role param>, trainable, init = dense<0.0> : tensor<16xf32>}
func.func @main(%x: tensor<8x16xf32> {sinter.input = "x"}, %w: tensor<16x16xf32> {sinter.state = @weight},
                %v: tensor<16x16xf32> {sinter.state = @other}, %b: tensor<16xf32> {sinter.state = @bias})
    -> (tensor<f32> {sinter.output = "loss"}) {
  %count = sinter.constant dense<128.0> : tensor<f32>
  %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0]
     : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32> loc("first")
  %1 = sinter.dot_general %0, %v batch [] x [] contract [1] x [1]
     : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32> loc("second")
  %2 = sinter.broadcast %b dims [1] : tensor<16xf32> -> tensor<8x16xf32> loc("shift")
  %3 = sinter.add %1, %2 : tensor<8x16xf32> loc("shift")
  %4 = sinter.tanh %3 : tensor<8x16xf32> loc("bounded")
  %sum = sinter.reduce sum %4 dims [0, 1] : (tensor<8x16xf32>) -> tensor<f32> loc("mean")
  %loss = sinter.div %sum, %count : tensor<f32> loc("mean")
  return %loss : tensor<f32>
}
