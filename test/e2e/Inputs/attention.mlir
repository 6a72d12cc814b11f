module @attention {
  func.func @main(%packed: tensor<2x16x384xf16> {sinter.input = "x"}, %g: tensor<2x16x128xf16> {sinter.input = "dy"})
      -> (tensor<2x16x128xf16> {sinter.output = "y"}, tensor<2x16x384xf16> {sinter.output = "dx"}) {
    %q0 = sinter.slice %packed starts [0, 0, 0] limits [2, 16, 128] strides [1, 1, 1] : (tensor<2x16x384xf16>) -> tensor<2x16x128xf16>
    %k0 = sinter.slice %packed starts [0, 0, 128] limits [2, 16, 256] strides [1, 1, 1] : (tensor<2x16x384xf16>) -> tensor<2x16x128xf16>
    %v0 = sinter.slice %packed starts [0, 0, 256] limits [2, 16, 384] strides [1, 1, 1] : (tensor<2x16x384xf16>) -> tensor<2x16x128xf16>
    %q1 = sinter.reshape %q0 : tensor<2x16x128xf16> -> tensor<2x16x2x64xf16>
    %k1 = sinter.reshape %k0 : tensor<2x16x128xf16> -> tensor<2x16x2x64xf16>
    %v1 = sinter.reshape %v0 : tensor<2x16x128xf16> -> tensor<2x16x2x64xf16>
    %q = sinter.transpose %q1 perm [0, 2, 1, 3] : (tensor<2x16x2x64xf16>) -> tensor<2x2x16x64xf16>
    %k = sinter.transpose %k1 perm [0, 2, 1, 3] : (tensor<2x16x2x64xf16>) -> tensor<2x2x16x64xf16>
    %v = sinter.transpose %v1 perm [0, 2, 1, 3] : (tensor<2x16x2x64xf16>) -> tensor<2x2x16x64xf16>
    %o, %stats = sinter.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : (tensor<2x2x16x64xf16>, tensor<2x2x16x64xf16>, tensor<2x2x16x64xf16>) -> (tensor<2x2x16x64xf16>, tensor<2x2x16xf32>)
    %o1 = sinter.transpose %o perm [0, 2, 1, 3] : (tensor<2x2x16x64xf16>) -> tensor<2x16x2x64xf16>
    %o2 = sinter.reshape %o1 : tensor<2x16x2x64xf16> -> tensor<2x16x128xf16>
    %g1 = sinter.reshape %g : tensor<2x16x128xf16> -> tensor<2x16x2x64xf16>
    %g2 = sinter.transpose %g1 perm [0, 2, 1, 3] : (tensor<2x16x2x64xf16>) -> tensor<2x2x16x64xf16>
    %dq, %dk, %dv = sinter.attention_grad %q, %k, %v, %o, %stats, %g2 {scale = 0.125 : f64, causal}
      : (tensor<2x2x16x64xf16>, tensor<2x2x16x64xf16>, tensor<2x2x16x64xf16>, tensor<2x2x16x64xf16>, tensor<2x2x16xf32>, tensor<2x2x16x64xf16>)
      -> (tensor<2x2x16x64xf16>, tensor<2x2x16x64xf16>, tensor<2x2x16x64xf16>)
    %dq1 = sinter.transpose %dq perm [0, 2, 1, 3] : (tensor<2x2x16x64xf16>) -> tensor<2x16x2x64xf16>
    %dk1 = sinter.transpose %dk perm [0, 2, 1, 3] : (tensor<2x2x16x64xf16>) -> tensor<2x16x2x64xf16>
    %dv1 = sinter.transpose %dv perm [0, 2, 1, 3] : (tensor<2x2x16x64xf16>) -> tensor<2x16x2x64xf16>
    %dq2 = sinter.reshape %dq1 : tensor<2x16x2x64xf16> -> tensor<2x16x128xf16>
    %dk2 = sinter.reshape %dk1 : tensor<2x16x2x64xf16> -> tensor<2x16x128xf16>
    %dv2 = sinter.reshape %dv1 : tensor<2x16x2x64xf16> -> tensor<2x16x128xf16>
    %dpacked = sinter.concat %dq2, %dk2, %dv2 axis 2
      : (tensor<2x16x128xf16>, tensor<2x16x128xf16>, tensor<2x16x128xf16>) -> tensor<2x16x384xf16>
    return %o2, %dpacked : tensor<2x16x128xf16>, tensor<2x16x384xf16>
  }
}
