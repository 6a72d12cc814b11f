// RUN: sinter-opt %s --sinter-build-training="optimizer=sgd momentum=0.9" --split-input-file \
// RUN:   | FileCheck %s
// RUN: sinter-opt %s --sinter-build-training="optimizer=adamw clip-norm=1.0 no-decay=bias freeze-bn" \
// RUN:   --split-input-file | FileCheck %s --check-prefix=ADAM
// RUN: sinter-opt %s --sinter-build-training="optimizer=sgd log-norms" --split-input-file \
// RUN:   | FileCheck %s --check-prefix=NORMS
// RUN: sinter-opt %s --sinter-build-training="optimizer=sgd clip-norm=1.0 log-norms" --split-input-file \
// RUN:   | FileCheck %s --check-prefix=CLIPPED
// RUN: sinter-opt %s --sinter-build-training="labels=t" --split-input-file \
// RUN:   | FileCheck %s --check-prefix=LABELS

// RUN: sinter-opt %s --sinter-build-training="optimizer=sgd replicas=2" --split-input-file 2> %t.err \
// RUN:   | FileCheck %s --check-prefix=REPLICAS
// RUN: FileCheck %s --check-prefix=WARNING < %t.err

// The loss is divided by the whole batch's rows; it and the gradients are summed over replicas.
// REPLICAS: sinter.training = #exec.training<{{.*}}replicas = 2>
// REPLICAS: func.func @step(
// REPLICAS: sinter.constant dense<8.0{{0*}}e+00> : tensor<f32>
// REPLICAS: sinter.all_reduce %{{.*}} over data of 2 : tensor<f32>
// REPLICAS: sinter.all_reduce %{{.*}} over data of 2 : tensor<8x3xf32>
// REPLICAS: sinter.all_reduce %{{.*}} over data of 2 : tensor<3xf32>
// REPLICAS: func.func @eval(
// REPLICAS-NOT: sinter.all_reduce
// REPLICAS: return
// WARNING: warning: batch normalisation uses the statistics of each replica's own rows, not of the whole batch

// The states, their slots and the two functions. A final softmax is looked through.
// CHECK: module @linear attributes {sinter.model = "linear", sinter.training = #exec.training<
// CHECK-SAME: optimizer = "sgd"
// CHECK-SAME: loss = "cross-entropy"
// CHECK-SAME: lr = 1.000000e-03 : f64
// CHECK-SAME: batch = 4,
// CHECK-SAME: num_classes = 3>
// CHECK: sinter.state @fc.weight {{.*}}trainable
// CHECK: sinter.state @fc.bias {{.*}}trainable
// CHECK: sinter.state @"momentum/fc.weight" : tensor<8x3xf32> {of = @fc.weight, role = #sinter<role slot>, slot = "momentum"}
// CHECK: sinter.state @"momentum/fc.bias" : tensor<3xf32>
// CHECK-NOT: @main
// CHECK: func.func @step(%arg0: tensor<4x8xf32> {sinter.input = "x"}, %arg1: tensor<4xi64> {sinter.input = "labels"},
// CHECK-SAME: %arg2: tensor<8x3xf32> {sinter.state = @fc.weight}, %arg3: tensor<3xf32> {sinter.state = @fc.bias}
// CHECK-SAME: {sinter.state = @"momentum/fc.weight"}
// CHECK-SAME: {sinter.state = @"momentum/fc.bias"}
// CHECK-SAME: tensor<f32> {sinter.control = "lr"}, %{{.*}}: tensor<f32> {sinter.control = "weight_decay"})
// CHECK-SAME: -> (tensor<f32> {sinter.output = "loss"}, tensor<8x3xf32> {sinter.state = @fc.weight}, tensor<8x3xf32> {sinter.state = @"momentum/fc.weight"}, tensor<3xf32> {sinter.state = @fc.bias}, tensor<3xf32> {sinter.state = @"momentum/fc.bias"})
// CHECK: sinter.softmax_cross_entropy
// CHECK-COUNT-2: sinter.sgd_update
// CHECK: func.func @eval(
// CHECK-SAME: tensor<i64> {sinter.control = "valid_rows"})
// CHECK-SAME: -> (tensor<f32> {sinter.output = "loss_sum"}, tensor<f32> {sinter.output = "loss_count"}, tensor<f32> {sinter.output = "correct"}, tensor<f32> {sinter.output = "correct_count"})
// CHECK-NOT: sinter.softmax %
// CHECK: sinter.arg_reduce

// One step count for the program; the bias does not decay; gradients are scaled together.
// ADAM: sinter.state @t : tensor<i64> {role = #sinter<role slot>, slot = "t"}
// ADAM: sinter.state @"m/fc.weight"
// ADAM: sinter.state @"v/fc.weight"
// ADAM: func.func @step(
// ADAM-SAME: %[[DECAY:[a-z0-9]*]]: tensor<f32> {sinter.control = "weight_decay"}, %[[CLIP:[a-z0-9]*]]: tensor<f32> {sinter.control = "clip_norm"})
// ADAM: sinter.div %[[CLIP]]
// ADAM: sinter.adam_update {{.*}} %[[DECAY]],
// ADAM: %[[NONE:.*]] = sinter.constant dense<0.0{{0*}}e+00> : tensor<f32>
// ADAM: sinter.adam_update {{.*}} %[[NONE]],

// The norms of the gradient and of the weights are outputs of the step, after those that it has anyway. With clipping,
// the norm of the gradient is the one that clipping divides by.
// NORMS: func.func @step(
// NORMS-SAME: -> (tensor<f32> {sinter.output = "loss"}, tensor<f32> {sinter.output = "grad_norm"}, tensor<f32> {sinter.output = "weight_norm"}, tensor<8x3xf32> {sinter.state = @fc.weight}
// NORMS-COUNT-2: sinter.sqrt
// NORMS: func.func @eval(
// NORMS-NOT: _norm"
// NORMS: return
// CLIPPED: func.func @step(
// CLIPPED: %[[NORM:.*]] = sinter.sqrt
// CLIPPED: sinter.add %[[NORM]]
// CLIPPED: sinter.div
// CLIPPED-COUNT-1: sinter.sqrt
// CLIPPED-NOT: sinter.sqrt
// CLIPPED: return %{{[^,]*}}, %[[NORM]],
module @linear attributes {sinter.model = "linear"} {
  sinter.state @fc.weight : tensor<8x3xf32> {role = #sinter<role param>, onnx = "fc.weight"}
  sinter.state @fc.bias : tensor<3xf32> {role = #sinter<role param>, onnx = "fc.bias"}
  func.func @main(%x: tensor<4x8xf32> {sinter.input = "x"}, %w: tensor<8x3xf32> {sinter.state = @fc.weight},
                  %b: tensor<3xf32> {sinter.state = @fc.bias}) -> (tensor<4x3xf32> {sinter.output = "y"}) {
    %d = sinter.dot_general %x, %w batch [] x [] contract [1] x [0]
      : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    %bb = sinter.broadcast %b dims [1] : tensor<3xf32> -> tensor<4x3xf32>
    %l = sinter.add %d, %bb : tensor<4x3xf32>
    %y = sinter.softmax %l {axis = 1 : i64} : tensor<4x3xf32>
    return %y : tensor<4x3xf32>
  }
}

// -----

// Batch statistics in @step, running ones in @eval and with freeze-bn. Buffers are updated,
// not trained.
// CHECK: module @norm
// CHECK: sinter.state @mean : tensor<3xf32> {role = #sinter<role buffer>}
// CHECK: func.func @step(
// CHECK-SAME: -> (tensor<f32> {sinter.output = "loss"}, tensor<3xf32> {sinter.state = @mean}, tensor<3xf32> {sinter.state = @var}, tensor<3xf32> {sinter.state = @scale}
// CHECK: sinter.batch_norm_training
// CHECK: func.func @eval(
// CHECK: sinter.batch_norm %
// ADAM: module @norm
// ADAM: func.func @step(
// ADAM-NOT: sinter.state = @mean}{{.*}}->{{.*}}sinter.state = @mean
// ADAM-NOT: batch_norm_training
// ADAM: return
module @norm attributes {sinter.model = "norm"} {
  sinter.state @scale : tensor<3xf32> {role = #sinter<role param>}
  sinter.state @shift : tensor<3xf32> {role = #sinter<role param>}
  sinter.state @mean : tensor<3xf32> {role = #sinter<role buffer>}
  sinter.state @var : tensor<3xf32> {role = #sinter<role buffer>}
  func.func @main(%x: tensor<4x3xf32> {sinter.input = "x"}, %s: tensor<3xf32> {sinter.state = @scale},
                  %b: tensor<3xf32> {sinter.state = @shift}, %m: tensor<3xf32> {sinter.state = @mean},
                  %v: tensor<3xf32> {sinter.state = @var}) -> (tensor<4x3xf32> {sinter.output = "y"}) {
    %y = sinter.batch_norm %x, %s, %b, %m, %v {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64}
      : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    return %y : tensor<4x3xf32>
  }
}

// -----

// A mask, a scalar and a parameter that the loss does not reach are not trained.
// CHECK: module @selection
// CHECK: sinter.state @w : {{.*}}trainable
// CHECK: sinter.state @mask :
// CHECK-NOT: trainable
// CHECK: sinter.state @scalar :
// CHECK-NOT: trainable
// CHECK: sinter.state @unused :
// CHECK-NOT: trainable
// CHECK: func.func @step(
module @selection attributes {sinter.model = "selection"} {
  sinter.state @w : tensor<3xf32> {role = #sinter<role param>}
  sinter.state @mask : tensor<3xf32> {role = #sinter<role param>, init = dense<[0.0, 0xFF800000, 0.0]> : tensor<3xf32>}
  sinter.state @scalar : tensor<f32> {role = #sinter<role param>}
  sinter.state @unused : tensor<3xf32> {role = #sinter<role param>}
  func.func @main(%x: tensor<4x3xf32> {sinter.input = "x"}, %w: tensor<3xf32> {sinter.state = @w},
                  %k: tensor<3xf32> {sinter.state = @mask}, %c: tensor<f32> {sinter.state = @scalar},
                  %u: tensor<3xf32> {sinter.state = @unused}) -> (tensor<4x3xf32> {sinter.output = "y"}) {
    %cb = sinter.broadcast %c dims [] : tensor<f32> -> tensor<3xf32>
    %wk = sinter.add %w, %k : tensor<3xf32>
    %wc = sinter.mul %wk, %cb : tensor<3xf32>
    %ws = sinter.broadcast %wc dims [1] : tensor<3xf32> -> tensor<4x3xf32>
    %y = sinter.mul %x, %ws : tensor<4x3xf32>
    return %y : tensor<4x3xf32>
  }
}

// -----

// Logits [B, T, V] take labels [B, T].
// CHECK: module @sequence
// CHECK: func.func @step(%arg0: tensor<2x5x3xf32> {sinter.input = "x"}, %arg1: tensor<2x5xi64> {sinter.input = "labels"}
module @sequence attributes {sinter.model = "sequence"} {
  sinter.state @w : tensor<3x7xf32> {role = #sinter<role param>}
  func.func @main(%x: tensor<2x5x3xf32> {sinter.input = "x"}, %w: tensor<3x7xf32> {sinter.state = @w})
      -> (tensor<2x5x7xf32> {sinter.output = "y"}) {
    %y = sinter.dot_general %x, %w batch [] x [] contract [2] x [0]
      : (tensor<2x5x3xf32>, tensor<3x7xf32>) -> tensor<2x5x7xf32>
    return %y : tensor<2x5x7xf32>
  }
}

// -----

// Dropout reads the controls of the graph in @step and is gone in @eval.
// CHECK: module @dropout
// CHECK: func.func @step(
// CHECK-SAME: tensor<i64> {sinter.control = "seed"}, %{{.*}}: tensor<i64> {sinter.control = "step"}
// CHECK-COUNT-2: sinter.dropout
// CHECK: func.func @eval(
// CHECK-NOT: sinter.control = "seed"
// CHECK-NOT: sinter.dropout
module @dropout attributes {sinter.model = "dropout"} {
  sinter.state @w : tensor<3xf32> {role = #sinter<role param>}
  func.func @main(%x: tensor<4x3xf32> {sinter.input = "x"}, %w: tensor<3xf32> {sinter.state = @w},
                  %seed: tensor<i64> {sinter.control = "seed"}, %step: tensor<i64> {sinter.control = "step"})
      -> (tensor<4x3xf32> {sinter.output = "y"}) {
    %wb = sinter.broadcast %w dims [1] : tensor<3xf32> -> tensor<4x3xf32>
    %p = sinter.mul %x, %wb : tensor<4x3xf32>
    %y = sinter.dropout %p, %seed, %step {ratio = 0.5 : f64, op_id = 0 : i64}
      : (tensor<4x3xf32>, tensor<i64>, tensor<i64>) -> tensor<4x3xf32>
    return %y : tensor<4x3xf32>
  }
}

// -----

// The graph's own input as labels: it comes after the other inputs and keeps its type.
// LABELS: module @own_labels
// LABELS: func.func @step(%arg0: tensor<4x3xf32> {sinter.input = "x"}, %arg1: tensor<4xi32> {sinter.input = "t"}, %arg2: tensor<3xf32> {sinter.state
// LABELS: sinter.softmax_cross_entropy %{{.*}}, %arg1
module @own_labels attributes {sinter.model = "own_labels"} {
  sinter.state @w : tensor<3xf32> {role = #sinter<role param>}
  func.func @main(%t: tensor<4xi32> {sinter.input = "t"}, %x: tensor<4x3xf32> {sinter.input = "x"},
                  %w: tensor<3xf32> {sinter.state = @w}) -> (tensor<4x3xf32> {sinter.output = "y"}) {
    %wb = sinter.broadcast %w dims [1] : tensor<3xf32> -> tensor<4x3xf32>
    %y = sinter.mul %x, %wb : tensor<4x3xf32>
    return %y : tensor<4x3xf32>
  }
}

// -----

// Probabilities as labels.
// LABELS: module @soft_labels {{.*}}num_classes = 0>
// LABELS: func.func @step(%arg0: tensor<4x3xf32> {sinter.input = "x"}, %arg1: tensor<4x3xf32> {sinter.input = "t"}
// LABELS: sinter.log_softmax
module @soft_labels attributes {sinter.model = "soft_labels"} {
  sinter.state @w : tensor<3xf32> {role = #sinter<role param>}
  func.func @main(%x: tensor<4x3xf32> {sinter.input = "x"}, %t: tensor<4x3xf32> {sinter.input = "t"},
                  %w: tensor<3xf32> {sinter.state = @w}) -> (tensor<4x3xf32> {sinter.output = "y"}) {
    %wb = sinter.broadcast %w dims [1] : tensor<3xf32> -> tensor<4x3xf32>
    %y = sinter.mul %x, %wb : tensor<4x3xf32>
    return %y : tensor<4x3xf32>
  }
}

// -----

// Those that equal the maximum are counted and share its gradient; the model's input needs none.
// CHECK: module @scatter_max
// CHECK: func.func @step(%[[X:.*]]: tensor<4x3xf32> {sinter.input = "x"}, %[[I:.*]]: tensor<5xi64> {sinter.input = "i"}, {{.*}}, %[[W:.*]]: tensor<4x5xf32> {sinter.state = @w}
// CHECK: %[[Y:.*]] = sinter.scatter max %[[X]], %[[I]], %[[W]] axis 1
// CHECK: sinter.softmax_cross_entropy
// CHECK-DAG: sinter.compare eq %[[X]], %[[Y]]
// CHECK-DAG: %[[READ:.*]] = sinter.gather %[[Y]], %[[I]] axis 1
// CHECK-DAG: %[[HIT:.*]] = sinter.compare eq %[[W]], %[[READ]]
// CHECK: %[[MASK:.*]] = sinter.cast %[[HIT]]
// CHECK: %[[COUNT:.*]] = sinter.scatter sum %{{.*}}, %[[I]], %[[MASK]] axis 1
// CHECK: %[[SHARE:.*]] = sinter.div %{{.*}}, %[[COUNT]]
// CHECK: %[[BACK:.*]] = sinter.gather %[[SHARE]], %[[I]] axis 1
// CHECK: sinter.mul %[[MASK]], %[[BACK]]
module @scatter_max attributes {sinter.model = "scatter_max"} {
  sinter.state @w : tensor<4x5xf32> {role = #sinter<role param>}
  func.func @main(%x: tensor<4x3xf32> {sinter.input = "x"}, %i: tensor<5xi64> {sinter.input = "i"},
                  %w: tensor<4x5xf32> {sinter.state = @w}) -> (tensor<4x3xf32> {sinter.output = "y"}) {
    %y = sinter.scatter max %x, %i, %w axis 1
      : (tensor<4x3xf32>, tensor<5xi64>, tensor<4x5xf32>) -> tensor<4x3xf32>
    return %y : tensor<4x3xf32>
  }
}
