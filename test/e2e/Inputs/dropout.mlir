module @dropout attributes {sinter.model = "dropout"} {
  sinter.state @w : tensor<12x20xf32> {role = #sinter<role param>, init = dense<0.05> : tensor<12x20xf32>}
  sinter.state @v : tensor<20x5xf32> {role = #sinter<role param>}
  func.func @main(%x: tensor<8x12xf32> {sinter.input = "x"}, %w: tensor<12x20xf32> {sinter.state = @w},
                  %v: tensor<20x5xf32> {sinter.state = @v}, %seed: tensor<i64> {sinter.control = "seed"},
                  %step: tensor<i64> {sinter.control = "step"}) -> (tensor<8x5xf32> {sinter.output = "y"}) {
    %0 = sinter.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<8x12xf32>, tensor<12x20xf32>) -> tensor<8x20xf32>
    %1 = sinter.tanh %0 : tensor<8x20xf32>
    %2 = sinter.dropout %1, %seed, %step {ratio = 0.5 : f64, op_id = 3 : i64}
      : (tensor<8x20xf32>, tensor<i64>, tensor<i64>) -> tensor<8x20xf32>
    %3 = sinter.dot_general %2, %v batch [] x [] contract [1] x [0] : (tensor<8x20xf32>, tensor<20x5xf32>) -> tensor<8x5xf32>
    return %3 : tensor<8x5xf32>
  }
}
