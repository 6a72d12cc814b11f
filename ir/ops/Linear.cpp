//===- Linear.cpp - contractions: verify and infer ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/ops/Checks.h"

using namespace mlir;
using namespace sinter::ir;

#define GET_OP_CLASSES
#include "ir/Linear.cpp.inc"

void SinterDialect::registerLinear() {
  addOperations<
#define GET_OP_LIST
#include "ir/Linear.cpp.inc"
      >();
}

/// The dimensions of `rank` that are in neither list.
static SmallVector<int64_t> freeDims(int64_t rank, ArrayRef<int64_t> batch,
                                     ArrayRef<int64_t> contract) {
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contract, dim))
      dims.push_back(dim);
  return dims;
}

SmallVector<int64_t> DotGeneralOp::getLhsFree() {
  return freeDims(getLhs().getType().getRank(), getLhsBatch(),
                  getLhsContract());
}

SmallVector<int64_t> DotGeneralOp::getRhsFree() {
  return freeDims(getRhs().getType().getRank(), getRhsBatch(),
                  getRhsContract());
}

/// Checks that paired dimensions have equal sizes.
static LogicalResult checkPairs(const Report &report, StringRef what,
                                RankedTensorType lhs, RankedTensorType rhs,
                                ArrayRef<int64_t> lhsDims,
                                ArrayRef<int64_t> rhsDims) {
  for (auto [left, right] : llvm::zip_equal(lhsDims, rhsDims))
    if (lhs.getDimSize(left) != rhs.getDimSize(right))
      return report("paired ", what, " dimensions ", left, " and ", right,
                    " have sizes ", lhs.getDimSize(left), " and ",
                    rhs.getDimSize(right));
  return success();
}

LogicalResult DotGeneralOp::inferReturnTypes(MLIRContext *context,
                                             std::optional<Location> loc,
                                             Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  Report report(loc, getOperationName());
  auto lhs = cast<RankedTensorType>(adaptor.getLhs().getType());
  auto rhs = cast<RankedTensorType>(adaptor.getRhs().getType());
  if (lhs.getElementType() != rhs.getElementType())
    return report("operands have element types ", lhs.getElementType(), " and ",
                  rhs.getElementType(), ", expected equal ones");

  ArrayRef<int64_t> lhsBatch = adaptor.getLhsBatch(),
                    rhsBatch = adaptor.getRhsBatch();
  ArrayRef<int64_t> lhsContract = adaptor.getLhsContract(),
                    rhsContract = adaptor.getRhsContract();
  if (lhsBatch.size() != rhsBatch.size())
    return report("has ", lhsBatch.size(), " batch dimensions of lhs, but ",
                  rhsBatch.size(), " of rhs");
  if (lhsContract.size() != rhsContract.size())
    return report("has ", lhsContract.size(),
                  " contracted dimensions of lhs, but ", rhsContract.size(),
                  " of rhs");
  auto joined = [](ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
    SmallVector<int64_t> dims(a);
    dims.append(b.begin(), b.end());
    return dims;
  };
  if (failed(checkDims(report, "lhs dimensions", joined(lhsBatch, lhsContract),
                       lhs.getRank())) ||
      failed(checkDims(report, "rhs dimensions", joined(rhsBatch, rhsContract),
                       rhs.getRank())) ||
      failed(checkPairs(report, "batch", lhs, rhs, lhsBatch, rhsBatch)) ||
      failed(
          checkPairs(report, "contracted", lhs, rhs, lhsContract, rhsContract)))
    return failure();

  SmallVector<int64_t> shape;
  for (int64_t dim : lhsBatch)
    shape.push_back(lhs.getDimSize(dim));
  for (int64_t dim : freeDims(lhs.getRank(), lhsBatch, lhsContract))
    shape.push_back(lhs.getDimSize(dim));
  for (int64_t dim : freeDims(rhs.getRank(), rhsBatch, rhsContract))
    shape.push_back(rhs.getDimSize(dim));
  types.push_back(withShapeOf(lhs, shape));
  return success();
}
