module @attention_mask {
  func.func @main(%x: tensor<2x2x16x64xf32> {sinter.input = "x"}, %count: tensor<2x16xf32> {sinter.input = "mask"}, %g: tensor<2x2x16x64xf32> {sinter.input = "dy"})
      -> (tensor<2x2x16x64xf32> {sinter.output = "y"}, tensor<2x2x16x64xf32> {sinter.output = "dx"}) {
    %one = sinter.constant dense<1.0> : tensor<2x16xf32>
    %lowest = sinter.constant dense<-3.40282347E+38> : tensor<2x16xf32>
    %zero = sinter.constant dense<0.0> : tensor<2x16xf32>
    %isKept = sinter.compare gt %count, %zero : tensor<2x16xf32>
    %kept = sinter.cast %isKept : tensor<2x16xi1> -> tensor<2x16xf32>
    %lost = sinter.sub %one, %kept : tensor<2x16xf32>
    %low = sinter.mul %lost, %lowest : tensor<2x16xf32>
    %low4 = sinter.reshape %low : tensor<2x16xf32> -> tensor<2x1x1x16xf32>
    %mask = sinter.broadcast %low4 dims [0, 1, 2, 3] : tensor<2x1x1x16xf32> -> tensor<2x2x16x16xf32>
    %o, %stats = sinter.attention %x, %x, %x, %mask {scale = 0.125 : f64}
      : (tensor<2x2x16x64xf32>, tensor<2x2x16x64xf32>, tensor<2x2x16x64xf32>, tensor<2x2x16x16xf32>) -> (tensor<2x2x16x64xf32>, tensor<2x2x16xf32>)
    %dq, %dk, %dv, %dm = sinter.attention_grad %x, %x, %x, %o, %stats, %g, %mask {scale = 0.125 : f64}
      : (tensor<2x2x16x64xf32>, tensor<2x2x16x64xf32>, tensor<2x2x16x64xf32>, tensor<2x2x16x64xf32>, tensor<2x2x16xf32>, tensor<2x2x16x64xf32>, tensor<2x2x16x16xf32>)
      -> (tensor<2x2x16x64xf32>, tensor<2x2x16x64xf32>, tensor<2x2x16x64xf32>, tensor<2x2x16x16xf32>)
    %s = sinter.add %dq, %dk : tensor<2x2x16x64xf32>
    %dx = sinter.add %s, %dv : tensor<2x2x16x64xf32>
    return %o, %dx : tensor<2x2x16x64xf32>, tensor<2x2x16x64xf32>
  }
}
