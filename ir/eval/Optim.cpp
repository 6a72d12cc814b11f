//===- Optim.cpp - meaning of optimizers' update rules --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/eval/Loops.h"

#include <cmath>

using namespace mlir;
using namespace sinter::ir;

LogicalResult SgdUpdateOp::evaluate(ArrayRef<Tensor> operands,
                                    SmallVectorImpl<Tensor> &results) {
  const Tensor &param = operands[0], &grad = operands[1];
  double lr = operands[2].floats[0], decay = operands[3].floats[0];
  double momentum = getMomentum().convertToDouble();
  Tensor newParam(param.type()), newVelocity(param.type());
  for (size_t i = 0; i < param.floats.size(); ++i) {
    double g = grad.floats[i] + decay * param.floats[i], step = g;
    if (getVelocity()) {
      double v = momentum * operands[4].floats[i] + g;
      newVelocity.floats[i] = v;
      step = getNesterov() ? g + momentum * v : v;
    }
    newParam.floats[i] = param.floats[i] - lr * step;
  }
  results.push_back(std::move(newParam));
  if (getVelocity())
    results.push_back(std::move(newVelocity));
  return success();
}

LogicalResult AdamUpdateOp::evaluate(ArrayRef<Tensor> operands,
                                     SmallVectorImpl<Tensor> &results) {
  const Tensor &param = operands[0], &grad = operands[1], &m = operands[2],
               &v = operands[3];
  double lr = operands[4].floats[0], decay = operands[5].floats[0],
         t = operands[6].floats[0];
  double beta1 = getBeta1().convertToDouble(),
         beta2 = getBeta2().convertToDouble();
  double epsilon = getEpsilon().convertToDouble();
  double correction1 = 1 - std::pow(beta1, t),
         correction2 = 1 - std::pow(beta2, t);
  Tensor newParam(param.type()), newM(param.type()), newV(param.type());
  for (size_t i = 0; i < param.floats.size(); ++i) {
    double p = param.floats[i], g = grad.floats[i];
    if (getDecoupled())
      p *= 1 - lr * decay;
    else
      g += decay * p;
    newM.floats[i] = beta1 * m.floats[i] + (1 - beta1) * g;
    newV.floats[i] = beta2 * v.floats[i] + (1 - beta2) * g * g;
    double root = std::sqrt(newV.floats[i]) / std::sqrt(correction2) + epsilon;
    newParam.floats[i] = p - lr / correction1 * newM.floats[i] / root;
  }
  results.push_back(std::move(newParam));
  results.push_back(std::move(newM));
  results.push_back(std::move(newV));
  return success();
}
