// Rows and columns of odd sizes, short and long, in float32 and float64.
func.func @main(%x: tensor<37x1000xf32> {sinter.input = "x"},
                %y: tensor<5x7x9x33xf32> {sinter.input = "y"},
                %z: tensor<3x40000xf32> {sinter.input = "z"},
                %w: tensor<2x131xf64> {sinter.input = "w"})
    -> (tensor<37x1000xf32> {sinter.output = "a"}, tensor<33xf32> {sinter.output = "b"},
        tensor<3xf32> {sinter.output = "c"}, tensor<131xf64> {sinter.output = "d"},
        tensor<1000xf32> {sinter.output = "e"}, tensor<2xf64> {sinter.output = "f"},
        tensor<37xf32> {sinter.output = "g"}) {
  %a = sinter.softmax %x {axis = 1 : i64} : tensor<37x1000xf32>
  %b = sinter.reduce sum %y dims [0, 1, 2] : (tensor<5x7x9x33xf32>) -> tensor<33xf32>
  %c = sinter.reduce sum %z dims [1] : (tensor<3x40000xf32>) -> tensor<3xf32>
  %d = sinter.reduce sum %w dims [0] : (tensor<2x131xf64>) -> tensor<131xf64>
  %e = sinter.reduce max %x dims [0] : (tensor<37x1000xf32>) -> tensor<1000xf32>
  %f = sinter.reduce prod %w dims [1] : (tensor<2x131xf64>) -> tensor<2xf64>
  %s = sinter.tanh %x : tensor<37x1000xf32>
  %g = sinter.reduce sum %s dims [1] : (tensor<37x1000xf32>) -> tensor<37xf32>
  return %a, %b, %c, %d, %e, %f, %g : tensor<37x1000xf32>, tensor<33xf32>, tensor<3xf32>, tensor<131xf64>, tensor<1000xf32>, tensor<2xf64>, tensor<37xf32>
}
