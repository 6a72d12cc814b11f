// RUN: sinter-opt %s --sinter-plan-memory=own-memory=false --split-input-file | FileCheck %s
// RUN: sinter-opt %s '--sinter-plan-memory=own-memory=false chains=false' --split-input-file | FileCheck %s --check-prefix=APART
// RUN: sinter-opt %s --sinter-plan-memory --split-input-file | FileCheck %s --check-prefix=APART
// APART-NOT: exec.buffer chain

// The results between the three convolutions need no memory. What the first one reads lives until the last one has run,
// so that this one cannot write its result onto it, although it reads it last.
module @block {
  // CHECK-LABEL: module @block
  // CHECK: arena 2097152 unshared
  // CHECK: %[[A:.*]] = exec.buffer arena[0] 0 + 1048576
  // CHECK: %[[T:.*]] = exec.buffer chain[0] 0 + 6291456
  // CHECK: exec.conv forward(%[[A]], %{{.*}}) -> %[[T]] batch 1 channels 16 filters 96
  // CHECK: %[[U:.*]] = exec.buffer chain[1] 0 + 6291456
  // CHECK: exec.conv forward(%[[T]], %{{.*}}) -> %[[U]] batch 1 channels 96 filters 96 groups 96
  // CHECK: %[[Y:.*]] = exec.buffer arena[0] 1048576 + 1048576
  // CHECK: exec.conv forward(%[[U]], %{{.*}}, %[[A]]) -> %[[Y]] batch 1 channels 96 filters 16
  func.func @main(%x: tensor<1x128x128x16xf32> {sinter.input = "x"}) -> (tensor<1x128x128x16xf32> {sinter.output = "y"}) {
    %w1 = sinter.constant dense<0.5> : tensor<96x16x1x1xf32>
    %w2 = sinter.constant dense<0.25> : tensor<96x1x3x3xf32>
    %w3 = sinter.constant dense<0.125> : tensor<16x96x1x1xf32>
    %a = sinter.kernel loop(%x) over <[1, 128, 128, 16] views [(d0, d1, d2, d3) -> (d0, d1, d2, d3)]> : (tensor<1x128x128x16xf32>) -> tensor<1x128x128x16xf32> {
    ^bb0(%0: tensor<1x128x128x16xf32>):
      %1 = sinter.exp %0 : tensor<1x128x128x16xf32>
      sinter.yield %1 : tensor<1x128x128x16xf32>
    }
    %t = sinter.library_call conv(%a, %w1) : (tensor<1x128x128x16xf32>, tensor<96x16x1x1xf32>) -> tensor<1x128x128x96xf32> {
    ^bb0(%0: tensor<1x128x128x16xf32>, %1: tensor<96x16x1x1xf32>):
      %2 = sinter.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last}
        : (tensor<1x128x128x16xf32>, tensor<96x16x1x1xf32>) -> tensor<1x128x128x96xf32>
      %3 = sinter.relu %2 : tensor<1x128x128x96xf32>
      sinter.yield %3 : tensor<1x128x128x96xf32>
    }
    %u = sinter.library_call conv(%t, %w2) : (tensor<1x128x128x96xf32>, tensor<96x1x3x3xf32>) -> tensor<1x128x128x96xf32> {
    ^bb0(%0: tensor<1x128x128x96xf32>, %1: tensor<96x1x3x3xf32>):
      %2 = sinter.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, groups = 96 : i64, channels_last}
        : (tensor<1x128x128x96xf32>, tensor<96x1x3x3xf32>) -> tensor<1x128x128x96xf32>
      %3 = sinter.relu %2 : tensor<1x128x128x96xf32>
      sinter.yield %3 : tensor<1x128x128x96xf32>
    }
    %v = sinter.library_call conv(%u, %w3, %a) : (tensor<1x128x128x96xf32>, tensor<16x96x1x1xf32>, tensor<1x128x128x16xf32>) -> tensor<1x128x128x16xf32> {
    ^bb0(%0: tensor<1x128x128x96xf32>, %1: tensor<16x96x1x1xf32>, %2: tensor<1x128x128x16xf32>):
      %3 = sinter.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last}
        : (tensor<1x128x128x96xf32>, tensor<16x96x1x1xf32>) -> tensor<1x128x128x16xf32>
      %4 = sinter.add %3, %2 : tensor<1x128x128x16xf32>
      sinter.yield %4 : tensor<1x128x128x16xf32>
    }
    %y = sinter.kernel loop(%v) over <[1, 128, 128, 16] views [(d0, d1, d2, d3) -> (d0, d1, d2, d3)]> : (tensor<1x128x128x16xf32>) -> tensor<1x128x128x16xf32> {
    ^bb0(%0: tensor<1x128x128x16xf32>):
      %1 = sinter.exp %0 : tensor<1x128x128x16xf32>
      sinter.yield %1 : tensor<1x128x128x16xf32>
    }
    return %y : tensor<1x128x128x16xf32>
  }
}

// -----

// Two commands read the result of the first one.
module @two_readers {
  // CHECK-LABEL: module @two_readers
  // CHECK-NOT: exec.buffer chain
  func.func @main(%x: tensor<1x128x128x16xf32> {sinter.input = "x"}) -> (tensor<1x128x128x96xf32> {sinter.output = "y"}, tensor<1x128x128x96xf32> {sinter.output = "z"}) {
    %w1 = sinter.constant dense<0.5> : tensor<96x16x1x1xf32>
    %w2 = sinter.constant dense<0.25> : tensor<96x1x3x3xf32>
    %t = sinter.library_call conv(%x, %w1) : (tensor<1x128x128x16xf32>, tensor<96x16x1x1xf32>) -> tensor<1x128x128x96xf32> {
    ^bb0(%0: tensor<1x128x128x16xf32>, %1: tensor<96x16x1x1xf32>):
      %2 = sinter.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last}
        : (tensor<1x128x128x16xf32>, tensor<96x16x1x1xf32>) -> tensor<1x128x128x96xf32>
      %3 = sinter.relu %2 : tensor<1x128x128x96xf32>
      sinter.yield %3 : tensor<1x128x128x96xf32>
    }
    %u = sinter.library_call conv(%t, %w2) : (tensor<1x128x128x96xf32>, tensor<96x1x3x3xf32>) -> tensor<1x128x128x96xf32> {
    ^bb0(%0: tensor<1x128x128x96xf32>, %1: tensor<96x1x3x3xf32>):
      %2 = sinter.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, groups = 96 : i64, channels_last}
        : (tensor<1x128x128x96xf32>, tensor<96x1x3x3xf32>) -> tensor<1x128x128x96xf32>
      %3 = sinter.relu %2 : tensor<1x128x128x96xf32>
      sinter.yield %3 : tensor<1x128x128x96xf32>
    }
    %v = sinter.library_call conv(%t, %w2) : (tensor<1x128x128x96xf32>, tensor<96x1x3x3xf32>) -> tensor<1x128x128x96xf32> {
    ^bb0(%0: tensor<1x128x128x96xf32>, %1: tensor<96x1x3x3xf32>):
      %2 = sinter.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, groups = 96 : i64, channels_last}
        : (tensor<1x128x128x96xf32>, tensor<96x1x3x3xf32>) -> tensor<1x128x128x96xf32>
      %3 = sinter.relu %2 : tensor<1x128x128x96xf32>
      sinter.yield %3 : tensor<1x128x128x96xf32>
    }
    return %u, %v : tensor<1x128x128x96xf32>, tensor<1x128x128x96xf32>
  }
}

// -----

// The second one also adds the result of the first.
module @own_input {
  // CHECK-LABEL: module @own_input
  // CHECK-NOT: exec.buffer chain
  func.func @main(%x: tensor<1x128x128x96xf32> {sinter.input = "x"}) -> (tensor<1x128x128x96xf32> {sinter.output = "y"}) {
    %w1 = sinter.constant dense<0.25> : tensor<96x1x3x3xf32>
    %w2 = sinter.constant dense<0.5> : tensor<96x96x1x1xf32>
    %t = sinter.library_call conv(%x, %w1) : (tensor<1x128x128x96xf32>, tensor<96x1x3x3xf32>) -> tensor<1x128x128x96xf32> {
    ^bb0(%0: tensor<1x128x128x96xf32>, %1: tensor<96x1x3x3xf32>):
      %2 = sinter.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, groups = 96 : i64, channels_last}
        : (tensor<1x128x128x96xf32>, tensor<96x1x3x3xf32>) -> tensor<1x128x128x96xf32>
      sinter.yield %2 : tensor<1x128x128x96xf32>
    }
    %u = sinter.library_call conv(%t, %w2) : (tensor<1x128x128x96xf32>, tensor<96x96x1x1xf32>) -> tensor<1x128x128x96xf32> {
    ^bb0(%0: tensor<1x128x128x96xf32>, %1: tensor<96x96x1x1xf32>):
      %2 = sinter.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last}
        : (tensor<1x128x128x96xf32>, tensor<96x96x1x1xf32>) -> tensor<1x128x128x96xf32>
      %3 = sinter.relu %2 : tensor<1x128x128x96xf32>
      %4 = sinter.add %3, %0 : tensor<1x128x128x96xf32>
      sinter.yield %4 : tensor<1x128x128x96xf32>
    }
    return %u : tensor<1x128x128x96xf32>
  }
}

// -----

// The first one also adds its own input.
module @first_adds {
  // CHECK-LABEL: module @first_adds
  // CHECK-NOT: exec.buffer chain
  func.func @main(%x: tensor<1x128x128x96xf32> {sinter.input = "x"}) -> (tensor<1x128x128x16xf32> {sinter.output = "y"}) {
    %w1 = sinter.constant dense<0.25> : tensor<96x1x3x3xf32>
    %w2 = sinter.constant dense<0.5> : tensor<16x96x1x1xf32>
    %t = sinter.library_call conv(%x, %w1) : (tensor<1x128x128x96xf32>, tensor<96x1x3x3xf32>) -> tensor<1x128x128x96xf32> {
    ^bb0(%0: tensor<1x128x128x96xf32>, %1: tensor<96x1x3x3xf32>):
      %2 = sinter.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, groups = 96 : i64, channels_last}
        : (tensor<1x128x128x96xf32>, tensor<96x1x3x3xf32>) -> tensor<1x128x128x96xf32>
      %3 = sinter.add %2, %0 : tensor<1x128x128x96xf32>
      sinter.yield %3 : tensor<1x128x128x96xf32>
    }
    %u = sinter.library_call conv(%t, %w2) : (tensor<1x128x128x96xf32>, tensor<16x96x1x1xf32>) -> tensor<1x128x128x16xf32> {
    ^bb0(%0: tensor<1x128x128x96xf32>, %1: tensor<16x96x1x1xf32>):
      %2 = sinter.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last}
        : (tensor<1x128x128x96xf32>, tensor<16x96x1x1xf32>) -> tensor<1x128x128x16xf32>
      sinter.yield %2 : tensor<1x128x128x16xf32>
    }
    return %u : tensor<1x128x128x16xf32>
  }
}

// -----

// The result is also an output.
module @output {
  // CHECK-LABEL: module @output
  // CHECK-NOT: exec.buffer chain
  func.func @main(%x: tensor<1x128x128x16xf32> {sinter.input = "x"}) -> (tensor<1x128x128x96xf32> {sinter.output = "y"}, tensor<1x128x128x96xf32> {sinter.output = "z"}) {
    %w1 = sinter.constant dense<0.5> : tensor<96x16x1x1xf32>
    %w2 = sinter.constant dense<0.25> : tensor<96x1x3x3xf32>
    %t = sinter.library_call conv(%x, %w1) : (tensor<1x128x128x16xf32>, tensor<96x16x1x1xf32>) -> tensor<1x128x128x96xf32> {
    ^bb0(%0: tensor<1x128x128x16xf32>, %1: tensor<96x16x1x1xf32>):
      %2 = sinter.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last}
        : (tensor<1x128x128x16xf32>, tensor<96x16x1x1xf32>) -> tensor<1x128x128x96xf32>
      %3 = sinter.relu %2 : tensor<1x128x128x96xf32>
      sinter.yield %3 : tensor<1x128x128x96xf32>
    }
    %u = sinter.library_call conv(%t, %w2) : (tensor<1x128x128x96xf32>, tensor<96x1x3x3xf32>) -> tensor<1x128x128x96xf32> {
    ^bb0(%0: tensor<1x128x128x96xf32>, %1: tensor<96x1x3x3xf32>):
      %2 = sinter.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, groups = 96 : i64, channels_last}
        : (tensor<1x128x128x96xf32>, tensor<96x1x3x3xf32>) -> tensor<1x128x128x96xf32>
      %3 = sinter.relu %2 : tensor<1x128x128x96xf32>
      sinter.yield %3 : tensor<1x128x128x96xf32>
    }
    return %t, %u : tensor<1x128x128x96xf32>, tensor<1x128x128x96xf32>
  }
}

// -----

// A filter that changes from run to run is packed in each run.
module @variable_filter {
  // CHECK-LABEL: module @variable_filter
  // CHECK-NOT: exec.buffer chain
  func.func @main(%x: tensor<1x128x128x16xf32> {sinter.input = "x"}, %w2: tensor<96x1x3x3xf32> {sinter.input = "w"}) -> (tensor<1x128x128x96xf32> {sinter.output = "y"}) {
    %w1 = sinter.constant dense<0.5> : tensor<96x16x1x1xf32>
    %t = sinter.library_call conv(%x, %w1) : (tensor<1x128x128x16xf32>, tensor<96x16x1x1xf32>) -> tensor<1x128x128x96xf32> {
    ^bb0(%0: tensor<1x128x128x16xf32>, %1: tensor<96x16x1x1xf32>):
      %2 = sinter.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last}
        : (tensor<1x128x128x16xf32>, tensor<96x16x1x1xf32>) -> tensor<1x128x128x96xf32>
      %3 = sinter.relu %2 : tensor<1x128x128x96xf32>
      sinter.yield %3 : tensor<1x128x128x96xf32>
    }
    %u = sinter.library_call conv(%t, %w2) : (tensor<1x128x128x96xf32>, tensor<96x1x3x3xf32>) -> tensor<1x128x128x96xf32> {
    ^bb0(%0: tensor<1x128x128x96xf32>, %1: tensor<96x1x3x3xf32>):
      %2 = sinter.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, groups = 96 : i64, channels_last}
        : (tensor<1x128x128x96xf32>, tensor<96x1x3x3xf32>) -> tensor<1x128x128x96xf32>
      %3 = sinter.relu %2 : tensor<1x128x128x96xf32>
      sinter.yield %3 : tensor<1x128x128x96xf32>
    }
    return %u : tensor<1x128x128x96xf32>
  }
}

// -----

// 98304 bytes stay in a cache anyway.
module @small {
  // CHECK-LABEL: module @small
  // CHECK-NOT: exec.buffer chain
  func.func @main(%x: tensor<1x16x16x16xf32> {sinter.input = "x"}) -> (tensor<1x16x16x96xf32> {sinter.output = "y"}) {
    %w1 = sinter.constant dense<0.5> : tensor<96x16x1x1xf32>
    %w2 = sinter.constant dense<0.25> : tensor<96x1x3x3xf32>
    %t = sinter.library_call conv(%x, %w1) : (tensor<1x16x16x16xf32>, tensor<96x16x1x1xf32>) -> tensor<1x16x16x96xf32> {
    ^bb0(%0: tensor<1x16x16x16xf32>, %1: tensor<96x16x1x1xf32>):
      %2 = sinter.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, channels_last}
        : (tensor<1x16x16x16xf32>, tensor<96x16x1x1xf32>) -> tensor<1x16x16x96xf32>
      %3 = sinter.relu %2 : tensor<1x16x16x96xf32>
      sinter.yield %3 : tensor<1x16x16x96xf32>
    }
    %u = sinter.library_call conv(%t, %w2) : (tensor<1x16x16x96xf32>, tensor<96x1x3x3xf32>) -> tensor<1x16x16x96xf32> {
    ^bb0(%0: tensor<1x16x16x96xf32>, %1: tensor<96x1x3x3xf32>):
      %2 = sinter.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, groups = 96 : i64, channels_last}
        : (tensor<1x16x16x96xf32>, tensor<96x1x3x3xf32>) -> tensor<1x16x16x96xf32>
      %3 = sinter.relu %2 : tensor<1x16x16x96xf32>
      sinter.yield %3 : tensor<1x16x16x96xf32>
    }
    return %u : tensor<1x16x16x96xf32>
  }
}
