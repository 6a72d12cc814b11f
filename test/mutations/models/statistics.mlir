// Long reductions over several dimensions, and over columns.
module {
  func.func @main(%x: tensor<64x3x40x40xf32> {sinter.input = "x"}, %m: tensor<200x70xf32> {sinter.input = "m"}) -> (tensor<3xf32> {sinter.output = "variance"}, tensor<70xf32> {sinter.output = "sums"}, tensor<200xf32> {sinter.output = "products"}) {
    %sum = sinter.reduce sum %x dims [0, 2, 3] : (tensor<64x3x40x40xf32>) -> tensor<3xf32> loc("sum")
    %count = sinter.constant dense<102400.0> : tensor<3xf32> loc("count")
    %mean = sinter.div %sum, %count : tensor<3xf32> loc("mean")
    %spread = sinter.broadcast %mean dims [1] : tensor<3xf32> -> tensor<64x3x40x40xf32> loc("spread")
    %centred = sinter.sub %x, %spread : tensor<64x3x40x40xf32> loc("centred")
    %squares = sinter.mul %centred, %centred : tensor<64x3x40x40xf32> loc("squares")
    %total = sinter.reduce sum %squares dims [0, 2, 3] : (tensor<64x3x40x40xf32>) -> tensor<3xf32> loc("total")
    %variance = sinter.div %total, %count : tensor<3xf32> loc("variance")
    %exp = sinter.exp %m : tensor<200x70xf32> loc("exp")
    %sums = sinter.reduce sum %exp dims [0] : (tensor<200x70xf32>) -> tensor<70xf32> loc("sums")
    %together = sinter.reduce prod %exp dims [1] : (tensor<200x70xf32>) -> tensor<200xf32> loc("together")
    return %variance, %sums, %together : tensor<3xf32>, tensor<70xf32>, tensor<200xf32>
  }
}
