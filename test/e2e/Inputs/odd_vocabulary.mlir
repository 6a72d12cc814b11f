// A small language model's head, whose vocabulary of 1001 is padded to 1008 for tensor cores.
sinter.state @s : tensor<768xf32> {role = #sinter<role param>, init = dense<0.5> : tensor<768xf32>, trainable}
sinter.state @w : tensor<1001x768xf32> {role = #sinter<role param>, init = dense<0.0> : tensor<1001x768xf32>, trainable}
func.func @main(%x: tensor<4x384x768xf32> {sinter.input = "x"}, %s: tensor<768xf32> {sinter.state = @s},
                %w: tensor<1001x768xf32> {sinter.state = @w}) -> (tensor<4x384x1001xf32> {sinter.output = "y"}) {
  %r = sinter.broadcast %s dims [2] : tensor<768xf32> -> tensor<4x384x768xf32>
  %m = sinter.mul %x, %r : tensor<4x384x768xf32>
  %t = sinter.tanh %m : tensor<4x384x768xf32>
  %y = sinter.dot_general %t, %w batch [] x [] contract [2] x [1]
     : (tensor<4x384x768xf32>, tensor<1001x768xf32>) -> tensor<4x384x1001xf32>
  return %y : tensor<4x384x1001xf32>
}
