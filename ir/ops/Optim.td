//===- Optim.td - update rules of optimizers (composites) -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_OPS_OPTIM_TD
#define SINTER_IR_OPS_OPTIM_TD

include "Attrs.td"
include "Interfaces.td"

class Sinter_UpdateOp<string mnemonic, list<Trait> traits = []>
    : Sinter_Op<mnemonic, !listconcat([Pure, Sinter_NotDifferentiable, Sinter_OptimizerUpdate,
        DeclareOpInterfaceMethods<Sinter_EvaluateOpInterface>,
        DeclareOpInterfaceMethods<Sinter_CompositeOpInterface>], traits)>;
def Sinter_ScalarF32 : TensorRankOf<[F32], [0]>;

def Sinter_SgdUpdateOp : Sinter_UpdateOp<"sgd_update",
    [AllTypesMatch<["param", "grad", "new_param"]>]> {
  let summary = "stochastic gradient descent (PyTorch's SGD)";
  let description = [{
    `g = grad + weight_decay * param`. Without `velocity`: `param - lr * g`. With it:
    `v = first step ? g : momentum * velocity + g`; the step is `v`, with nesterov `g + momentum * v`.
    With a zero initial velocity the first step needs no special case (dampening is 0).

    C1: `velocity` and `new_velocity` are both present or both absent. C2: they have the type of `param`.
    ```mlir
    %p, %v1 = sinter.sgd_update %w, %g, %lr, %wd, %v {momentum = 0.9 : f64}
       : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<4xf32>)
      -> (tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$param, Sinter_FloatTensor:$grad,
                       Sinter_ScalarF32:$lr, Sinter_ScalarF32:$weight_decay,
                       Optional<Sinter_FloatTensor>:$velocity, F64Attr:$momentum, UnitAttr:$nesterov);
  let results = (outs Sinter_FloatTensor:$new_param, Optional<Sinter_FloatTensor>:$new_velocity);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Sinter_AdamUpdateOp : Sinter_UpdateOp<"adam_update",
    [AllTypesMatch<["param", "grad", "m", "v", "new_param", "new_m", "new_v"]>]> {
  let summary = "Adam and AdamW (PyTorch's definitions; Kingma and Ba 2015, Loshchilov and Hutter 2019)";
  let description = [{
    `t` is the number of this update, counted from 1. Without `decoupled` (Adam) `g = grad + weight_decay * param`;
    with it (AdamW) `param` is first multiplied by `1 - lr * weight_decay` and `g = grad`.
    `m' = beta1 m + (1 - beta1) g`, `v' = beta2 v + (1 - beta2) g^2`,
    `param' = param - lr / (1 - beta1^t) * m' / (sqrt(v') / sqrt(1 - beta2^t) + epsilon)`.

    C1: 0 <= beta1, beta2 < 1.
    ```mlir
    %p, %m1, %v1 = sinter.adam_update %w, %g, %m, %v, %lr, %wd, %t
         {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64}
       : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>,
          tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$param, Sinter_FloatTensor:$grad, Sinter_FloatTensor:$m,
                       Sinter_FloatTensor:$v, Sinter_ScalarF32:$lr, Sinter_ScalarF32:$weight_decay,
                       Sinter_ScalarF32:$t, F64Attr:$beta1, F64Attr:$beta2, F64Attr:$epsilon,
                       UnitAttr:$decoupled);
  let results = (outs Sinter_FloatTensor:$new_param, Sinter_FloatTensor:$new_m,
                      Sinter_FloatTensor:$new_v);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Sinter_LambUpdateOp : Sinter_UpdateOp<"lamb_update",
    [AllTypesMatch<["param", "grad", "m", "v", "new_param", "new_m", "new_v"]>]> {
  let summary = "LAMB: the step of Adam, scaled to the norm of the parameter (You et al. 2020)";
  let description = [{
    `m'`, `v'` and `t` as in `adam_update`. `r = m' / (1 - beta1^t) / (sqrt(v' / (1 - beta2^t)) + epsilon)
    + weight_decay * param`; `param' = param - lr * s * r` with `s = |param| / |r|`, or 1 if one of the two
    Euclidean norms is 0.

    C1: 0 <= beta1, beta2 < 1.
    ```mlir
    %p, %m1, %v1 = sinter.lamb_update %w, %g, %m, %v, %lr, %wd, %t
         {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-6 : f64}
       : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>,
          tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$param, Sinter_FloatTensor:$grad, Sinter_FloatTensor:$m,
                       Sinter_FloatTensor:$v, Sinter_ScalarF32:$lr, Sinter_ScalarF32:$weight_decay,
                       Sinter_ScalarF32:$t, F64Attr:$beta1, F64Attr:$beta2, F64Attr:$epsilon);
  let results = (outs Sinter_FloatTensor:$new_param, Sinter_FloatTensor:$new_m,
                      Sinter_FloatTensor:$new_v);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Sinter_LionUpdateOp : Sinter_UpdateOp<"lion_update",
    [AllTypesMatch<["param", "grad", "m", "new_param", "new_m"]>]> {
  let summary = "Lion: steps of equal size along the sign of a momentum (Chen et al. 2023)";
  let description = [{
    `param' = param * (1 - lr * weight_decay) - lr * sign(beta1 m + (1 - beta1) grad)`;
    `m' = beta2 m + (1 - beta2) grad`.

    C1: 0 <= beta1, beta2 < 1.
    ```mlir
    %p, %m1 = sinter.lion_update %w, %g, %m, %lr, %wd {beta1 = 0.9 : f64, beta2 = 0.99 : f64}
       : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>)
      -> (tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$param, Sinter_FloatTensor:$grad, Sinter_FloatTensor:$m,
                       Sinter_ScalarF32:$lr, Sinter_ScalarF32:$weight_decay, F64Attr:$beta1,
                       F64Attr:$beta2);
  let results = (outs Sinter_FloatTensor:$new_param, Sinter_FloatTensor:$new_m);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Sinter_AdagradUpdateOp : Sinter_UpdateOp<"adagrad_update",
    [AllTypesMatch<["param", "grad", "sum", "new_param", "new_sum"]>]> {
  let summary = "Adagrad (PyTorch's, without decay of the learning rate; Duchi et al. 2011)";
  let description = [{
    `g = grad + weight_decay * param`, `sum' = sum + g^2`,
    `param' = param - lr * g / (sqrt(sum') + epsilon)`.
    ```mlir
    %p, %s1 = sinter.adagrad_update %w, %g, %s, %lr, %wd {epsilon = 1.0e-10 : f64}
       : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>)
      -> (tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$param, Sinter_FloatTensor:$grad, Sinter_FloatTensor:$sum,
                       Sinter_ScalarF32:$lr, Sinter_ScalarF32:$weight_decay, F64Attr:$epsilon);
  let results = (outs Sinter_FloatTensor:$new_param, Sinter_FloatTensor:$new_sum);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Sinter_RmspropUpdateOp : Sinter_UpdateOp<"rmsprop_update",
    [AllTypesMatch<["param", "grad", "v", "new_param", "new_v"]>]> {
  let summary = "RMSprop (PyTorch's, not centered; Tieleman and Hinton 2012)";
  let description = [{
    `g = grad + weight_decay * param`, `v' = alpha v + (1 - alpha) g^2`, `d = g / (sqrt(v') + epsilon)`.
    Without `velocity`: `param' = param - lr * d`; with it `velocity' = momentum * velocity + d` and
    `param' = param - lr * velocity'`.

    C1: `velocity` and `new_velocity` are both present or both absent. C2: they have the type of `param`.
    C3: 0 <= alpha < 1.
    ```mlir
    %p, %v1 = sinter.rmsprop_update %w, %g, %v, %lr, %wd
         {alpha = 0.99 : f64, epsilon = 1.0e-8 : f64, momentum = 0.0 : f64}
       : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>)
      -> (tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$param, Sinter_FloatTensor:$grad, Sinter_FloatTensor:$v,
                       Sinter_ScalarF32:$lr, Sinter_ScalarF32:$weight_decay,
                       Optional<Sinter_FloatTensor>:$velocity, F64Attr:$alpha, F64Attr:$epsilon,
                       F64Attr:$momentum);
  let results = (outs Sinter_FloatTensor:$new_param, Sinter_FloatTensor:$new_v,
                      Optional<Sinter_FloatTensor>:$new_velocity);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Sinter_MuonUpdateOp : Sinter_UpdateOp<"muon_update",
    [AllTypesMatch<["param", "grad", "velocity", "new_param", "new_velocity"]>]> {
  let summary = "Muon: steps along an orthogonalised momentum (torch.optim.Muon; Jordan et al. 2024)";
  let description = [{
    `velocity' = momentum velocity + (1 - momentum) grad`; the direction is `velocity'`, with `nesterov`
    `momentum velocity' + (1 - momentum) grad`. It is divided by its Frobenius norm (at least `epsilon`), and then
    iterated `steps` times by `X <- a X + (b G + c G^2) X` with `G = X X^T` (for more rows than columns
    `X <- a X + X (b G + c G^2)` with `G = X^T X`), a = 3.4445, b = -4.775, c = 2.0315, which brings its singular
    values near 1. `param' = param * (1 - lr * weight_decay) - lr * sqrt(max(1, rows / columns)) * X`.

    C1: `param` has two dimensions. C2: 0 <= momentum < 1. C3: `steps` is 1 to 100.
    ```mlir
    %p, %v1 = sinter.muon_update %w, %g, %v, %lr, %wd
         {momentum = 0.95 : f64, nesterov, epsilon = 1.0e-7 : f64, steps = 5 : i64}
       : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<f32>)
      -> (tensor<4x8xf32>, tensor<4x8xf32>)
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$param, Sinter_FloatTensor:$grad,
                       Sinter_FloatTensor:$velocity, Sinter_ScalarF32:$lr,
                       Sinter_ScalarF32:$weight_decay, F64Attr:$momentum, UnitAttr:$nesterov,
                       F64Attr:$epsilon, I64Attr:$steps);
  let results = (outs Sinter_FloatTensor:$new_param, Sinter_FloatTensor:$new_velocity);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    /// The coefficients of one step of the Newton-Schulz iteration.
    static constexpr double kA = 3.4445, kB = -4.775, kC = 2.0315;
    /// The factor of the learning rate for the shape of the parameter.
    double getRateFactor();
  }];
  let hasVerifier = 1;
}

#endif // SINTER_IR_OPS_OPTIM_TD
