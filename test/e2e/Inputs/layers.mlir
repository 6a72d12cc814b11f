// Two layers with a tanh between them, of four rows.
sinter.state @w1 : tensor<8x3xf32> {role = #sinter<role param>, init = dense<"0xA46AD73EB7C7E83EC381903DCFBDC1BE107CF5BE8C0F0FBE4630A83E9546FD3E3201533EF8448BBE5CFFFFBED85C89BE2220573E7298FD3E4479A63E106813BE251EF6BEB340C0BE6979993DC8B6E93E102FD63E150591BBE7A1D8BEFCD3E7BE"> : tensor<8x3xf32>, trainable}
sinter.state @w2 : tensor<5x8xf32> {role = #sinter<role param>, init = dense<"0x0000003F331155BE3055A7BEB8CDF53EF6FD94BD64CDD6BED006D83ED7048C3D2C29F5BE840AA93E22F0503E6FFDFFBEFE2D593E819CA53E576DF6BE18F49D3DAA8FD53EE73BD9BEEA0883BDB57FF43E74BCAABEE0CA4CBEBBF5FF3E6D465DBE80E0A3BE0308F73E0EE7A6BDA64DD4BEA26CDA3EB714743D56D1F3BEF76AAC3E83A1483EE5E8FFBE6D5A613E3521A23EBC9DF7BEACD6AF3D6107D33EFC98DBBE"> : tensor<5x8xf32>, trainable}
func.func @main(%x: tensor<4x3xf32> {sinter.input = "x"}, %w1: tensor<8x3xf32> {sinter.state = @w1},
                %w2: tensor<5x8xf32> {sinter.state = @w2}) -> (tensor<4x5xf32> {sinter.output = "y"}) {
  %h = sinter.dot_general %x, %w1 batch [] x [] contract [1] x [1] : (tensor<4x3xf32>, tensor<8x3xf32>) -> tensor<4x8xf32>
  %t = sinter.tanh %h : tensor<4x8xf32>
  %y = sinter.dot_general %t, %w2 batch [] x [] contract [1] x [1] : (tensor<4x8xf32>, tensor<5x8xf32>) -> tensor<4x5xf32>
  return %y : tensor<4x5xf32>
}
