//===- Optim.cpp - update rules of optimizers: verify ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/ops/Checks.h"

#include <cmath>

using namespace mlir;
using namespace sinter::ir;

#define GET_OP_CLASSES
#include "ir/Optim.cpp.inc"

void SinterDialect::registerOptim() {
  addOperations<
#define GET_OP_LIST
#include "ir/Optim.cpp.inc"
      >();
}

/// Checks that a velocity comes with a new one, and that both have the type of
/// the parameter.
template <class OpTy> static LogicalResult verifyVelocity(OpTy op) {
  Report report(op);
  if (!op.getVelocity() != !op.getNewVelocity())
    return report(op.getVelocity() ? "has a velocity, but no new one"
                                   : "gives a new velocity, but has none");
  if (op.getVelocity() &&
      (op.getVelocity().getType() != op.getParam().getType() ||
       op.getNewVelocity().getType() != op.getParam().getType()))
    return report("the velocities have types ", op.getVelocity().getType(),
                  " and ", op.getNewVelocity().getType(), ", expected ",
                  op.getParam().getType());
  return success();
}

static LogicalResult verifyShare(Operation *op, StringRef name,
                                 const APFloat &value) {
  double share = value.convertToDouble();
  if (share >= 0 && share < 1)
    return success();
  return Report(op)("'", name, "' is ", share,
                    ", expected 0 or more and less than 1");
}

template <class OpTy> static LogicalResult verifyBetas(OpTy op) {
  if (failed(verifyShare(op, "beta1", op.getBeta1())))
    return failure();
  return verifyShare(op, "beta2", op.getBeta2());
}

LogicalResult SgdUpdateOp::verify() { return verifyVelocity(*this); }
LogicalResult AdamUpdateOp::verify() { return verifyBetas(*this); }
LogicalResult LambUpdateOp::verify() { return verifyBetas(*this); }
LogicalResult LionUpdateOp::verify() { return verifyBetas(*this); }
LogicalResult MuonUpdateOp::verify() {
  Report report(*this);
  if (tensorType(getParam()).getRank() != 2)
    return report("updates ", getParam().getType(),
                  ", expected two dimensions");
  if (getSteps() < 1 || getSteps() > 100)
    return report("'steps' is ", getSteps(), ", expected 1 to 100");
  return verifyShare(*this, "momentum", getMomentum());
}

double MuonUpdateOp::getRateFactor() {
  RankedTensorType type = tensorType(getParam());
  auto rows = static_cast<double>(type.getDimSize(0)),
       columns = static_cast<double>(type.getDimSize(1));
  return rows > columns && columns > 0 ? std::sqrt(rows / columns) : 1;
}

LogicalResult RmspropUpdateOp::verify() {
  if (failed(verifyVelocity(*this)))
    return failure();
  return verifyShare(*this, "alpha", getAlpha());
}
