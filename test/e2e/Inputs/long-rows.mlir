// Rows that are longer than what a block of a GPU holds at a time, of aligned and of odd length.
func.func @main(%x: tensor<3x40004xf32> {sinter.input = "x"}, %u: tensor<3x40001xf32> {sinter.input = "u"})
    -> (tensor<3x40004xf32> {sinter.output = "y"}, tensor<3x40001xf32> {sinter.output = "v"}) {
  %y = sinter.softmax %x {axis = 1 : i64} : tensor<3x40004xf32>
  %v = sinter.softmax %u {axis = 1 : i64} : tensor<3x40001xf32>
  return %y, %v : tensor<3x40004xf32>, tensor<3x40001xf32>
}
