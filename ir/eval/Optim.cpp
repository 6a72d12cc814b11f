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

template <class Range> static double norm(const Range &values) {
  double sum = 0;
  for (double value : values)
    sum += value * value;
  return std::sqrt(sum);
}

LogicalResult LambUpdateOp::evaluate(ArrayRef<Tensor> operands,
                                     SmallVectorImpl<Tensor> &results) {
  const Tensor &param = operands[0], &grad = operands[1];
  double lr = operands[4].floats[0], decay = operands[5].floats[0],
         t = operands[6].floats[0];
  double beta1 = getBeta1().convertToDouble(),
         beta2 = getBeta2().convertToDouble();
  Tensor newParam(param.type()), newM(param.type()), newV(param.type());
  std::vector<double> change(param.floats.size());
  for (size_t i = 0; i < change.size(); ++i) {
    double g = grad.floats[i];
    newM.floats[i] = beta1 * operands[2].floats[i] + (1 - beta1) * g;
    newV.floats[i] = beta2 * operands[3].floats[i] + (1 - beta2) * g * g;
    double mean = newM.floats[i] / (1 - std::pow(beta1, t));
    double square = newV.floats[i] / (1 - std::pow(beta2, t));
    change[i] = mean / (std::sqrt(square) + getEpsilon().convertToDouble()) +
                decay * param.floats[i];
  }
  double paramNorm = norm(param.floats), changeNorm = norm(change);
  double trust = paramNorm > 0 && changeNorm > 0 ? paramNorm / changeNorm : 1;
  for (size_t i = 0; i < change.size(); ++i)
    newParam.floats[i] = param.floats[i] - lr * trust * change[i];
  results.push_back(std::move(newParam));
  results.push_back(std::move(newM));
  results.push_back(std::move(newV));
  return success();
}

LogicalResult LionUpdateOp::evaluate(ArrayRef<Tensor> operands,
                                     SmallVectorImpl<Tensor> &results) {
  const Tensor &param = operands[0];
  double lr = operands[3].floats[0], decay = operands[4].floats[0];
  double beta1 = getBeta1().convertToDouble(),
         beta2 = getBeta2().convertToDouble();
  Tensor newParam(param.type()), newM(param.type());
  for (size_t i = 0; i < param.floats.size(); ++i) {
    double g = operands[1].floats[i], m = operands[2].floats[i];
    double mixed = beta1 * m + (1 - beta1) * g;
    double direction = mixed > 0 ? 1 : mixed < 0 ? -1 : mixed;
    newParam.floats[i] = param.floats[i] * (1 - lr * decay) - lr * direction;
    newM.floats[i] = beta2 * m + (1 - beta2) * g;
  }
  results.push_back(std::move(newParam));
  results.push_back(std::move(newM));
  return success();
}

LogicalResult AdagradUpdateOp::evaluate(ArrayRef<Tensor> operands,
                                        SmallVectorImpl<Tensor> &results) {
  const Tensor &param = operands[0];
  double lr = operands[3].floats[0], decay = operands[4].floats[0];
  Tensor newParam(param.type()), newSum(param.type());
  for (size_t i = 0; i < param.floats.size(); ++i) {
    double g = operands[1].floats[i] + decay * param.floats[i];
    newSum.floats[i] = operands[2].floats[i] + g * g;
    newParam.floats[i] =
        param.floats[i] -
        lr * g / (std::sqrt(newSum.floats[i]) + getEpsilon().convertToDouble());
  }
  results.push_back(std::move(newParam));
  results.push_back(std::move(newSum));
  return success();
}

LogicalResult RmspropUpdateOp::evaluate(ArrayRef<Tensor> operands,
                                        SmallVectorImpl<Tensor> &results) {
  const Tensor &param = operands[0];
  double lr = operands[3].floats[0], decay = operands[4].floats[0];
  double alpha = getAlpha().convertToDouble();
  Tensor newParam(param.type()), newV(param.type()), newVelocity(param.type());
  for (size_t i = 0; i < param.floats.size(); ++i) {
    double g = operands[1].floats[i] + decay * param.floats[i];
    newV.floats[i] = alpha * operands[2].floats[i] + (1 - alpha) * g * g;
    double step =
        g / (std::sqrt(newV.floats[i]) + getEpsilon().convertToDouble());
    if (getVelocity()) {
      step += getMomentum().convertToDouble() * operands[5].floats[i];
      newVelocity.floats[i] = step;
    }
    newParam.floats[i] = param.floats[i] - lr * step;
  }
  results.push_back(std::move(newParam));
  results.push_back(std::move(newV));
  if (getVelocity())
    results.push_back(std::move(newVelocity));
  return success();
}

namespace {
/// A row-major matrix of float64.
struct Matrix {
  Matrix(int64_t rows, int64_t columns)
      : rows(rows), columns(columns),
        values(static_cast<size_t>(rows * columns)) {}
  double &at(int64_t i, int64_t j) { return values[i * columns + j]; }
  double at(int64_t i, int64_t j) const { return values[i * columns + j]; }
  Matrix transposed() const {
    Matrix result(columns, rows);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        result.at(j, i) = at(i, j);
    return result;
  }
  Matrix operator*(const Matrix &other) const {
    Matrix result(rows, other.columns);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t k = 0; k < columns; ++k)
        for (int64_t j = 0; j < other.columns; ++j)
          result.at(i, j) += at(i, k) * other.at(k, j);
    return result;
  }

  int64_t rows, columns;
  std::vector<double> values;
};
} // namespace

LogicalResult MuonUpdateOp::evaluate(ArrayRef<Tensor> operands,
                                     SmallVectorImpl<Tensor> &results) {
  const Tensor &param = operands[0];
  double lr = operands[3].floats[0], decay = operands[4].floats[0];
  double momentum = getMomentum().convertToDouble();
  RankedTensorType type = param.type();
  Tensor newParam(type), newVelocity(type);
  Matrix x(type.getDimSize(0), type.getDimSize(1));
  for (size_t i = 0; i < x.values.size(); ++i) {
    double share = (1 - momentum) * operands[1].floats[i];
    double velocity = momentum * operands[2].floats[i] + share;
    newVelocity.floats[i] = velocity;
    x.values[i] = getNesterov() ? momentum * velocity + share : velocity;
  }
  double divisor = std::max(norm(x.values), getEpsilon().convertToDouble());
  for (double &value : x.values)
    value /= divisor;
  const bool isTall = x.rows > x.columns;
  if (isTall)
    x = x.transposed();
  for (int64_t step = 0, steps = getSteps(); step < steps; ++step) {
    Matrix gram = x * x.transposed(), square = gram * gram;
    for (size_t i = 0; i < gram.values.size(); ++i)
      gram.values[i] = kB * gram.values[i] + kC * square.values[i];
    Matrix moved = gram * x;
    for (size_t i = 0; i < x.values.size(); ++i)
      x.values[i] = kA * x.values[i] + moved.values[i];
  }
  if (isTall)
    x = x.transposed();
  for (size_t i = 0; i < x.values.size(); ++i)
    newParam.floats[i] =
        param.floats[i] * (1 - lr * decay) - lr * getRateFactor() * x.values[i];
  results.push_back(std::move(newParam));
  results.push_back(std::move(newVelocity));
  return success();
}
