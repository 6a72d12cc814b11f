// RUN: sinter-opt %s --split-input-file --sinter-divide-weights | FileCheck %s

// Three replicas update parts of 134 of 400 elements. The whole is read in 16 bits alone: they gather the rounding.
// CHECK: sinter.state @w : tensor<134xf32> {init = dense<1.000000e+00> : tensor<16x25xf32>, onnx = "w", part_of = tensor<16x25xf32>, role = #sinter<role param>}
// CHECK: sinter.state @"bf16/w" : tensor<16x25xbf16> {of = @w, role = #sinter<role rounded>}
sinter.state @w : tensor<16x25xf32> {init = dense<1.0> : tensor<16x25xf32>, onnx = "w", role = #sinter<role param>}
sinter.state @b : tensor<4xf32> {role = #sinter<role param>}
sinter.state @"bf16/w" : tensor<16x25xbf16> {of = @w, role = #sinter<role rounded>}
sinter.state @"bf16/b" : tensor<4xbf16> {of = @b, role = #sinter<role rounded>}
// CHECK: func.func @step(%[[W:[a-z0-9]+]]: tensor<134xf32> {sinter.state = @w}, %[[R:[a-z0-9]+]]: tensor<16x25xbf16> {sinter.state = @"bf16/w"}, %{{.*}}: tensor<i64> {sinter.control = "replica"})
// CHECK-SAME: -> (tensor<16x25xbf16> {sinter.output = "y"}, tensor<134xf32> {sinter.state = @w}, tensor<16x25xbf16> {sinter.state = @"bf16/w"})
// CHECK: %[[NEW:.*]] = sinter.neg %[[W]] : tensor<134xf32>
// CHECK-NEXT: %[[NARROW:.*]] = sinter.cast %[[NEW]] : tensor<134xf32> -> tensor<134xbf16>
// CHECK-NEXT: %[[ALL:.*]] = sinter.all_gather %[[NARROW]] over data of 3 : tensor<134xbf16>
// CHECK-NEXT: %[[CUT:.*]] = sinter.slice %[[ALL]] starts [0] limits [400] strides [1] : (tensor<402xbf16>) -> tensor<400xbf16>
// CHECK-NEXT: %[[NEXT:.*]] = sinter.reshape %[[CUT]] : tensor<400xbf16> -> tensor<16x25xbf16>
// CHECK-NEXT: return %[[R]], %[[NEW]], %[[NEXT]]
func.func @step(%w: tensor<16x25xf32> {sinter.state = @w}, %r: tensor<16x25xbf16> {sinter.state = @"bf16/w"}, %n: tensor<i64> {sinter.control = "replica"})
    -> (tensor<16x25xbf16> {sinter.output = "y"}, tensor<16x25xf32> {sinter.state = @w}, tensor<16x25xbf16> {sinter.state = @"bf16/w"}) {
  %zero = sinter.constant dense<0.0> : tensor<f32>
  %flat = sinter.reshape %w : tensor<16x25xf32> -> tensor<400xf32>
  %padded = sinter.pad %flat, %zero low [0] high [2] interior [0] : (tensor<400xf32>, tensor<f32>) -> tensor<402xf32>
  %parts = sinter.reshape %padded : tensor<402xf32> -> tensor<3x134xf32>
  %part = sinter.gather %parts, %n axis 0 : (tensor<3x134xf32>, tensor<i64>) -> tensor<134xf32>
  %new = sinter.neg %part : tensor<134xf32>
  %all = sinter.all_gather %new over data of 3 : tensor<134xf32>
  %cut = sinter.slice %all starts [0] limits [400] strides [1] : (tensor<402xf32>) -> tensor<400xf32>
  %whole = sinter.reshape %cut : tensor<400xf32> -> tensor<16x25xf32>
  %next = sinter.cast %whole : tensor<16x25xf32> -> tensor<16x25xbf16>
  return %r, %whole, %next : tensor<16x25xbf16>, tensor<16x25xf32>, tensor<16x25xbf16>
}
// No replica can round the whole; the other weight is rounded as before.
// CHECK: func.func @refresh(%[[B:.*]]: tensor<4xf32> {sinter.state = @b}) -> (tensor<4xbf16> {sinter.state = @"bf16/b"})
func.func @refresh(%w: tensor<16x25xf32> {sinter.state = @w}, %b: tensor<4xf32> {sinter.state = @b})
    -> (tensor<16x25xbf16> {sinter.state = @"bf16/w"}, tensor<4xbf16> {sinter.state = @"bf16/b"}) {
  %r = sinter.cast %w : tensor<16x25xf32> -> tensor<16x25xbf16>
  %s = sinter.cast %b : tensor<4xf32> -> tensor<4xbf16>
  return %r, %s : tensor<16x25xbf16>, tensor<4xbf16>
}

// -----

// A refresh that has nothing to compute is removed.
// CHECK: sinter.state @w : tensor<4xf32> {part_of = tensor<2x4xf32>
sinter.state @w : tensor<2x4xf32> {role = #sinter<role param>}
sinter.state @"fp16/w" : tensor<2x4xf16> {of = @w, role = #sinter<role rounded>}
func.func @step(%w: tensor<2x4xf32> {sinter.state = @w}, %n: tensor<i64> {sinter.control = "replica"})
    -> (tensor<2x4xf32> {sinter.state = @w}, tensor<2x4xf16> {sinter.state = @"fp16/w"}) {
  %part = sinter.gather %w, %n axis 0 : (tensor<2x4xf32>, tensor<i64>) -> tensor<4xf32>
  %new = sinter.neg %part : tensor<4xf32>
  %all = sinter.all_gather %new over data of 2 : tensor<4xf32>
  %whole = sinter.reshape %all : tensor<8xf32> -> tensor<2x4xf32>
  %next = sinter.cast %whole : tensor<2x4xf32> -> tensor<2x4xf16>
  return %whole, %next : tensor<2x4xf32>, tensor<2x4xf16>
}
// CHECK-NOT: @refresh
func.func @refresh(%w: tensor<2x4xf32> {sinter.state = @w}) -> (tensor<2x4xf16> {sinter.state = @"fp16/w"}) {
  %r = sinter.cast %w : tensor<2x4xf32> -> tensor<2x4xf16>
  return %r : tensor<2x4xf16>
}

// -----

// The evaluation reads the weight in float32: all keep the whole.
// CHECK: sinter.state @w : tensor<2x4xf32> {role
sinter.state @w : tensor<2x4xf32> {role = #sinter<role param>}
sinter.state @"fp16/w" : tensor<2x4xf16> {of = @w, role = #sinter<role rounded>}
// CHECK: sinter.all_gather %{{.*}} : tensor<4xf32>
func.func @step(%w: tensor<2x4xf32> {sinter.state = @w}, %n: tensor<i64> {sinter.control = "replica"})
    -> (tensor<2x4xf32> {sinter.state = @w}, tensor<2x4xf16> {sinter.state = @"fp16/w"}) {
  %part = sinter.gather %w, %n axis 0 : (tensor<2x4xf32>, tensor<i64>) -> tensor<4xf32>
  %new = sinter.neg %part : tensor<4xf32>
  %all = sinter.all_gather %new over data of 2 : tensor<4xf32>
  %whole = sinter.reshape %all : tensor<8xf32> -> tensor<2x4xf32>
  %next = sinter.cast %whole : tensor<2x4xf32> -> tensor<2x4xf16>
  return %whole, %next : tensor<2x4xf32>, tensor<2x4xf16>
}
func.func @eval(%w: tensor<2x4xf32> {sinter.state = @w}) -> (tensor<2x4xf32> {sinter.output = "y"}) {
  %y = sinter.neg %w : tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

// So they do if the step gives the whole away, takes another part than its own, or has no update of parts.
// CHECK: sinter.state @given : tensor<2x4xf32> {role
// CHECK: sinter.state @other : tensor<2x4xf32> {role
// CHECK: sinter.state @whole : tensor<2x4xf32> {role
sinter.state @given : tensor<2x4xf32> {role = #sinter<role param>}
sinter.state @other : tensor<2x4xf32> {role = #sinter<role param>}
sinter.state @whole : tensor<2x4xf32> {role = #sinter<role param>}
sinter.state @"fp16/given" : tensor<2x4xf16> {of = @given, role = #sinter<role rounded>}
sinter.state @"fp16/other" : tensor<2x4xf16> {of = @other, role = #sinter<role rounded>}
sinter.state @"fp16/whole" : tensor<2x4xf16> {of = @whole, role = #sinter<role rounded>}
func.func @step(%g: tensor<2x4xf32> {sinter.state = @given}, %o: tensor<2x4xf32> {sinter.state = @other}, %w: tensor<2x4xf32> {sinter.state = @whole},
                %n: tensor<i64> {sinter.control = "replica"}, %lr: tensor<i64> {sinter.control = "step"})
    -> (tensor<2x4xf32> {sinter.output = "y"}, tensor<2x4xf32> {sinter.state = @given}, tensor<2x4xf16> {sinter.state = @"fp16/given"},
        tensor<2x4xf32> {sinter.state = @other}, tensor<2x4xf16> {sinter.state = @"fp16/other"},
        tensor<2x4xf32> {sinter.state = @whole}, tensor<2x4xf16> {sinter.state = @"fp16/whole"}) {
  %gp = sinter.gather %g, %n axis 0 : (tensor<2x4xf32>, tensor<i64>) -> tensor<4xf32>
  %ga = sinter.all_gather %gp over data of 2 : tensor<4xf32>
  %gw = sinter.reshape %ga : tensor<8xf32> -> tensor<2x4xf32>
  %gr = sinter.cast %gw : tensor<2x4xf32> -> tensor<2x4xf16>
  %op = sinter.gather %o, %lr axis 0 : (tensor<2x4xf32>, tensor<i64>) -> tensor<4xf32>
  %oa = sinter.all_gather %op over data of 2 : tensor<4xf32>
  %ow = sinter.reshape %oa : tensor<8xf32> -> tensor<2x4xf32>
  %or = sinter.cast %ow : tensor<2x4xf32> -> tensor<2x4xf16>
  %ww = sinter.neg %w : tensor<2x4xf32>
  %wr = sinter.cast %ww : tensor<2x4xf32> -> tensor<2x4xf16>
  return %gw, %gw, %gr, %ow, %or, %ww, %wr : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf16>, tensor<2x4xf32>, tensor<2x4xf16>, tensor<2x4xf32>, tensor<2x4xf16>
}
