// Patterns of values that stand for 8-bit codes. test/ops/QuantizedRewritesTest.cpp compares what the
// functions give for all codes before and after.
// RUN: sinter-opt %s --sinter-simplify-algebra --split-input-file | FileCheck %s

// Codes that are dequantised and quantised with one scale and one zero point stay.
// CHECK-LABEL: @same_codes
// CHECK-NEXT: return %{{.*}} : tensor<512xui8>
func.func @same_codes(%x: tensor<512xui8>) -> tensor<512xui8> {
  %di = sinter.cast %x : tensor<512xui8> -> tensor<512xi32>
  %dz = sinter.constant dense<7> : tensor<512xi32>
  %ds = sinter.constant dense<0.1> : tensor<512xf32>
  %db = sinter.sub %di, %dz : tensor<512xi32>
  %df = sinter.cast %db : tensor<512xi32> -> tensor<512xf32>
  %d = sinter.mul %df, %ds : tensor<512xf32>
  %ys = sinter.constant dense<0.1> : tensor<512xf32>
  %yz = sinter.constant dense<7.0> : tensor<512xf32>
  %yh = sinter.constant dense<255.0> : tensor<512xf32>
  %yd = sinter.div %d, %ys : tensor<512xf32>
  %yr = sinter.round %yd : tensor<512xf32>
  %ya = sinter.add %yr, %yz : tensor<512xf32>
  %yl = sinter.relu %ya : tensor<512xf32>
  %ym = sinter.min %yl, %yh : tensor<512xf32>
  %y = sinter.cast %ym : tensor<512xf32> -> tensor<512xui8>
  return %y : tensor<512xui8>
}

// -----

// CHECK-LABEL: @other_zero_point
// CHECK: sinter.round
func.func @other_zero_point(%x: tensor<512xui8>) -> tensor<512xui8> {
  %di = sinter.cast %x : tensor<512xui8> -> tensor<512xi32>
  %dz = sinter.constant dense<7> : tensor<512xi32>
  %ds = sinter.constant dense<0.1> : tensor<512xf32>
  %db = sinter.sub %di, %dz : tensor<512xi32>
  %df = sinter.cast %db : tensor<512xi32> -> tensor<512xf32>
  %d = sinter.mul %df, %ds : tensor<512xf32>
  %ys = sinter.constant dense<0.1> : tensor<512xf32>
  %yz = sinter.constant dense<8.0> : tensor<512xf32>
  %yh = sinter.constant dense<255.0> : tensor<512xf32>
  %yd = sinter.div %d, %ys : tensor<512xf32>
  %yr = sinter.round %yd : tensor<512xf32>
  %ya = sinter.add %yr, %yz : tensor<512xf32>
  %yl = sinter.relu %ya : tensor<512xf32>
  %ym = sinter.min %yl, %yh : tensor<512xf32>
  %y = sinter.cast %ym : tensor<512xf32> -> tensor<512xui8>
  return %y : tensor<512xui8>
}

// -----

// CHECK-LABEL: @other_type
// CHECK: sinter.round
func.func @other_type(%x: tensor<512xui8>) -> tensor<512xi8> {
  %di = sinter.cast %x : tensor<512xui8> -> tensor<512xi32>
  %dz = sinter.constant dense<0> : tensor<512xi32>
  %ds = sinter.constant dense<0.1> : tensor<512xf32>
  %db = sinter.sub %di, %dz : tensor<512xi32>
  %df = sinter.cast %db : tensor<512xi32> -> tensor<512xf32>
  %d = sinter.mul %df, %ds : tensor<512xf32>
  %ys = sinter.constant dense<0.1> : tensor<512xf32>
  %yz = sinter.constant dense<0.0> : tensor<512xf32>
  %yh = sinter.constant dense<127.0> : tensor<512xf32>
  %yd = sinter.div %d, %ys : tensor<512xf32>
  %yr = sinter.round %yd : tensor<512xf32>
  %ya = sinter.add %yr, %yz : tensor<512xf32>
  %yn = sinter.constant dense<-128.0> : tensor<512xf32>
  %yl = sinter.max %ya, %yn : tensor<512xf32>
  %ym = sinter.min %yl, %yh : tensor<512xf32>
  %y = sinter.cast %ym : tensor<512xf32> -> tensor<512xi8>
  return %y : tensor<512xi8>
}

// -----

// 1e-39 times a code loses bits.
// CHECK-LABEL: @products_that_are_not_normal
// CHECK: sinter.round
func.func @products_that_are_not_normal(%x: tensor<512xui8>) -> tensor<512xui8> {
  %di = sinter.cast %x : tensor<512xui8> -> tensor<512xi32>
  %dz = sinter.constant dense<7> : tensor<512xi32>
  %ds = sinter.constant dense<1.0e-39> : tensor<512xf32>
  %db = sinter.sub %di, %dz : tensor<512xi32>
  %df = sinter.cast %db : tensor<512xi32> -> tensor<512xf32>
  %d = sinter.mul %df, %ds : tensor<512xf32>
  %ys = sinter.constant dense<1.0e-39> : tensor<512xf32>
  %yz = sinter.constant dense<7.0> : tensor<512xf32>
  %yh = sinter.constant dense<255.0> : tensor<512xf32>
  %yd = sinter.div %d, %ys : tensor<512xf32>
  %yr = sinter.round %yd : tensor<512xf32>
  %ya = sinter.add %yr, %yz : tensor<512xf32>
  %yl = sinter.relu %ya : tensor<512xf32>
  %ym = sinter.min %yl, %yh : tensor<512xf32>
  %y = sinter.cast %ym : tensor<512xf32> -> tensor<512xui8>
  return %y : tensor<512xui8>
}

// -----

// Half of the values have half of the scale.
// CHECK-LABEL: @power_of_two
// CHECK-NEXT: return
func.func @power_of_two(%x: tensor<512xui8>) -> tensor<512xui8> {
  %di = sinter.cast %x : tensor<512xui8> -> tensor<512xi32>
  %dz = sinter.constant dense<7> : tensor<512xi32>
  %ds = sinter.constant dense<0.1> : tensor<512xf32>
  %db = sinter.sub %di, %dz : tensor<512xi32>
  %df = sinter.cast %db : tensor<512xi32> -> tensor<512xf32>
  %d = sinter.mul %df, %ds : tensor<512xf32>
  %c = sinter.constant dense<0.5> : tensor<512xf32>
  %e = sinter.mul %d, %c : tensor<512xf32>
  %ys = sinter.constant dense<0.05> : tensor<512xf32>
  %yz = sinter.constant dense<7.0> : tensor<512xf32>
  %yh = sinter.constant dense<255.0> : tensor<512xf32>
  %yd = sinter.div %e, %ys : tensor<512xf32>
  %yr = sinter.round %yd : tensor<512xf32>
  %ya = sinter.add %yr, %yz : tensor<512xf32>
  %yl = sinter.relu %ya : tensor<512xf32>
  %ym = sinter.min %yl, %yh : tensor<512xf32>
  %y = sinter.cast %ym : tensor<512xf32> -> tensor<512xui8>
  return %y : tensor<512xui8>
}

// -----

// CHECK-LABEL: @no_power_of_two
// CHECK-COUNT-2: sinter.mul
// CHECK: sinter.round
func.func @no_power_of_two(%x: tensor<512xui8>) -> tensor<512xui8> {
  %di = sinter.cast %x : tensor<512xui8> -> tensor<512xi32>
  %dz = sinter.constant dense<7> : tensor<512xi32>
  %ds = sinter.constant dense<0.1> : tensor<512xf32>
  %db = sinter.sub %di, %dz : tensor<512xi32>
  %df = sinter.cast %db : tensor<512xi32> -> tensor<512xf32>
  %d = sinter.mul %df, %ds : tensor<512xf32>
  %c = sinter.constant dense<0.3> : tensor<512xf32>
  %e = sinter.mul %d, %c : tensor<512xf32>
  %ys = sinter.constant dense<0.05> : tensor<512xf32>
  %yz = sinter.constant dense<7.0> : tensor<512xf32>
  %yh = sinter.constant dense<255.0> : tensor<512xf32>
  %yd = sinter.div %e, %ys : tensor<512xf32>
  %yr = sinter.round %yd : tensor<512xf32>
  %ya = sinter.add %yr, %yz : tensor<512xf32>
  %yl = sinter.relu %ya : tensor<512xf32>
  %ym = sinter.min %yl, %yh : tensor<512xf32>
  %y = sinter.cast %ym : tensor<512xf32> -> tensor<512xui8>
  return %y : tensor<512xui8>
}

// -----

// CHECK-LABEL: @table
// CHECK-NEXT: %[[T:.*]] = sinter.constant dense<"0x{{[0-9A-F]+}}"> : tensor<256xui8>
// CHECK-NEXT: %[[I:.*]] = sinter.cast %arg0 : tensor<512xui8> -> tensor<512xi32>
// CHECK-NEXT: %[[Y:.*]] = sinter.gather %[[T]], %[[I]] axis 0
// CHECK-NEXT: return %[[Y]]
func.func @table(%x: tensor<512xui8>) -> tensor<512xui8> {
  %di = sinter.cast %x : tensor<512xui8> -> tensor<512xi32>
  %dz = sinter.constant dense<126> : tensor<512xi32>
  %ds = sinter.constant dense<0.02> : tensor<512xf32>
  %db = sinter.sub %di, %dz : tensor<512xi32>
  %df = sinter.cast %db : tensor<512xi32> -> tensor<512xf32>
  %d = sinter.mul %df, %ds : tensor<512xf32>
  %e = sinter.erf %d : tensor<512xf32>
  %ys = sinter.constant dense<0.00784> : tensor<512xf32>
  %yz = sinter.constant dense<127.0> : tensor<512xf32>
  %yh = sinter.constant dense<255.0> : tensor<512xf32>
  %yd = sinter.div %e, %ys : tensor<512xf32>
  %yr = sinter.round %yd : tensor<512xf32>
  %ya = sinter.add %yr, %yz : tensor<512xf32>
  %yl = sinter.relu %ya : tensor<512xf32>
  %ym = sinter.min %yl, %yh : tensor<512xf32>
  %y = sinter.cast %ym : tensor<512xf32> -> tensor<512xui8>
  return %y : tensor<512xui8>
}

// -----

// CHECK-LABEL: @table_of_signed_codes
// CHECK: %[[H:.*]] = sinter.constant dense<128> : tensor<512xi32>
// CHECK: %[[I:.*]] = sinter.cast %arg0 : tensor<512xi8> -> tensor<512xi32>
// CHECK: %[[J:.*]] = sinter.add %[[I]], %[[H]]
// CHECK: sinter.gather %{{.*}}, %[[J]] axis 0
func.func @table_of_signed_codes(%x: tensor<512xi8>) -> tensor<512xi8> {
  %di = sinter.cast %x : tensor<512xi8> -> tensor<512xi32>
  %dz = sinter.constant dense<-3> : tensor<512xi32>
  %ds = sinter.constant dense<0.02> : tensor<512xf32>
  %db = sinter.sub %di, %dz : tensor<512xi32>
  %df = sinter.cast %db : tensor<512xi32> -> tensor<512xf32>
  %d = sinter.mul %df, %ds : tensor<512xf32>
  %e = sinter.erf %d : tensor<512xf32>
  %ys = sinter.constant dense<0.00784> : tensor<512xf32>
  %yz = sinter.constant dense<0.0> : tensor<512xf32>
  %yh = sinter.constant dense<127.0> : tensor<512xf32>
  %yd = sinter.div %e, %ys : tensor<512xf32>
  %yr = sinter.round %yd : tensor<512xf32>
  %ya = sinter.add %yr, %yz : tensor<512xf32>
  %yn = sinter.constant dense<-128.0> : tensor<512xf32>
  %yl = sinter.max %ya, %yn : tensor<512xf32>
  %ym = sinter.min %yl, %yh : tensor<512xf32>
  %y = sinter.cast %ym : tensor<512xf32> -> tensor<512xi8>
  return %y : tensor<512xi8>
}

// -----

// Values of codes that meet again are one function of the codes; reshapes do not matter.
// CHECK-LABEL: @table_of_steps
// CHECK-NOT: sinter.round
// CHECK: sinter.gather
// CHECK-NOT: sinter.gather
// CHECK: return
func.func @table_of_steps(%x: tensor<512xui8>) -> tensor<2x256xui8> {
  %di = sinter.cast %x : tensor<512xui8> -> tensor<512xi32>
  %dz = sinter.constant dense<126> : tensor<512xi32>
  %ds = sinter.constant dense<0.02> : tensor<512xf32>
  %db = sinter.sub %di, %dz : tensor<512xi32>
  %df = sinter.cast %db : tensor<512xi32> -> tensor<512xf32>
  %d = sinter.mul %df, %ds : tensor<512xf32>
  %w = sinter.reshape %d : tensor<512xf32> -> tensor<2x256xf32>
  %e = sinter.erf %w : tensor<2x256xf32>
  %ps = sinter.constant dense<0.00784> : tensor<2x256xf32>
  %pz = sinter.constant dense<127.0> : tensor<2x256xf32>
  %ph = sinter.constant dense<255.0> : tensor<2x256xf32>
  %pd = sinter.div %e, %ps : tensor<2x256xf32>
  %pr = sinter.round %pd : tensor<2x256xf32>
  %pa = sinter.add %pr, %pz : tensor<2x256xf32>
  %pl = sinter.relu %pa : tensor<2x256xf32>
  %pm = sinter.min %pl, %ph : tensor<2x256xf32>
  %p = sinter.cast %pm : tensor<2x256xf32> -> tensor<2x256xui8>
  %ki = sinter.cast %p : tensor<2x256xui8> -> tensor<2x256xi32>
  %kz = sinter.constant dense<127> : tensor<2x256xi32>
  %ks = sinter.constant dense<0.00784> : tensor<2x256xf32>
  %kb = sinter.sub %ki, %kz : tensor<2x256xi32>
  %kf = sinter.cast %kb : tensor<2x256xi32> -> tensor<2x256xf32>
  %k = sinter.mul %kf, %ks : tensor<2x256xf32>
  %o = sinter.constant dense<1.0> : tensor<2x256xf32>
  %v = sinter.add %k, %o : tensor<2x256xf32>
  %us = sinter.constant dense<0.0079> : tensor<2x256xf32>
  %uz = sinter.constant dense<0.0> : tensor<2x256xf32>
  %uh = sinter.constant dense<255.0> : tensor<2x256xf32>
  %ud = sinter.div %v, %us : tensor<2x256xf32>
  %ur = sinter.round %ud : tensor<2x256xf32>
  %ua = sinter.add %ur, %uz : tensor<2x256xf32>
  %ul = sinter.relu %ua : tensor<2x256xf32>
  %um = sinter.min %ul, %uh : tensor<2x256xf32>
  %u = sinter.cast %um : tensor<2x256xf32> -> tensor<2x256xui8>
  %ti = sinter.cast %u : tensor<2x256xui8> -> tensor<2x256xi32>
  %tz = sinter.constant dense<0> : tensor<2x256xi32>
  %ts = sinter.constant dense<0.0079> : tensor<2x256xf32>
  %tb = sinter.sub %ti, %tz : tensor<2x256xi32>
  %tf = sinter.cast %tb : tensor<2x256xi32> -> tensor<2x256xf32>
  %t = sinter.mul %tf, %ts : tensor<2x256xf32>
  %m = sinter.mul %w, %t : tensor<2x256xf32>
  %ys = sinter.constant dense<0.021> : tensor<2x256xf32>
  %yz = sinter.constant dense<12.0> : tensor<2x256xf32>
  %yh = sinter.constant dense<255.0> : tensor<2x256xf32>
  %yd = sinter.div %m, %ys : tensor<2x256xf32>
  %yr = sinter.round %yd : tensor<2x256xf32>
  %ya = sinter.add %yr, %yz : tensor<2x256xf32>
  %yl = sinter.relu %ya : tensor<2x256xf32>
  %ym = sinter.min %yl, %yh : tensor<2x256xf32>
  %y = sinter.cast %ym : tensor<2x256xf32> -> tensor<2x256xui8>
  return %y : tensor<2x256xui8>
}

// -----

// What one division takes is not worth a table.
// CHECK-LABEL: @cheap_function
// CHECK-NOT: sinter.gather
// CHECK: sinter.round
func.func @cheap_function(%x: tensor<512xui8>) -> tensor<512xui8> {
  %di = sinter.cast %x : tensor<512xui8> -> tensor<512xi32>
  %dz = sinter.constant dense<126> : tensor<512xi32>
  %ds = sinter.constant dense<0.02> : tensor<512xf32>
  %db = sinter.sub %di, %dz : tensor<512xi32>
  %df = sinter.cast %db : tensor<512xi32> -> tensor<512xf32>
  %d = sinter.mul %df, %ds : tensor<512xf32>
  %e = sinter.relu %d : tensor<512xf32>
  %ys = sinter.constant dense<0.01> : tensor<512xf32>
  %yz = sinter.constant dense<0.0> : tensor<512xf32>
  %yh = sinter.constant dense<255.0> : tensor<512xf32>
  %yd = sinter.div %e, %ys : tensor<512xf32>
  %yr = sinter.round %yd : tensor<512xf32>
  %ya = sinter.add %yr, %yz : tensor<512xf32>
  %yl = sinter.relu %ya : tensor<512xf32>
  %ym = sinter.min %yl, %yh : tensor<512xf32>
  %y = sinter.cast %ym : tensor<512xf32> -> tensor<512xui8>
  return %y : tensor<512xui8>
}

// -----

// CHECK-LABEL: @two_codes
// CHECK-NOT: sinter.gather
// CHECK: sinter.erf
func.func @two_codes(%x: tensor<512xui8>) -> tensor<512xui8> {
  %di = sinter.cast %x : tensor<512xui8> -> tensor<512xi32>
  %dz = sinter.constant dense<126> : tensor<512xi32>
  %ds = sinter.constant dense<0.02> : tensor<512xf32>
  %db = sinter.sub %di, %dz : tensor<512xi32>
  %df = sinter.cast %db : tensor<512xi32> -> tensor<512xf32>
  %d = sinter.mul %df, %ds : tensor<512xf32>
  %r = sinter.reverse %x dims [0] : tensor<512xui8>
  %ki = sinter.cast %r : tensor<512xui8> -> tensor<512xi32>
  %kz = sinter.constant dense<126> : tensor<512xi32>
  %ks = sinter.constant dense<0.02> : tensor<512xf32>
  %kb = sinter.sub %ki, %kz : tensor<512xi32>
  %kf = sinter.cast %kb : tensor<512xi32> -> tensor<512xf32>
  %k = sinter.mul %kf, %ks : tensor<512xf32>
  %g = sinter.add %d, %k : tensor<512xf32>
  %e = sinter.erf %g : tensor<512xf32>
  %ys = sinter.constant dense<0.00784> : tensor<512xf32>
  %yz = sinter.constant dense<127.0> : tensor<512xf32>
  %yh = sinter.constant dense<255.0> : tensor<512xf32>
  %yd = sinter.div %e, %ys : tensor<512xf32>
  %yr = sinter.round %yd : tensor<512xf32>
  %ya = sinter.add %yr, %yz : tensor<512xf32>
  %yl = sinter.relu %ya : tensor<512xf32>
  %ym = sinter.min %yl, %yh : tensor<512xf32>
  %y = sinter.cast %ym : tensor<512xf32> -> tensor<512xui8>
  return %y : tensor<512xui8>
}

// -----

// CHECK-LABEL: @few_codes
// CHECK-NOT: sinter.gather
// CHECK: sinter.erf
func.func @few_codes(%x: tensor<256xui8>) -> tensor<256xui8> {
  %di = sinter.cast %x : tensor<256xui8> -> tensor<256xi32>
  %dz = sinter.constant dense<126> : tensor<256xi32>
  %ds = sinter.constant dense<0.02> : tensor<256xf32>
  %db = sinter.sub %di, %dz : tensor<256xi32>
  %df = sinter.cast %db : tensor<256xi32> -> tensor<256xf32>
  %d = sinter.mul %df, %ds : tensor<256xf32>
  %e = sinter.erf %d : tensor<256xf32>
  %ys = sinter.constant dense<0.00784> : tensor<256xf32>
  %yz = sinter.constant dense<127.0> : tensor<256xf32>
  %yh = sinter.constant dense<255.0> : tensor<256xf32>
  %yd = sinter.div %e, %ys : tensor<256xf32>
  %yr = sinter.round %yd : tensor<256xf32>
  %ya = sinter.add %yr, %yz : tensor<256xf32>
  %yl = sinter.relu %ya : tensor<256xf32>
  %ym = sinter.min %yl, %yh : tensor<256xf32>
  %y = sinter.cast %ym : tensor<256xf32> -> tensor<256xui8>
  return %y : tensor<256xui8>
}
