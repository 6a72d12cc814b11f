// Two products of values that are quantised to 8 bits: rows with a zero point
// by columns with scales, rounded to 8 bits again; and one of integers with
// two zero points.
func.func @main(%x: tensor<70x100xf32> {sinter.input = "x"}, %y: tensor<3x100x33xf32> {sinter.input = "y"})
    -> (tensor<70x40xui8> {sinter.output = "codes"}, tensor<3x70x33xi32> {sinter.output = "sums"}) {
  %k = sinter.constant dense<20.0> : tensor<70x100xf32>
  %xs = sinter.mul %x, %k : tensor<70x100xf32>
  %xr = sinter.round %xs : tensor<70x100xf32>
  %low = sinter.constant dense<-100.0> : tensor<70x100xf32>
  %xl = sinter.max %xr, %low : tensor<70x100xf32>
  %high = sinter.constant dense<100.0> : tensor<70x100xf32>
  %xh = sinter.min %xl, %high : tensor<70x100xf32>
  %xq = sinter.cast %xh : tensor<70x100xf32> -> tensor<70x100xi8>
  %xi = sinter.cast %xq : tensor<70x100xi8> -> tensor<70x100xi32>
  %z = sinter.constant dense<7> : tensor<70x100xi32>
  %xc = sinter.sub %xi, %z : tensor<70x100xi32>
  %xf = sinter.cast %xc : tensor<70x100xi32> -> tensor<70x100xf32>
  %s = sinter.constant dense<0.05> : tensor<70x100xf32>
  %xd = sinter.mul %xf, %s : tensor<70x100xf32>
  %n = sinter.iota {axis = 0 : i64} : tensor<4000xi32>
  %p = sinter.constant dense<37> : tensor<4000xi32>
  %np = sinter.mul %n, %p : tensor<4000xi32>
  %w8 = sinter.cast %np : tensor<4000xi32> -> tensor<4000xi8>
  %w = sinter.reshape %w8 : tensor<4000xi8> -> tensor<100x40xi8>
  %wi = sinter.cast %w : tensor<100x40xi8> -> tensor<100x40xi32>
  %wf = sinter.cast %wi : tensor<100x40xi32> -> tensor<100x40xf32>
  %i = sinter.iota {axis = 0 : i64} : tensor<40xf32>
  %t = sinter.constant dense<0.001> : tensor<40xf32>
  %ws = sinter.mul %i, %t : tensor<40xf32>
  %wb = sinter.broadcast %ws dims [1] : tensor<40xf32> -> tensor<100x40xf32>
  %wd = sinter.mul %wf, %wb : tensor<100x40xf32>
  %d = sinter.dot_general %xd, %wd batch [] x [] contract [1] x [0]
     : (tensor<70x100xf32>, tensor<100x40xf32>) -> tensor<70x40xf32>
  %r = sinter.relu %d : tensor<70x40xf32>
  %rr = sinter.round %r : tensor<70x40xf32>
  %top = sinter.constant dense<255.0> : tensor<70x40xf32>
  %rt = sinter.min %rr, %top : tensor<70x40xf32>
  %codes = sinter.cast %rt : tensor<70x40xf32> -> tensor<70x40xui8>

  %h = sinter.constant dense<50.0> : tensor<3x100x33xf32>
  %yh = sinter.mul %y, %h : tensor<3x100x33xf32>
  %ya = sinter.abs %yh : tensor<3x100x33xf32>
  %cap = sinter.constant dense<255.0> : tensor<3x100x33xf32>
  %yc = sinter.min %ya, %cap : tensor<3x100x33xf32>
  %yq = sinter.cast %yc : tensor<3x100x33xf32> -> tensor<3x100x33xui8>
  %yi = sinter.cast %yq : tensor<3x100x33xui8> -> tensor<3x100x33xi32>
  %yz = sinter.constant dense<120> : tensor<3x100x33xi32>
  %yd = sinter.sub %yi, %yz : tensor<3x100x33xi32>
  %sums = sinter.dot_general %xc, %yd batch [] x [] contract [1] x [1]
     : (tensor<70x100xi32>, tensor<3x100x33xi32>) -> tensor<70x3x33xi32>
  %st = sinter.transpose %sums perm [1, 0, 2] : (tensor<70x3x33xi32>) -> tensor<3x70x33xi32>
  return %codes, %st : tensor<70x40xui8>, tensor<3x70x33xi32>
}
