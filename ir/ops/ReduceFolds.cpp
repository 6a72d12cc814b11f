//===- ReduceFolds.cpp - identities of reductions -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"

using namespace mlir;
using namespace sinter::ir;

OpFoldResult ReduceOp::fold(FoldAdaptor) {
  return getDims().empty() ? OpFoldResult(getX()) : OpFoldResult();
}
