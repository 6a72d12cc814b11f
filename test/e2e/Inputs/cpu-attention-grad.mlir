module @attention_grad {
  func.func @main(%q: tensor<2x300x3x32xf32> {sinter.input = "q"}, %k: tensor<2x3x290x32xf32> {sinter.input = "k"}, %v: tensor<2x3x290x32xf32> {sinter.input = "v"}, %g: tensor<2x3x300x32xf32> {sinter.input = "g"}, %mask: tensor<2x290xf32> {sinter.input = "mask"})
      -> (tensor<2x3x300x32xf32> {sinter.output = "o"}, tensor<2x300x3x32xf32> {sinter.output = "dq"}, tensor<2x3x290x32xf32> {sinter.output = "dk"}, tensor<2x3x290x32xf32> {sinter.output = "dv"}, tensor<2x3x300x32xf32> {sinter.output = "causal_dq"}, tensor<2x3x290x32xf32> {sinter.output = "causal_dk"}, tensor<2x3x290x32xf32> {sinter.output = "causal_dv"}) {
    %heads = sinter.transpose %q perm [0, 2, 1, 3] : (tensor<2x300x3x32xf32>) -> tensor<2x3x300x32xf32>
    %masks = sinter.broadcast %mask dims [0, 3] : tensor<2x290xf32> -> tensor<2x3x300x290xf32>
    %o, %s = sinter.attention %heads, %k, %v, %masks {scale = 0.2 : f64}
      : (tensor<2x3x300x32xf32>, tensor<2x3x290x32xf32>, tensor<2x3x290x32xf32>, tensor<2x3x300x290xf32>) -> (tensor<2x3x300x32xf32>, tensor<2x3x300xf32>)
    %dh, %dk, %dv, %dm = sinter.attention_grad %heads, %k, %v, %o, %s, %g, %masks {scale = 0.2 : f64}
      : (tensor<2x3x300x32xf32>, tensor<2x3x290x32xf32>, tensor<2x3x290x32xf32>, tensor<2x3x300x32xf32>, tensor<2x3x300xf32>, tensor<2x3x300x32xf32>, tensor<2x3x300x290xf32>) -> (tensor<2x3x300x32xf32>, tensor<2x3x290x32xf32>, tensor<2x3x290x32xf32>, tensor<2x3x300x290xf32>)
    %dq = sinter.transpose %dh perm [0, 2, 1, 3] : (tensor<2x3x300x32xf32>) -> tensor<2x300x3x32xf32>
    %co, %cs = sinter.attention %heads, %k, %v {scale = 0.2 : f64, causal}
      : (tensor<2x3x300x32xf32>, tensor<2x3x290x32xf32>, tensor<2x3x290x32xf32>) -> (tensor<2x3x300x32xf32>, tensor<2x3x300xf32>)
    %cq, %ck, %cv = sinter.attention_grad %heads, %k, %v, %co, %cs, %g {scale = 0.2 : f64, causal}
      : (tensor<2x3x300x32xf32>, tensor<2x3x290x32xf32>, tensor<2x3x290x32xf32>, tensor<2x3x300x32xf32>, tensor<2x3x300xf32>, tensor<2x3x300x32xf32>) -> (tensor<2x3x300x32xf32>, tensor<2x3x290x32xf32>, tensor<2x3x290x32xf32>)
    return %o, %dq, %dk, %dv, %cq, %ck, %cv : tensor<2x3x300x32xf32>, tensor<2x300x3x32xf32>, tensor<2x3x290x32xf32>, tensor<2x3x290x32xf32>, tensor<2x3x300x32xf32>, tensor<2x3x290x32xf32>, tensor<2x3x290x32xf32>
  }
}
