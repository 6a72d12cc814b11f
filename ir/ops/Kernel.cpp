//===- Kernel.cpp - kernels and library calls: verify ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Kernel.h"
#include "ir/ops/Checks.h"

using namespace mlir;
using namespace sinter::ir;

#define GET_OP_CLASSES
#include "ir/Kernel.cpp.inc"

void SinterDialect::registerKernel() {
  addOperations<
#define GET_OP_LIST
#include "ir/Kernel.cpp.inc"
      >();
}

/// Checks that types inside and outside of the region agree.
static LogicalResult verifyBorder(FusionOpInterface fusion) {
  Report report(fusion);
  Block &body = fusion.getBody().front();
  if (body.getArgumentTypes() != fusion.getInputs().getTypes())
    return report("the body's arguments do not have the types of the operands");
  auto yield = body.empty() ? nullptr : dyn_cast<YieldOp>(body.back());
  if (!yield)
    return report("the body does not end with sinter.yield");
  if (yield.getValues().getTypes() != fusion.getOutputs().getTypes())
    return report("the yielded values do not have the types of the results");
  return success();
}

LogicalResult KernelOp::verify() {
  if (failed(verifyBorder(*this)))
    return failure();
  return verifyKernel(*this);
}

LogicalResult LibraryCallOp::verify() {
  if (failed(verifyBorder(*this)))
    return failure();
  auto isCalled = [&](Operation &op) {
    switch (getKind()) {
    case LibraryCallKind::matmul:
      return isa<DotGeneralOp>(op);
    case LibraryCallKind::conv:
      return isa<ConvOp, ConvInputGradOp, ConvFilterGradOp>(op);
    case LibraryCallKind::attention:
      return isa<AttentionOp, AttentionGradOp>(op);
    }
    return false;
  };
  if (llvm::count_if(getBody().front(), isCalled) != 1)
    return Report(*this)("a call of kind ", stringifyLibraryCallKind(getKind()),
                         " must have one op that the library computes");
  return success();
}
