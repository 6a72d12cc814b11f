//===- Checks.cpp - helpers of verifiers and inference --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/ops/Checks.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace sinter::ir {

LogicalResult checkAxis(const Report &report, StringRef field, int64_t value,
                        int64_t rank) {
  if (value >= 0 && value < rank)
    return success();
  return report("'", field, "' is ", value, ", but the rank is ", rank);
}

LogicalResult checkDims(const Report &report, StringRef field,
                        ArrayRef<int64_t> dims, int64_t rank) {
  llvm::SmallBitVector seen(rank);
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= rank)
      return report("'", field, "' holds ", dim, ", but the rank is ", rank);
    if (seen.test(dim))
      return report("'", field, "' holds ", dim, " twice");
    seen.set(dim);
  }
  return success();
}

LogicalResult checkList(const Report &report, StringRef field,
                        ArrayRef<int64_t> values, int64_t rank, int64_t least) {
  if (static_cast<int64_t>(values.size()) != rank)
    return report("'", field, "' has ", values.size(), " entries, expected ",
                  rank);
  for (int64_t value : values)
    if (value < least)
      return report("'", field, "' holds ", value, ", expected at least ",
                    least);
  return success();
}

LogicalResult checkShape(const Report &report, StringRef field, Value value,
                         ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> actual = tensorType(value).getShape();
  if (actual == shape)
    return success();
  return report("'", field, "' has shape ", shapeString(actual), ", expected ",
                shapeString(shape));
}

FailureOr<int64_t> countWindows(const Report &report, int64_t dim, int64_t size,
                                Window window) {
  if (window.size < 1)
    return report("the window along dimension ", dim, " has size ", window.size,
                  ", expected at least 1");
  int64_t padded, extent;
  if (llvm::AddOverflow(size, window.low, padded) ||
      llvm::AddOverflow(padded, window.high, padded))
    return report("the padded size of dimension ", dim, " overflows");
  bool overflows =
      llvm::MulOverflow(window.size - 1, window.dilation, extent) ||
      llvm::AddOverflow(extent, int64_t(1), extent);
  if (!overflows && padded == 0 && extent == 1)
    return 0; // of a batch without rows
  if (overflows || extent > padded)
    return report("the dilated window along dimension ", dim,
                  " is larger than the padded size ", padded);
  return (padded - extent) / window.stride + 1;
}

LogicalResult verifyInference(Operation *op, InferTypes *infer) {
  SmallVector<Type> types;
  if (failed(infer(op->getContext(), op->getLoc(), op->getOperands(),
                   op->getRawDictionaryAttrs(), op->getPropertiesStorage(),
                   op->getRegions(), types)))
    return failure();
  for (auto [i, actual, expected] :
       llvm::enumerate(op->getResultTypes(), types))
    if (actual != expected)
      return Report(op)("result #", i, " has type ", actual, ", expected ",
                        expected);
  return success();
}

std::string shapeString(ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "scalar";
  return llvm::join(
      llvm::map_range(shape, [](int64_t size) { return std::to_string(size); }),
      "x");
}

} // namespace sinter::ir
