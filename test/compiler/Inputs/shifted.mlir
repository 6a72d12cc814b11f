// Two states change places; the third one's next value is also an output, and what it was is read after that.
module @shifted attributes {sinter.model_name = "shifted"} {
  func.func @main(%x: tensor<4xf32> {sinter.input = "x"}, %a: tensor<4xf32> {sinter.input = "a"},
                  %b: tensor<4xf32> {sinter.input = "b"}, %c: tensor<4xf32> {sinter.input = "c"})
      -> (tensor<4xf32> {sinter.output = "y"}, tensor<4xf32> {sinter.output = "new a"},
          tensor<4xf32> {sinter.output = "new b"}, tensor<4xf32> {sinter.output = "new c"},
          tensor<4xf32> {sinter.output = "z"}) {
    %n = sinter.add %x, %c : tensor<4xf32>
    %y = sinter.mul %c, %n : tensor<4xf32>
    return %y, %b, %a, %n, %n : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}
