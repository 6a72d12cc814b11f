//===- Random.cpp - counter-based randomness: verify ----------------------===//
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
#include "ir/Random.cpp.inc"

void SinterDialect::registerRandom() {
  addOperations<
#define GET_OP_LIST
#include "ir/Random.cpp.inc"
      >();
}

LogicalResult DropoutOp::verify() {
  double ratio = getRatio().convertToDouble();
  if (!(ratio >= 0 && ratio < 1))
    return Report(*this)("'ratio' is ", ratio,
                         ", expected 0 or more and less than 1");
  return success();
}

uint64_t DropoutOp::getThreshold() {
  return static_cast<uint64_t>(
      std::ceil(std::ldexp(getRatio().convertToDouble(), 32)));
}
