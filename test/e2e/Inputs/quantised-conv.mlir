// Convolutions of values that are quantised to 8 bits: one with a zero point, a
// bias and a relu; one of each channel; one to whose quantised result another
// is added; and one of integers with zero points on both sides.
func.func @main(%arg: tensor<2x24x13x11xf32> {sinter.input = "x"})
    -> (tensor<2x40x7x6xi8> {sinter.output = "codes"}, tensor<2x40x7x6xi8> {sinter.output = "added"}, tensor<2x16x7x6xi32> {sinter.output = "sums"}) {
  %xs = sinter.constant dense<0.02> : tensor<2x24x13x11xf32>
  %xz = sinter.constant dense<100.0> : tensor<2x24x13x11xf32>
  %xl = sinter.constant dense<0.0> : tensor<2x24x13x11xf32>
  %xh = sinter.constant dense<255.0> : tensor<2x24x13x11xf32>
  %x0 = sinter.div %arg, %xs : tensor<2x24x13x11xf32>
  %x1 = sinter.round %x0 : tensor<2x24x13x11xf32>
  %x2 = sinter.add %x1, %xz : tensor<2x24x13x11xf32>
  %x3 = sinter.max %x2, %xl : tensor<2x24x13x11xf32>
  %x4 = sinter.min %x3, %xh : tensor<2x24x13x11xf32>
  %xq = sinter.cast %x4 : tensor<2x24x13x11xf32> -> tensor<2x24x13x11xui8>
  %xi = sinter.cast %xq : tensor<2x24x13x11xui8> -> tensor<2x24x13x11xi32>
  %xy = sinter.constant dense<100> : tensor<2x24x13x11xi32>
  %xc = sinter.sub %xi, %xy : tensor<2x24x13x11xi32>
  %xf = sinter.cast %xc : tensor<2x24x13x11xi32> -> tensor<2x24x13x11xf32>
  %xd = sinter.mul %xf, %xs : tensor<2x24x13x11xf32>
  %vn = sinter.iota {axis = 0 : i64} : tensor<8640xi32>
  %vp = sinter.constant dense<37> : tensor<8640xi32>
  %vm = sinter.mul %vn, %vp : tensor<8640xi32>
  %vb = sinter.cast %vm : tensor<8640xi32> -> tensor<8640xi8>
  %vq = sinter.reshape %vb : tensor<8640xi8> -> tensor<40x24x3x3xi8>
  %vi = sinter.cast %vq : tensor<40x24x3x3xi8> -> tensor<40x24x3x3xi32>
  %vf = sinter.cast %vi : tensor<40x24x3x3xi32> -> tensor<40x24x3x3xf32>
  %vk = sinter.iota {axis = 0 : i64} : tensor<40xf32>
  %vt = sinter.constant dense<0.0001> : tensor<40xf32>
  %vu = sinter.mul %vk, %vt : tensor<40xf32>
  %vv = sinter.broadcast %vu dims [0] : tensor<40xf32> -> tensor<40x24x3x3xf32>
  %vd = sinter.mul %vf, %vv : tensor<40x24x3x3xf32>
  %a = sinter.conv %xd, %vd {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>,
         pads_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x24x13x11xf32>, tensor<40x24x3x3xf32>) -> tensor<2x40x7x6xf32>
  %bias = sinter.iota {axis = 0 : i64} : tensor<40xf32>
  %biases = sinter.broadcast %bias dims [1] : tensor<40xf32> -> tensor<2x40x7x6xf32>
  %ab = sinter.add %a, %biases : tensor<2x40x7x6xf32>
  %ar = sinter.relu %ab : tensor<2x40x7x6xf32>
  %bs = sinter.constant dense<0.3> : tensor<2x40x7x6xf32>
  %bz = sinter.constant dense<-128.0> : tensor<2x40x7x6xf32>
  %bl = sinter.constant dense<-128.0> : tensor<2x40x7x6xf32>
  %bh = sinter.constant dense<127.0> : tensor<2x40x7x6xf32>
  %b0 = sinter.div %ar, %bs : tensor<2x40x7x6xf32>
  %b1 = sinter.round %b0 : tensor<2x40x7x6xf32>
  %b2 = sinter.add %b1, %bz : tensor<2x40x7x6xf32>
  %b3 = sinter.max %b2, %bl : tensor<2x40x7x6xf32>
  %b4 = sinter.min %b3, %bh : tensor<2x40x7x6xf32>
  %bq = sinter.cast %b4 : tensor<2x40x7x6xf32> -> tensor<2x40x7x6xi8>
  %bi = sinter.cast %bq : tensor<2x40x7x6xi8> -> tensor<2x40x7x6xi32>
  %by = sinter.constant dense<-128> : tensor<2x40x7x6xi32>
  %bc = sinter.sub %bi, %by : tensor<2x40x7x6xi32>
  %bf = sinter.cast %bc : tensor<2x40x7x6xi32> -> tensor<2x40x7x6xf32>
  %bd = sinter.mul %bf, %bs : tensor<2x40x7x6xf32>
  %wn = sinter.iota {axis = 0 : i64} : tensor<360xi32>
  %wp = sinter.constant dense<29> : tensor<360xi32>
  %wm = sinter.mul %wn, %wp : tensor<360xi32>
  %wb = sinter.cast %wm : tensor<360xi32> -> tensor<360xi8>
  %wq = sinter.reshape %wb : tensor<360xi8> -> tensor<40x1x3x3xi8>
  %wi = sinter.cast %wq : tensor<40x1x3x3xi8> -> tensor<40x1x3x3xi32>
  %wf = sinter.cast %wi : tensor<40x1x3x3xi32> -> tensor<40x1x3x3xf32>
  %wk = sinter.iota {axis = 0 : i64} : tensor<40xf32>
  %wt = sinter.constant dense<0.0001> : tensor<40xf32>
  %wu = sinter.mul %wk, %wt : tensor<40xf32>
  %wv = sinter.broadcast %wu dims [0] : tensor<40xf32> -> tensor<40x1x3x3xf32>
  %wd = sinter.mul %wf, %wv : tensor<40x1x3x3xf32>
  %c = sinter.conv %bd, %wd {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>,
         pads_high = array<i64: 1, 1>, groups = 40 : i64} : (tensor<2x40x7x6xf32>, tensor<40x1x3x3xf32>) -> tensor<2x40x7x6xf32>
  %gs = sinter.constant dense<0.11> : tensor<2x40x7x6xf32>
  %gz = sinter.constant dense<7.0> : tensor<2x40x7x6xf32>
  %gl = sinter.constant dense<-128.0> : tensor<2x40x7x6xf32>
  %gh = sinter.constant dense<127.0> : tensor<2x40x7x6xf32>
  %g0 = sinter.div %c, %gs : tensor<2x40x7x6xf32>
  %g1 = sinter.round %g0 : tensor<2x40x7x6xf32>
  %g2 = sinter.add %g1, %gz : tensor<2x40x7x6xf32>
  %g3 = sinter.max %g2, %gl : tensor<2x40x7x6xf32>
  %g4 = sinter.min %g3, %gh : tensor<2x40x7x6xf32>
  %gq = sinter.cast %g4 : tensor<2x40x7x6xf32> -> tensor<2x40x7x6xi8>
  %gi = sinter.cast %gq : tensor<2x40x7x6xi8> -> tensor<2x40x7x6xi32>
  %gy = sinter.constant dense<7> : tensor<2x40x7x6xi32>
  %gc = sinter.sub %gi, %gy : tensor<2x40x7x6xi32>
  %gf = sinter.cast %gc : tensor<2x40x7x6xi32> -> tensor<2x40x7x6xf32>
  %gd = sinter.mul %gf, %gs : tensor<2x40x7x6xf32>
  %en = sinter.iota {axis = 0 : i64} : tensor<14400xi32>
  %ep = sinter.constant dense<43> : tensor<14400xi32>
  %em = sinter.mul %en, %ep : tensor<14400xi32>
  %eb = sinter.cast %em : tensor<14400xi32> -> tensor<14400xi8>
  %eq = sinter.reshape %eb : tensor<14400xi8> -> tensor<40x40x3x3xi8>
  %ei = sinter.cast %eq : tensor<40x40x3x3xi8> -> tensor<40x40x3x3xi32>
  %ef = sinter.cast %ei : tensor<40x40x3x3xi32> -> tensor<40x40x3x3xf32>
  %ek = sinter.iota {axis = 0 : i64} : tensor<40xf32>
  %et = sinter.constant dense<0.0001> : tensor<40xf32>
  %eu = sinter.mul %ek, %et : tensor<40xf32>
  %ev = sinter.broadcast %eu dims [0] : tensor<40xf32> -> tensor<40x40x3x3xf32>
  %ed = sinter.mul %ef, %ev : tensor<40x40x3x3xf32>
  %r = sinter.conv %gd, %ed {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>,
         pads_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x40x7x6xf32>, tensor<40x40x3x3xf32>) -> tensor<2x40x7x6xf32>
  %ss = sinter.constant dense<0.2> : tensor<2x40x7x6xf32>
  %sz = sinter.constant dense<-5.0> : tensor<2x40x7x6xf32>
  %s0 = sinter.div %r, %ss : tensor<2x40x7x6xf32>
  %s1 = sinter.round %s0 : tensor<2x40x7x6xf32>
  %s2 = sinter.add %s1, %sz : tensor<2x40x7x6xf32>
  %s3 = sinter.max %s2, %gl : tensor<2x40x7x6xf32>
  %s4 = sinter.min %s3, %gh : tensor<2x40x7x6xf32>
  %sq = sinter.cast %s4 : tensor<2x40x7x6xf32> -> tensor<2x40x7x6xi8>
  %si = sinter.cast %sq : tensor<2x40x7x6xi8> -> tensor<2x40x7x6xi32>
  %sy = sinter.constant dense<-5> : tensor<2x40x7x6xi32>
  %sc = sinter.sub %si, %sy : tensor<2x40x7x6xi32>
  %sf = sinter.cast %sc : tensor<2x40x7x6xi32> -> tensor<2x40x7x6xf32>
  %sd = sinter.mul %sf, %ss : tensor<2x40x7x6xf32>
  %sum = sinter.add %sd, %bd : tensor<2x40x7x6xf32>
  %tr = sinter.relu %sum : tensor<2x40x7x6xf32>
  %ts = sinter.constant dense<0.45> : tensor<2x40x7x6xf32>
  %tz = sinter.constant dense<-20.0> : tensor<2x40x7x6xf32>
  %t0 = sinter.div %tr, %ts : tensor<2x40x7x6xf32>
  %t1 = sinter.round %t0 : tensor<2x40x7x6xf32>
  %t2 = sinter.add %t1, %tz : tensor<2x40x7x6xf32>
  %t3 = sinter.max %t2, %gl : tensor<2x40x7x6xf32>
  %t4 = sinter.min %t3, %gh : tensor<2x40x7x6xf32>
  %tq = sinter.cast %t4 : tensor<2x40x7x6xf32> -> tensor<2x40x7x6xi8>
  %un = sinter.iota {axis = 0 : i64} : tensor<640xi32>
  %up = sinter.constant dense<53> : tensor<640xi32>
  %um = sinter.mul %un, %up : tensor<640xi32>
  %ub = sinter.cast %um : tensor<640xi32> -> tensor<640xi8>
  %uq = sinter.reshape %ub : tensor<640xi8> -> tensor<16x40x1x1xi8>
  %ui = sinter.cast %uq : tensor<16x40x1x1xi8> -> tensor<16x40x1x1xi32>
  %uz = sinter.iota {axis = 0 : i64} : tensor<16xi32>
  %uy = sinter.broadcast %uz dims [0] : tensor<16xi32> -> tensor<16x40x1x1xi32>
  %uc = sinter.sub %ui, %uy : tensor<16x40x1x1xi32>
  %uf = sinter.cast %uc : tensor<16x40x1x1xi32> -> tensor<16x40x1x1xf32>
  %uk = sinter.iota {axis = 0 : i64} : tensor<16xf32>
  %ut = sinter.constant dense<0.0001> : tensor<16xf32>
  %uu = sinter.mul %uk, %ut : tensor<16xf32>
  %uv = sinter.broadcast %uu dims [0] : tensor<16xf32> -> tensor<16x40x1x1xf32>
  %ud = sinter.mul %uf, %uv : tensor<16x40x1x1xf32>
  %sums = sinter.conv %gc, %uc {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>,
         pads_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x40x7x6xi32>, tensor<16x40x1x1xi32>) -> tensor<2x16x7x6xi32>
  return %gq, %tq, %sums : tensor<2x40x7x6xi8>, tensor<2x40x7x6xi8>, tensor<2x16x7x6xi32>
}
