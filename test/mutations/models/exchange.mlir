// Each state gets a value that is computed from the other.
module {
  sinter.state @p : tensor<8x8xf32> {role = #sinter<role buffer>, init = dense<0.5> : tensor<8x8xf32>}
  sinter.state @q : tensor<8x8xf32> {role = #sinter<role buffer>, init = dense<0.25> : tensor<8x8xf32>}
  func.func @main(%x: tensor<8x8xf32> {sinter.input = "x"}, %p: tensor<8x8xf32> {sinter.state = @p}, %q: tensor<8x8xf32> {sinter.state = @q}) -> (tensor<8x8xf32> {sinter.state = @p}, tensor<8x8xf32> {sinter.state = @q}) {
    %a = sinter.dot_general %x, %q batch [] x [] contract [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("a")
    %b = sinter.dot_general %x, %p batch [] x [] contract [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("b")
    return %a, %b : tensor<8x8xf32>, tensor<8x8xf32>
  }
}
