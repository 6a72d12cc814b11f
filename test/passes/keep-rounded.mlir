// RUN: sinter-opt %s --split-input-file --phase-options="--target=cuda" --sinter-keep-rounded | FileCheck %s
// RUN: sinter-opt %s --split-input-file --phase-options="--target=cpu" --sinter-keep-rounded | FileCheck %s --check-prefix=CPU
// CPU-NOT: role rounded
// CPU-NOT: @refresh

// The step reads the rounded weight and computes the next one; the evaluation reads it, too. The float32 weight
// is still there for those that read it.
// CHECK: sinter.state @w
// CHECK: sinter.state @m
// CHECK: sinter.state @"bf16/w" : tensor<4x8xbf16> {of = @w, role = #sinter<role rounded>}
sinter.state @w : tensor<4x8xf32> {role = #sinter<role param>, trainable}
sinter.state @m : tensor<4x8xf32> {role = #sinter<role slot>, slot = "m", of = @w}
// CHECK: func.func @step(%[[W:[a-z0-9]+]]: tensor<4x8xf32> {sinter.state = @w}, %[[M:[a-z0-9]+]]: tensor<4x8xf32> {sinter.state = @m}, %[[R:[a-z0-9]+]]: tensor<4x8xbf16> {sinter.state = @"bf16/w"}, %[[LR:[a-z0-9]+]]: tensor<f32>
// CHECK-SAME: -> (tensor<4x8xf32> {sinter.state = @w}, tensor<4x8xf32> {sinter.state = @m}, tensor<4x8xbf16> {sinter.state = @"bf16/w"})
// CHECK: sinter.cast %[[R]] : tensor<4x8xbf16> -> tensor<4x8xf32>
// CHECK: %[[NEW:.*]] = sinter.sub %[[W]]
// CHECK: %[[NEXT:.*]] = sinter.cast %[[NEW]] : tensor<4x8xf32> -> tensor<4x8xbf16>
// CHECK: return %[[NEW]], %{{.*}}, %[[NEXT]]
func.func @step(%w: tensor<4x8xf32> {sinter.state = @w}, %m: tensor<4x8xf32> {sinter.state = @m}, %lr: tensor<f32> {sinter.control = "lr"})
    -> (tensor<4x8xf32> {sinter.state = @w}, tensor<4x8xf32> {sinter.state = @m}) {
  %r = sinter.cast %w : tensor<4x8xf32> -> tensor<4x8xbf16>
  %x = sinter.cast %r : tensor<4x8xbf16> -> tensor<4x8xf32>
  %n = sinter.add %m, %x : tensor<4x8xf32>
  %u = sinter.sub %w, %n : tensor<4x8xf32>
  return %u, %n : tensor<4x8xf32>, tensor<4x8xf32>
}
// CHECK: func.func @eval(%{{.*}}: tensor<4x8xf32> {sinter.state = @w}, %[[R:.*]]: tensor<4x8xbf16> {sinter.state = @"bf16/w"})
// CHECK-NEXT: return %[[R]]
func.func @eval(%w: tensor<4x8xf32> {sinter.state = @w}) -> (tensor<4x8xbf16> {sinter.output = "y"}) {
  %r = sinter.cast %w : tensor<4x8xf32> -> tensor<4x8xbf16>
  return %r : tensor<4x8xbf16>
}
// CHECK: func.func @refresh(%[[W:.*]]: tensor<4x8xf32> {sinter.state = @w}) -> (tensor<4x8xbf16> {sinter.state = @"bf16/w"})
// CHECK-NEXT: %[[R:.*]] = sinter.cast %[[W]]
// CHECK-NEXT: return %[[R]]

// -----

// All readers append rows of zeros: the state has them, and results for it do not.
// CHECK: sinter.state @"fp16/w" : tensor<8x8xf16> {of = @w, role = #sinter<role rounded>}
sinter.state @w : tensor<5x8xf32> {role = #sinter<role param>, trainable}
// CHECK: func.func @step(%{{.*}}: tensor<5x8xf32> {sinter.state = @w}, %[[R:.*]]: tensor<8x8xf16> {sinter.state = @"fp16/w"})
// CHECK-SAME: tensor<5x8xf16> {sinter.state = @"fp16/w"})
// CHECK-NOT: sinter.pad
// CHECK: return %[[R]]
func.func @step(%w: tensor<5x8xf32> {sinter.state = @w}) -> (tensor<8x8xf16> {sinter.output = "y"}, tensor<5x8xf32> {sinter.state = @w}) {
  %zero = sinter.constant dense<0.0> : tensor<f16>
  %r = sinter.cast %w : tensor<5x8xf32> -> tensor<5x8xf16>
  %p = sinter.pad %r, %zero low [0, 0] high [3, 0] interior [0, 0] : (tensor<5x8xf16>, tensor<f16>) -> tensor<8x8xf16>
  %u = sinter.neg %w : tensor<5x8xf32>
  return %p, %u : tensor<8x8xf16>, tensor<5x8xf32>
}
// CHECK: func.func @refresh(%{{.*}}: tensor<5x8xf32> {sinter.state = @w}) -> (tensor<5x8xf16> {sinter.state = @"fp16/w"})

// -----

// Not if they append columns: the rounded weight is kept without them.
// CHECK: sinter.state @"bf16/w" : tensor<4x5xbf16>
// CHECK: func.func @step
// CHECK: sinter.pad %{{.*}} high [0, 3]
sinter.state @w : tensor<4x5xf32> {role = #sinter<role param>, trainable}
func.func @step(%w: tensor<4x5xf32> {sinter.state = @w}) -> (tensor<4x8xbf16> {sinter.output = "y"}) {
  %zero = sinter.constant dense<0.0> : tensor<bf16>
  %r = sinter.cast %w : tensor<4x5xf32> -> tensor<4x5xbf16>
  %p = sinter.pad %r, %zero low [0, 0] high [0, 3] interior [0, 0] : (tensor<4x5xbf16>, tensor<bf16>) -> tensor<4x8xbf16>
  return %p : tensor<4x8xbf16>
}

// -----

// Not where it is only concatenated, not of slots and not of inputs.
// CHECK-NOT: role rounded
// CHECK: func.func @step
// CHECK-NOT: @refresh
sinter.state @a : tensor<4x8xf32> {role = #sinter<role param>, trainable}
sinter.state @e : tensor<4x8xf32> {role = #sinter<role slot>, slot = "ema", of = @a}
func.func @step(%x: tensor<4x8xf32> {sinter.input = "x"}, %a: tensor<4x8xf32> {sinter.state = @a}, %e: tensor<4x8xf32> {sinter.state = @e})
    -> (tensor<4x24xbf16> {sinter.output = "y"}) {
  %ra = sinter.cast %a : tensor<4x8xf32> -> tensor<4x8xbf16>
  %re = sinter.cast %e : tensor<4x8xf32> -> tensor<4x8xbf16>
  %rx = sinter.cast %x : tensor<4x8xf32> -> tensor<4x8xbf16>
  %y = sinter.concat %ra, %re, %rx axis 1 : (tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x24xbf16>
  return %y : tensor<4x24xbf16>
}
