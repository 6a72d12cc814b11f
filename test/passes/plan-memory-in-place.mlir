// RUN: sinter-opt %s --sinter-plan-memory=own-memory=false --split-input-file | FileCheck %s
// RUN: sinter-opt %s --sinter-plan-memory --split-input-file | FileCheck %s --check-prefix=APART

// On the CPU, a convolution writes its sum onto the tensor that it adds. Elsewhere, libraries do not.
module @residual {
  // CHECK-LABEL: module @residual
  // CHECK: arena 8192 unshared 12288
  // CHECK: exec.launch @k0_exp(%{{.*}}) -> (%[[T:.*]])
  // CHECK: %[[SUM:.*]] = exec.buffer arena[0] 0 + 4096
  // CHECK-NEXT: exec.conv forward(%{{.*}}, %{{.*}}, %[[T]]) -> %[[SUM]] batch
  // APART-LABEL: module @residual
  // APART: arena 12288 unshared 12288
  // APART: %[[SUM:.*]] = exec.buffer arena[0] 8192 + 4096
  // APART-NEXT: exec.conv forward(%{{.*}}) -> %[[SUM]] batch
  func.func @main(%x: tensor<1x8x8x32xbf16> {sinter.input = "x"}) -> (tensor<1x8x8x32xbf16> {sinter.output = "y"}) {
    %w = sinter.constant dense<0.5> : tensor<32x32x1x1xbf16>
    %t = sinter.kernel loop(%x) over <[1, 8, 8, 32] views [(d0, d1, d2, d3) -> (d0, d1, d2, d3)]> : (tensor<1x8x8x32xbf16>) -> tensor<1x8x8x32xbf16> {
    ^bb0(%0: tensor<1x8x8x32xbf16>):
      %1 = sinter.exp %0 : tensor<1x8x8x32xbf16>
      sinter.yield %1 : tensor<1x8x8x32xbf16>
    }
    %a = sinter.kernel loop(%t) over <[1, 8, 8, 32] views [(d0, d1, d2, d3) -> (d0, d1, d2, d3)]> : (tensor<1x8x8x32xbf16>) -> tensor<1x8x8x32xbf16> {
    ^bb0(%0: tensor<1x8x8x32xbf16>):
      %1 = sinter.tanh %0 : tensor<1x8x8x32xbf16>
      sinter.yield %1 : tensor<1x8x8x32xbf16>
    }
    %b = sinter.library_call conv(%a, %w, %t) : (tensor<1x8x8x32xbf16>, tensor<32x32x1x1xbf16>, tensor<1x8x8x32xbf16>) -> tensor<1x8x8x32xbf16> {
    ^bb0(%0: tensor<1x8x8x32xbf16>, %1: tensor<32x32x1x1xbf16>, %2: tensor<1x8x8x32xbf16>):
      %3 = sinter.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last}
        : (tensor<1x8x8x32xbf16>, tensor<32x32x1x1xbf16>) -> tensor<1x8x8x32xbf16>
      %4 = sinter.add %3, %2 : tensor<1x8x8x32xbf16>
      sinter.yield %4 : tensor<1x8x8x32xbf16>
    }
    %c = sinter.kernel loop(%b) over <[1, 8, 8, 32] views [(d0, d1, d2, d3) -> (d0, d1, d2, d3)]> : (tensor<1x8x8x32xbf16>) -> tensor<1x8x8x32xbf16> {
    ^bb0(%0: tensor<1x8x8x32xbf16>):
      %1 = sinter.exp %0 : tensor<1x8x8x32xbf16>
      sinter.yield %1 : tensor<1x8x8x32xbf16>
    }
    return %c : tensor<1x8x8x32xbf16>
  }
}

// -----

// Not if another op still reads the tensor. In float32, pointwise convolutions do it, too.
module @read_later {
  // CHECK-LABEL: module @read_later
  // CHECK: %[[B:.*]] = exec.buffer arena[0] 4096 + 4096 : tensor<1x8x8x32xbf16>
  // CHECK-NEXT: exec.conv forward(%{{.*}}) -> %[[B]] batch
  // CHECK: exec.launch @k2_exp(%{{.*}}) -> (%[[U:.*]])
  // CHECK: %[[D:.*]] = exec.buffer arena[0] 0 + 8192 : tensor<1x8x8x32xf32>
  // CHECK-NEXT: exec.conv forward(%{{.*}}, %{{.*}}, %[[U]]) -> %[[D]] batch
  func.func @main(%x: tensor<1x8x8x32xbf16> {sinter.input = "x"}, %v: tensor<1x8x8x32xf32> {sinter.input = "v"})
      -> (tensor<1x8x8x32xbf16> {sinter.output = "y"}, tensor<1x8x8x32xf32> {sinter.output = "z"}) {
    %w = sinter.constant dense<0.5> : tensor<32x32x1x1xbf16>
    %wide = sinter.constant dense<0.5> : tensor<32x32x1x1xf32>
    %t = sinter.kernel loop(%x) over <[1, 8, 8, 32] views [(d0, d1, d2, d3) -> (d0, d1, d2, d3)]> : (tensor<1x8x8x32xbf16>) -> tensor<1x8x8x32xbf16> {
    ^bb0(%0: tensor<1x8x8x32xbf16>):
      %1 = sinter.exp %0 : tensor<1x8x8x32xbf16>
      sinter.yield %1 : tensor<1x8x8x32xbf16>
    }
    %b = sinter.library_call conv(%x, %w, %t) : (tensor<1x8x8x32xbf16>, tensor<32x32x1x1xbf16>, tensor<1x8x8x32xbf16>) -> tensor<1x8x8x32xbf16> {
    ^bb0(%0: tensor<1x8x8x32xbf16>, %1: tensor<32x32x1x1xbf16>, %2: tensor<1x8x8x32xbf16>):
      %3 = sinter.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last}
        : (tensor<1x8x8x32xbf16>, tensor<32x32x1x1xbf16>) -> tensor<1x8x8x32xbf16>
      %4 = sinter.add %3, %2 : tensor<1x8x8x32xbf16>
      sinter.yield %4 : tensor<1x8x8x32xbf16>
    }
    %c = sinter.kernel loop(%b, %t) over <[1, 8, 8, 32] views [(d0, d1, d2, d3) -> (d0, d1, d2, d3)]> : (tensor<1x8x8x32xbf16>, tensor<1x8x8x32xbf16>) -> tensor<1x8x8x32xbf16> {
    ^bb0(%0: tensor<1x8x8x32xbf16>, %1: tensor<1x8x8x32xbf16>):
      %2 = sinter.mul %0, %1 : tensor<1x8x8x32xbf16>
      sinter.yield %2 : tensor<1x8x8x32xbf16>
    }
    %u = sinter.kernel loop(%v) over <[1, 8, 8, 32] views [(d0, d1, d2, d3) -> (d0, d1, d2, d3)]> : (tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32> {
    ^bb0(%0: tensor<1x8x8x32xf32>):
      %1 = sinter.exp %0 : tensor<1x8x8x32xf32>
      sinter.yield %1 : tensor<1x8x8x32xf32>
    }
    %d = sinter.library_call conv(%v, %wide, %u) : (tensor<1x8x8x32xf32>, tensor<32x32x1x1xf32>, tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32> {
    ^bb0(%0: tensor<1x8x8x32xf32>, %1: tensor<32x32x1x1xf32>, %2: tensor<1x8x8x32xf32>):
      %3 = sinter.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last}
        : (tensor<1x8x8x32xf32>, tensor<32x32x1x1xf32>) -> tensor<1x8x8x32xf32>
      %4 = sinter.add %3, %2 : tensor<1x8x8x32xf32>
      sinter.yield %4 : tensor<1x8x8x32xf32>
    }
    %e = sinter.kernel loop(%d) over <[1, 8, 8, 32] views [(d0, d1, d2, d3) -> (d0, d1, d2, d3)]> : (tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32> {
    ^bb0(%0: tensor<1x8x8x32xf32>):
      %1 = sinter.exp %0 : tensor<1x8x8x32xf32>
      sinter.yield %1 : tensor<1x8x8x32xf32>
    }
    return %c, %e : tensor<1x8x8x32xbf16>, tensor<1x8x8x32xf32>
  }
}

// -----

// One filter for each channel adds in place, too. A convolution of few channels does not, as it may be oneDNN's.
module @channels {
  // CHECK-LABEL: module @channels
  // CHECK: exec.launch @k0_exp(%{{.*}}) -> (%[[T:.*]])
  // CHECK: %[[A:.*]] = exec.buffer arena[0] 0 + 4096
  // CHECK-NEXT: exec.conv forward(%{{.*}}, %{{.*}}, %[[T]]) -> %[[A]] batch 1 channels 32 filters 32 groups 32
  // CHECK: %[[B:.*]] = exec.buffer arena[0] {{[1-9][0-9]*}} + 4096
  // CHECK-NEXT: exec.conv forward(%{{.*}}, %{{.*}}, %[[A]]) -> %[[B]] batch 1 channels 8 filters 32 groups 1
  func.func @main(%x: tensor<1x8x8x32xbf16> {sinter.input = "x"}, %f: tensor<1x8x8x8xbf16> {sinter.input = "f"}) -> (tensor<1x8x8x32xbf16> {sinter.output = "y"}) {
    %w = sinter.constant dense<0.5> : tensor<32x1x1x1xbf16>
    %v = sinter.constant dense<0.25> : tensor<32x8x1x1xbf16>
    %t = sinter.kernel loop(%x) over <[1, 8, 8, 32] views [(d0, d1, d2, d3) -> (d0, d1, d2, d3)]> : (tensor<1x8x8x32xbf16>) -> tensor<1x8x8x32xbf16> {
    ^bb0(%0: tensor<1x8x8x32xbf16>):
      %1 = sinter.exp %0 : tensor<1x8x8x32xbf16>
      sinter.yield %1 : tensor<1x8x8x32xbf16>
    }
    %a = sinter.library_call conv(%x, %w, %t) : (tensor<1x8x8x32xbf16>, tensor<32x1x1x1xbf16>, tensor<1x8x8x32xbf16>) -> tensor<1x8x8x32xbf16> {
    ^bb0(%0: tensor<1x8x8x32xbf16>, %1: tensor<32x1x1x1xbf16>, %2: tensor<1x8x8x32xbf16>):
      %3 = sinter.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, groups = 32 : i64, channels_last}
        : (tensor<1x8x8x32xbf16>, tensor<32x1x1x1xbf16>) -> tensor<1x8x8x32xbf16>
      %4 = sinter.add %3, %2 : tensor<1x8x8x32xbf16>
      sinter.yield %4 : tensor<1x8x8x32xbf16>
    }
    %b = sinter.library_call conv(%f, %v, %a) : (tensor<1x8x8x8xbf16>, tensor<32x8x1x1xbf16>, tensor<1x8x8x32xbf16>) -> tensor<1x8x8x32xbf16> {
    ^bb0(%0: tensor<1x8x8x8xbf16>, %1: tensor<32x8x1x1xbf16>, %2: tensor<1x8x8x32xbf16>):
      %3 = sinter.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last}
        : (tensor<1x8x8x8xbf16>, tensor<32x8x1x1xbf16>) -> tensor<1x8x8x32xbf16>
      %4 = sinter.add %3, %2 : tensor<1x8x8x32xbf16>
      sinter.yield %4 : tensor<1x8x8x32xbf16>
    }
    %c = sinter.kernel loop(%b) over <[1, 8, 8, 32] views [(d0, d1, d2, d3) -> (d0, d1, d2, d3)]> : (tensor<1x8x8x32xbf16>) -> tensor<1x8x8x32xbf16> {
    ^bb0(%0: tensor<1x8x8x32xbf16>):
      %1 = sinter.exp %0 : tensor<1x8x8x32xbf16>
      sinter.yield %1 : tensor<1x8x8x32xbf16>
    }
    return %c : tensor<1x8x8x32xbf16>
  }
}
