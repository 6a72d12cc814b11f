// 784-256-128-10 with relus, from zeros: what is counted does not depend on values.
sinter.state @w1 : tensor<256x784xf32> {role = #sinter<role param>, trainable}
sinter.state @b1 : tensor<256xf32> {role = #sinter<role param>, trainable}
sinter.state @w2 : tensor<128x256xf32> {role = #sinter<role param>, trainable}
sinter.state @b2 : tensor<128xf32> {role = #sinter<role param>, trainable}
sinter.state @w3 : tensor<10x128xf32> {role = #sinter<role param>, trainable}
sinter.state @b3 : tensor<10xf32> {role = #sinter<role param>, trainable}
func.func @main(%x: tensor<64x784xf32> {sinter.input = "x"},
                %w1: tensor<256x784xf32> {sinter.state = @w1}, %b1: tensor<256xf32> {sinter.state = @b1},
                %w2: tensor<128x256xf32> {sinter.state = @w2}, %b2: tensor<128xf32> {sinter.state = @b2},
                %w3: tensor<10x128xf32> {sinter.state = @w3}, %b3: tensor<10xf32> {sinter.state = @b3})
    -> (tensor<64x10xf32> {sinter.output = "y"}) {
  %0 = sinter.dot_general %x, %w1 batch [] x [] contract [1] x [1] : (tensor<64x784xf32>, tensor<256x784xf32>) -> tensor<64x256xf32>
  %1 = sinter.broadcast %b1 dims [1] : tensor<256xf32> -> tensor<64x256xf32>
  %2 = sinter.add %0, %1 : tensor<64x256xf32>
  %3 = sinter.relu %2 : tensor<64x256xf32>
  %4 = sinter.dot_general %3, %w2 batch [] x [] contract [1] x [1] : (tensor<64x256xf32>, tensor<128x256xf32>) -> tensor<64x128xf32>
  %5 = sinter.broadcast %b2 dims [1] : tensor<128xf32> -> tensor<64x128xf32>
  %6 = sinter.add %4, %5 : tensor<64x128xf32>
  %7 = sinter.relu %6 : tensor<64x128xf32>
  %8 = sinter.dot_general %7, %w3 batch [] x [] contract [1] x [1] : (tensor<64x128xf32>, tensor<10x128xf32>) -> tensor<64x10xf32>
  %9 = sinter.broadcast %b3 dims [1] : tensor<10xf32> -> tensor<64x10xf32>
  %10 = sinter.add %8, %9 : tensor<64x10xf32>
  return %10 : tensor<64x10xf32>
}
