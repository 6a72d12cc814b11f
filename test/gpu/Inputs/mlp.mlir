// 784-512-256-10 as test/bench/make_models.py has it. Weights begin as zeros: a step
// takes as long with any.
module @mlp attributes {sinter.model = "mlp"} {
  sinter.state @w1 : tensor<512x784xf32> {role = #sinter<role param>}
  sinter.state @b1 : tensor<512xf32> {role = #sinter<role param>}
  sinter.state @w2 : tensor<256x512xf32> {role = #sinter<role param>}
  sinter.state @b2 : tensor<256xf32> {role = #sinter<role param>}
  sinter.state @w3 : tensor<10x256xf32> {role = #sinter<role param>}
  sinter.state @b3 : tensor<10xf32> {role = #sinter<role param>}
  func.func @main(%x: tensor<64x1x28x28xf32> {sinter.input = "x"},
      %w1: tensor<512x784xf32> {sinter.state = @w1}, %b1: tensor<512xf32> {sinter.state = @b1},
      %w2: tensor<256x512xf32> {sinter.state = @w2}, %b2: tensor<256xf32> {sinter.state = @b2},
      %w3: tensor<10x256xf32> {sinter.state = @w3}, %b3: tensor<10xf32> {sinter.state = @b3})
      -> (tensor<64x10xf32> {sinter.output = "logits"}) {
    %0 = sinter.reshape %x : tensor<64x1x28x28xf32> -> tensor<64x784xf32>
    %1 = sinter.dot_general %0, %w1 batch [] x [] contract [1] x [1] : (tensor<64x784xf32>, tensor<512x784xf32>) -> tensor<64x512xf32>
    %2 = sinter.broadcast %b1 dims [1] : tensor<512xf32> -> tensor<64x512xf32>
    %3 = sinter.add %1, %2 : tensor<64x512xf32>
    %4 = sinter.relu %3 : tensor<64x512xf32>
    %5 = sinter.dot_general %4, %w2 batch [] x [] contract [1] x [1] : (tensor<64x512xf32>, tensor<256x512xf32>) -> tensor<64x256xf32>
    %6 = sinter.broadcast %b2 dims [1] : tensor<256xf32> -> tensor<64x256xf32>
    %7 = sinter.add %5, %6 : tensor<64x256xf32>
    %8 = sinter.relu %7 : tensor<64x256xf32>
    %9 = sinter.dot_general %8, %w3 batch [] x [] contract [1] x [1] : (tensor<64x256xf32>, tensor<10x256xf32>) -> tensor<64x10xf32>
    %10 = sinter.broadcast %b3 dims [1] : tensor<10xf32> -> tensor<64x10xf32>
    %11 = sinter.add %9, %10 : tensor<64x10xf32>
    return %11 : tensor<64x10xf32>
  }
}
