module @attention {
  func.func @main(%packed: tensor<1x50x288xf32> {sinter.input = "x"}, %bias: tensor<50x50xf32> {sinter.input = "bias"})
      -> (tensor<1x50x96xf32> {sinter.output = "plain"}, tensor<1x3x50x32xf32> {sinter.output = "causal"}, tensor<1x3x50x32xf32> {sinter.output = "masked"}) {
    %q0 = sinter.slice %packed starts [0, 0, 0] limits [1, 50, 96] strides [1, 1, 1] : (tensor<1x50x288xf32>) -> tensor<1x50x96xf32>
    %q1 = sinter.reshape %q0 : tensor<1x50x96xf32> -> tensor<1x50x3x32xf32>
    %q = sinter.transpose %q1 perm [0, 2, 1, 3] : (tensor<1x50x3x32xf32>) -> tensor<1x3x50x32xf32>
    %k0 = sinter.slice %packed starts [0, 0, 96] limits [1, 50, 192] strides [1, 1, 1] : (tensor<1x50x288xf32>) -> tensor<1x50x96xf32>
    %k1 = sinter.reshape %k0 : tensor<1x50x96xf32> -> tensor<1x50x3x32xf32>
    %k = sinter.transpose %k1 perm [0, 2, 1, 3] : (tensor<1x50x3x32xf32>) -> tensor<1x3x50x32xf32>
    %v0 = sinter.slice %packed starts [0, 0, 192] limits [1, 50, 288] strides [1, 1, 1] : (tensor<1x50x288xf32>) -> tensor<1x50x96xf32>
    %v1 = sinter.reshape %v0 : tensor<1x50x96xf32> -> tensor<1x50x3x32xf32>
    %v = sinter.transpose %v1 perm [0, 2, 1, 3] : (tensor<1x50x3x32xf32>) -> tensor<1x3x50x32xf32>
    %o, %s0 = sinter.attention %q, %k, %v {scale = 0.2 : f64}
      : (tensor<1x3x50x32xf32>, tensor<1x3x50x32xf32>, tensor<1x3x50x32xf32>) -> (tensor<1x3x50x32xf32>, tensor<1x3x50xf32>)
    %o1 = sinter.transpose %o perm [0, 2, 1, 3] : (tensor<1x3x50x32xf32>) -> tensor<1x50x3x32xf32>
    %plain = sinter.reshape %o1 : tensor<1x50x3x32xf32> -> tensor<1x50x96xf32>
    %causal, %s1 = sinter.attention %v, %k, %q {scale = 0.2 : f64, causal}
      : (tensor<1x3x50x32xf32>, tensor<1x3x50x32xf32>, tensor<1x3x50x32xf32>) -> (tensor<1x3x50x32xf32>, tensor<1x3x50xf32>)
    %mask = sinter.broadcast %bias dims [2, 3] : tensor<50x50xf32> -> tensor<1x3x50x50xf32>
    %masked, %s2 = sinter.attention %k, %q, %v, %mask {scale = 0.2 : f64}
      : (tensor<1x3x50x32xf32>, tensor<1x3x50x32xf32>, tensor<1x3x50x32xf32>, tensor<1x3x50x50xf32>) -> (tensor<1x3x50x32xf32>, tensor<1x3x50xf32>) loc("masked")
    return %plain, %causal, %masked : tensor<1x50x96xf32>, tensor<1x3x50x32xf32>, tensor<1x3x50x32xf32>
  }
}
