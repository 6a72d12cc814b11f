// A row is put into a table; the sum of the table's rows.
module @kept attributes {sinter.model_name = "kept"} {
  func.func @main(%x: tensor<1x4xf32> {sinter.input = "x"}, %i: tensor<1xi64> {sinter.input = "i"},
                  %t: tensor<3x4xf32> {sinter.input = "past.a"}, %n: tensor<i64> {sinter.input = "past.n"})
      -> (tensor<4xf32> {sinter.output = "y"}, tensor<3x4xf32> {sinter.output = "present.a"},
          tensor<i64> {sinter.output = "present.n"}) {
    %new = sinter.scatter set %t, %i, %x axis 0 : (tensor<3x4xf32>, tensor<1xi64>, tensor<1x4xf32>) -> tensor<3x4xf32>
    %y = sinter.reduce sum %new dims [0] : (tensor<3x4xf32>) -> tensor<4xf32>
    %one = sinter.constant dense<1> : tensor<i64>
    %m = sinter.add %n, %one : tensor<i64>
    return %y, %new, %m : tensor<4xf32>, tensor<3x4xf32>, tensor<i64>
  }
}
