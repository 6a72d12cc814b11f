//===- Optim.cpp - update rules of optimizers: verify ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/ops/Checks.h"

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

LogicalResult SgdUpdateOp::verify() {
  Report report(*this);
  if (!getVelocity() != !getNewVelocity())
    return report(getVelocity() ? "has a velocity, but no new one"
                                : "gives a new velocity, but has none");
  if (getVelocity() && (getVelocity().getType() != getParam().getType() ||
                        getNewVelocity().getType() != getParam().getType()))
    return report("the velocities have types ", getVelocity().getType(),
                  " and ", getNewVelocity().getType(), ", expected ",
                  getParam().getType());
  return success();
}

LogicalResult AdamUpdateOp::verify() {
  Report report(*this);
  for (auto [name, attr] :
       {std::pair<StringRef, APFloat>{"beta1", getBeta1()},
        std::pair<StringRef, APFloat>{"beta2", getBeta2()}}) {
    double beta = attr.convertToDouble();
    if (!(beta >= 0 && beta < 1))
      return report("'", name, "' is ", beta,
                    ", expected 0 or more and less than 1");
  }
  return success();
}
