// Products of one term, each with an activation: nothing is summed, so every device and library-free
// program has the same bits to give.
func.func @main(%x: tensor<64x1xf32> {sinter.input = "x"}, %w: tensor<1x96xf32> {sinter.input = "w"})
    -> (tensor<64x96xf32> {sinter.output = "gelu_erf"}, tensor<64x96xf32> {sinter.output = "gelu_tanh"}, tensor<64x96xf32> {sinter.output = "sigmoid"}, tensor<64x96xf32> {sinter.output = "tanh"}, tensor<64x96xf32> {sinter.output = "swish"}, tensor<64x96xf32> {sinter.output = "hard_swish"}, tensor<64x96xf32> {sinter.output = "relu"}, tensor<64x96xf32> {sinter.output = "clip"}) {
  %sixth = sinter.constant dense<0.16666667> : tensor<64x96xf32>
  %half = sinter.constant dense<0.5> : tensor<64x96xf32>
  %one = sinter.constant dense<1.0> : tensor<64x96xf32>
  %zero = sinter.constant dense<0.0> : tensor<64x96xf32>
  %low = sinter.constant dense<-0.4> : tensor<64x96xf32>
  %c0 = sinter.constant dense<1.00> : tensor<1x96xf32>
  %w0 = sinter.mul %w, %c0 : tensor<1x96xf32>
  %p0 = sinter.dot_general %x, %w0 batch [] x [] contract [1] x [0] : (tensor<64x1xf32>, tensor<1x96xf32>) -> tensor<64x96xf32>
  %y0 = sinter.gelu erf %p0 : tensor<64x96xf32>
  %c1 = sinter.constant dense<1.37> : tensor<1x96xf32>
  %w1 = sinter.mul %w, %c1 : tensor<1x96xf32>
  %p1 = sinter.dot_general %x, %w1 batch [] x [] contract [1] x [0] : (tensor<64x1xf32>, tensor<1x96xf32>) -> tensor<64x96xf32>
  %y1 = sinter.gelu tanh %p1 : tensor<64x96xf32>
  %c2 = sinter.constant dense<1.74> : tensor<1x96xf32>
  %w2 = sinter.mul %w, %c2 : tensor<1x96xf32>
  %p2 = sinter.dot_general %x, %w2 batch [] x [] contract [1] x [0] : (tensor<64x1xf32>, tensor<1x96xf32>) -> tensor<64x96xf32>
  %y2 = sinter.sigmoid %p2 : tensor<64x96xf32>
  %c3 = sinter.constant dense<2.11> : tensor<1x96xf32>
  %w3 = sinter.mul %w, %c3 : tensor<1x96xf32>
  %p3 = sinter.dot_general %x, %w3 batch [] x [] contract [1] x [0] : (tensor<64x1xf32>, tensor<1x96xf32>) -> tensor<64x96xf32>
  %y3 = sinter.tanh %p3 : tensor<64x96xf32>
  %c4 = sinter.constant dense<2.48> : tensor<1x96xf32>
  %w4 = sinter.mul %w, %c4 : tensor<1x96xf32>
  %p4 = sinter.dot_general %x, %w4 batch [] x [] contract [1] x [0] : (tensor<64x1xf32>, tensor<1x96xf32>) -> tensor<64x96xf32>
  %s4 = sinter.sigmoid %p4 : tensor<64x96xf32>
  %y4 = sinter.mul %p4, %s4 : tensor<64x96xf32>
  %c5 = sinter.constant dense<2.85> : tensor<1x96xf32>
  %w5 = sinter.mul %w, %c5 : tensor<1x96xf32>
  %p5 = sinter.dot_general %x, %w5 batch [] x [] contract [1] x [0] : (tensor<64x1xf32>, tensor<1x96xf32>) -> tensor<64x96xf32>
  %a5 = sinter.mul %p5, %sixth : tensor<64x96xf32>
  %b5 = sinter.add %a5, %half : tensor<64x96xf32>
  %d5 = sinter.max %b5, %zero : tensor<64x96xf32>
  %e5 = sinter.min %d5, %one : tensor<64x96xf32>
  %y5 = sinter.mul %p5, %e5 : tensor<64x96xf32>
  %c6 = sinter.constant dense<3.22> : tensor<1x96xf32>
  %w6 = sinter.mul %w, %c6 : tensor<1x96xf32>
  %p6 = sinter.dot_general %x, %w6 batch [] x [] contract [1] x [0] : (tensor<64x1xf32>, tensor<1x96xf32>) -> tensor<64x96xf32>
  %y6 = sinter.relu %p6 : tensor<64x96xf32>
  %c7 = sinter.constant dense<3.59> : tensor<1x96xf32>
  %w7 = sinter.mul %w, %c7 : tensor<1x96xf32>
  %p7 = sinter.dot_general %x, %w7 batch [] x [] contract [1] x [0] : (tensor<64x1xf32>, tensor<1x96xf32>) -> tensor<64x96xf32>
  %d7 = sinter.max %p7, %low : tensor<64x96xf32>
  %y7 = sinter.min %d7, %half : tensor<64x96xf32>
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7 : tensor<64x96xf32>, tensor<64x96xf32>, tensor<64x96xf32>, tensor<64x96xf32>, tensor<64x96xf32>, tensor<64x96xf32>, tensor<64x96xf32>, tensor<64x96xf32>
}
