// The loss of a step is the mean of the losses of its parts. Where that is not the loss of the whole batch, a warning says so.
// RUN: sinter-opt %s --split-input-file --sinter-build-training="loss=none optimizer=sgd accumulate=4" --verify-diagnostics > %t
// RUN: sinter-opt %s --split-input-file --sinter-build-training="loss=none optimizer=sgd replicas=4" --verify-diagnostics > %t
// RUN: sinter-opt %s --split-input-file --sinter-build-training="loss=none optimizer=sgd" 2>&1 | FileCheck %s --check-prefix=WHOLE
// WHOLE-NOT: warning

sinter.state @w : tensor<3xf32> {role = #sinter<role param>}
func.func @main(%x: tensor<2x3xf32> {sinter.input = "x"}, %w: tensor<3xf32> {sinter.state = @w}) -> (tensor<f32> {sinter.output = "sum"}) {
  %ww = sinter.broadcast %w dims [1] : tensor<3xf32> -> tensor<2x3xf32>
  %y = sinter.mul %x, %ww : tensor<2x3xf32>
  // expected-warning @+1 {{the loss of a step is the mean of the losses of 4 parts of the batch, which is not the loss of the whole batch: this is a sum over rows}}
  %loss = sinter.reduce sum %y dims [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A constant factor does not make a mean of a sum over rows.
sinter.state @w : tensor<3xf32> {role = #sinter<role param>}
func.func @main(%x: tensor<2x3xf32> {sinter.input = "x"}, %w: tensor<3xf32> {sinter.state = @w}) -> (tensor<f32> {sinter.output = "half_of_sum"}) {
  %half = sinter.constant dense<0.33> : tensor<f32>
  %ww = sinter.broadcast %w dims [1] : tensor<3xf32> -> tensor<2x3xf32>
  %y = sinter.mul %x, %ww : tensor<2x3xf32>
  // expected-warning @+1 {{the loss of a step is the mean of the losses of 4 parts of the batch, which is not the loss of the whole batch: this is a sum over rows}}
  %sum = sinter.reduce sum %y dims [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
  %loss = sinter.mul %sum, %half : tensor<f32>
  return %loss : tensor<f32>
}

// -----

sinter.state @w : tensor<3xf32> {role = #sinter<role param>}
func.func @main(%x: tensor<2x3xf32> {sinter.input = "x"}, %w: tensor<3xf32> {sinter.state = @w}) -> (tensor<f32> {sinter.output = "root_of_mean"}) {
  %n = sinter.constant dense<6.0> : tensor<f32>
  %ww = sinter.broadcast %w dims [1] : tensor<3xf32> -> tensor<2x3xf32>
  %y = sinter.mul %x, %ww : tensor<2x3xf32>
  %z = sinter.mul %y, %y : tensor<2x3xf32>
  // expected-warning @+1 {{the loss of a step is the mean of the losses of 4 parts of the batch, which is not the loss of the whole batch: here rows are mixed, and not only by a mean}}
  %sum = sinter.reduce sum %z dims [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
  %mean = sinter.div %sum, %n : tensor<f32>
  %loss = sinter.sqrt %mean : tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A mean, twice as much of it, and what does not depend on rows.
sinter.state @w : tensor<3xf32> {role = #sinter<role param>}
func.func @main(%x: tensor<2x3xf32> {sinter.input = "x"}, %w: tensor<3xf32> {sinter.state = @w}) -> (tensor<f32> {sinter.output = "mean"}) {
  %n = sinter.constant dense<6.0> : tensor<f32>
  %two = sinter.constant dense<2.0> : tensor<f32>
  %ww = sinter.broadcast %w dims [1] : tensor<3xf32> -> tensor<2x3xf32>
  %y = sinter.mul %x, %ww : tensor<2x3xf32>
  %sum = sinter.reduce sum %y dims [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
  %mean = sinter.div %sum, %n : tensor<f32>
  %twice = sinter.mul %mean, %two : tensor<f32>
  %decay = sinter.reduce sum %w dims [0] : (tensor<3xf32>) -> tensor<f32>
  %loss = sinter.add %twice, %decay : tensor<f32>
  return %loss : tensor<f32>
}
