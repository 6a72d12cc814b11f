// Ops with gradient rules that the models of this project do not reach.
module {
  sinter.state @w : tensor<6x6xf32> {role = #sinter<role param>, trainable, onnx = "w", init = dense<[[0.1, -0.2, 0.3, 0.4, -0.5, 0.6], [0.2, 0.1, -0.3, 0.2, 0.5, -0.1], [-0.4, 0.3, 0.2, 0.1, 0.7, 0.2], [0.3, 0.5, -0.6, 0.2, 0.1, -0.3], [0.5, -0.1, 0.2, -0.7, 0.3, 0.1], [0.1, 0.2, 0.6, -0.3, 0.4, -0.2]]> : tensor<6x6xf32>}
  func.func @main(%x: tensor<4x6xf32> {sinter.input = "x"}, %w: tensor<6x6xf32> {sinter.state = @w}) -> (tensor<4x14xf32> {sinter.output = "y"}) {
    %product = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32> loc("product")
    %gate = sinter.sigmoid %product : tensor<4x6xf32> loc("gate")
    %weights = sinter.softmax %product {axis = 1 : i64} : tensor<4x6xf32> loc("weights")
    %apart = sinter.sub %gate, %weights : tensor<4x6xf32> loc("apart")
    %beside = sinter.concat %apart, %product axis 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32> loc("beside")
    %zero = sinter.constant dense<0.0> : tensor<f32> loc("zero")
    %bordered = sinter.pad %beside, %zero low [0, 1] high [0, 1] interior [0, 0] : (tensor<4x12xf32>, tensor<f32>) -> tensor<4x14xf32> loc("bordered")
    return %bordered : tensor<4x14xf32>
  }
}
