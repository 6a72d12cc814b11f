// RUN: sinter-opt %s --sinter-expand-math | FileCheck %s

// CHECK-LABEL: @exp_f32
// CHECK-NOT: math.exp
// CHECK: math.fma
func.func @exp_f32(%x: vector<8xf32>) -> vector<8xf32> {
  %y = math.exp %x : vector<8xf32>
  return %y : vector<8xf32>
}

// Without a good float32 polynomial: through float64.
// CHECK-LABEL: @pow_f32
// CHECK: arith.extf
// CHECK-NOT: math.powf
// CHECK: arith.truncf
func.func @pow_f32(%x: f32, %y: f32) -> f32 {
  %z = math.powf %x, %y : f32
  return %z : f32
}

// CHECK-LABEL: @erf_f64
// CHECK-NOT: math.erf
// CHECK-NOT: arith.truncf
func.func @erf_f64(%x: f64) -> f64 {
  %y = math.erf %x : f64
  return %y : f64
}

// Must not fire: every target has an instruction.
// CHECK-LABEL: @sqrt
// CHECK: math.sqrt
func.func @sqrt(%x: vector<8xf32>) -> vector<8xf32> {
  %y = math.sqrt %x : vector<8xf32>
  return %y : vector<8xf32>
}

// Exact long division: a loop over the bits of the quotient.
// CHECK-LABEL: @rem_f32
// CHECK-NOT: arith.remf
// CHECK: vector.reduction <maxsi>
// CHECK: scf.for
// CHECK-NOT: arith.remf
// CHECK: return
func.func @rem_f32(%x: vector<8xf32>, %y: vector<8xf32>) -> vector<8xf32> {
  %z = arith.remf %x, %y : vector<8xf32>
  return %z : vector<8xf32>
}

// CHECK-LABEL: @rem_f64_scalar
// CHECK-NOT: vector.reduction
// CHECK: scf.for
func.func @rem_f64_scalar(%x: f64, %y: f64) -> f64 {
  %z = arith.remf %x, %y : f64
  return %z : f64
}

// MLIR's polynomial takes subnormal numbers for the smallest normal one.
// CHECK-LABEL: @log_f32
// CHECK: arith.cmpf olt
// CHECK: arith.mulf
// CHECK-NOT: math.log
func.func @log_f32(%x: vector<8xf32>) -> vector<8xf32> {
  %y = math.log %x : vector<8xf32>
  return %y : vector<8xf32>
}

// The sign of zero is kept.
// CHECK-LABEL: @erf_f32
// CHECK-NOT: math.erf
// CHECK: math.copysign
func.func @erf_f32(%x: f32) -> f32 {
  %y = math.erf %x : f32
  return %y : f32
}
