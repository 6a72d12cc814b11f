//===- ContractionPadding.cpp - aligned sizes for tensor cores ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Tensor cores are fed by accesses of 16 bytes. If the size of a matrix line is
// not a multiple of that, libraries use smaller accesses and reach about half
// the speed. The estimates assume a GPU that does 150 multiply-adds in the time
// in which it moves a byte, as an H100 does in 16 bits.
//
//===----------------------------------------------------------------------===//
#include "passes/layout/ContractionPadding.h"
#include "ir/Build.h"
#include "passes/OpClasses.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace sinter::passes {
namespace {

constexpr double kUnalignedSlowdown = 2;

double elementsOf(Value value) {
  return static_cast<double>(ir::tensorType(value).getNumElements());
}
double bytesOf(Value value) {
  return elementsOf(value) * static_cast<double>(ir::elementSizeBytes(
                                 ir::tensorType(value).getElementType()));
}

/// What padding `value` costs one of its users: nothing if the kernel that
/// computes it can write the zeros, else reading and writing it.
double copyBytes(Value value) {
  Operation *made = value.getDefiningOp();
  bool isWritten = isa_and_nonnull<ir::ConstantOp>(made) ||
                   (made && isElementwise(made) && value.hasOneUse());
  auto users =
      static_cast<double>(std::distance(value.user_begin(), value.user_end()));
  return isWritten ? 0 : 2 * bytesOf(value) / users;
}

/// What cutting the result costs. Readers take the part that they need. But an
/// output is copied, and an op that the call could have applied to its result
/// becomes a kernel of its own.
double cutBytes(Value result) {
  bool isOutput = llvm::any_of(result.getUsers(), [](Operation *user) {
    return user->hasTrait<OpTrait::IsTerminator>();
  });
  Operation *user = result.hasOneUse() ? *result.user_begin() : nullptr;
  bool isApplied = user && isElementwise(user) && !isa<ir::CastOp>(user);
  return isOutput || isApplied ? 2 * bytesOf(result) : 0;
}

double productOf(ArrayRef<int64_t> shape, ArrayRef<int64_t> high) {
  double product = 1;
  for (auto [size, more] : llvm::zip_equal(shape, high))
    product *= static_cast<double>(size + more);
  return product;
}

} // namespace

int64_t tensorCoreAlignment(ir::DotGeneralOp dot) {
  Type element = getElementTypeOrSelf(multiplied(dot).first.getType());
  if (element.isF16() || element.isBF16())
    return 8;
  return element.isF32() && dot.getTf32() ? 4 : 1;
}

std::optional<ContractionPadding> worthwhilePadding(ir::DotGeneralOp dot) {
  int64_t alignment = tensorCoreAlignment(dot);
  RankedTensorType lhs = ir::tensorType(dot.getLhs()),
                   rhs = ir::tensorType(dot.getRhs()),
                   result = ir::tensorType(dot.getResult());
  // A product with a vector does not use tensor cores.
  bool isMatrices = lhs.getRank() && rhs.getRank() && result.getRank() >= 2 &&
                    !dot.getLhsFree().empty() && !dot.getRhsFree().empty() &&
                    !dot.getLhsContract().empty() &&
                    result.getNumElements() > 0;
  if (alignment == 1 || !isMatrices)
    return std::nullopt;
  ContractionPadding padding;
  padding.lhs.assign(lhs.getRank(), 0);
  padding.rhs.assign(rhs.getRank(), 0);
  padding.result.assign(result.getRank(), 0);
  SmallVector<int64_t> lhsFree(dot.getLhsFree()), rhsFree(dot.getRhsFree());
  auto batch = static_cast<int64_t>(dot.getLhsBatch().size());
  bool isPadded = false;
  auto more = [&](int64_t size) {
    int64_t high =
        size > 1 ? static_cast<int64_t>(llvm::alignTo(size, alignment)) - size
                 : 0;
    isPadded |= high > 0;
    return high;
  };
  auto padSum = [&](size_t i) {
    int64_t l = dot.getLhsContract()[i], r = dot.getRhsContract()[i];
    padding.lhs[l] = padding.rhs[r] = more(lhs.getDimSize(l));
  };
  auto padFree = [&](bool ofLhs, int64_t dim) {
    SmallVector<int64_t> &list = ofLhs ? lhsFree : rhsFree;
    auto at = llvm::find(list, dim) - list.begin();
    int64_t high = more((ofLhs ? lhs : rhs).getDimSize(dim));
    (ofLhs ? padding.lhs : padding.rhs)[dim] = high;
    int64_t first =
        ofLhs ? batch : batch + static_cast<int64_t>(lhsFree.size());
    padding.result[first + at] = high;
  };
  // The innermost dimension of each operand; then, below, that of the result.
  for (bool ofLhs : {true, false}) {
    int64_t last = (ofLhs ? lhs : rhs).getRank() - 1;
    ArrayRef<int64_t> sum = ofLhs ? dot.getLhsContract() : dot.getRhsContract();
    if (const auto *found = llvm::find(sum, last); found != sum.end())
      padSum(found - sum.begin());
    else if (llvm::is_contained(ofLhs ? lhsFree : rhsFree, last))
      padFree(ofLhs, last);
  }
  padFree(/*ofLhs=*/false, rhsFree.back());
  if (!isPadded)
    return std::nullopt;

  auto [a, b] = multiplied(dot);
  double depth = 1, deeper = 1;
  for (int64_t k : dot.getLhsContract()) {
    depth *= static_cast<double>(lhs.getDimSize(k));
    deeper *= static_cast<double>(lhs.getDimSize(k) + padding.lhs[k]);
  }
  double before = elementsOf(dot.getResult()) * depth * kUnalignedSlowdown;
  double after = productOf(result.getShape(), padding.result) * deeper;
  double moved = bytesOf(a) + bytesOf(b) + bytesOf(dot.getResult());
  // Time is that of the slower one, arithmetic or memory.
  auto seconds = [&](double products) {
    return std::max(products / kMultiplyAddsPerByte, moved);
  };
  auto isNonzero = [](int64_t high) { return high > 0; };
  double copies = 0;
  if (llvm::any_of(padding.lhs, isNonzero))
    copies += copyBytes(a);
  if (llvm::any_of(padding.rhs, isNonzero))
    copies += copyBytes(b);
  if (llvm::any_of(padding.result, isNonzero))
    copies += cutBytes(dot.getResult());
  if (seconds(before) - seconds(after) <= copies)
    return std::nullopt;
  return padding;
}

Value padWithZeros(OpBuilder &builder, Location loc, Value operand,
                   Value stored, ArrayRef<int64_t> high) {
  if (llvm::all_of(high, [](int64_t n) { return n == 0; }))
    return operand;
  Type element = ir::tensorType(stored).getElementType();
  Value zero = ir::splat(builder, loc, RankedTensorType::get({}, element), 0);
  SmallVector<int64_t> none(high.size(), 0);
  Value more = builder.create<ir::PadOp>(loc, stored, zero, none, high, none);
  return ir::castTo(builder, loc, more,
                    ir::tensorType(operand).getElementType());
}

void replaceByPart(OpBuilder &builder, Operation *op, Value whole) {
  Value result = op->getResult(0);
  // If the result is narrowed to 16 bits, the padded one is stored so.
  if (result.hasOneUse())
    if (auto cast = dyn_cast<ir::CastOp>(*result.user_begin());
        cast && widened(result) == Value() &&
        isa<FloatType>(cast.getType().getElementType())) {
      builder.setInsertionPoint(cast);
      whole = ir::castTo(builder, cast.getLoc(), whole,
                         cast.getType().getElementType());
      result = cast.getResult();
    }
  RankedTensorType type = ir::tensorType(result);
  if (whole.getType() != type) {
    SmallVector<int64_t> starts(type.getRank(), 0), strides(type.getRank(), 1);
    whole = builder.create<ir::SliceOp>(op->getLoc(), whole, starts,
                                        type.getShape(), strides);
  }
  result.replaceAllUsesWith(whole);
  if (Operation *made = result.getDefiningOp(); made != op)
    made->erase();
  op->erase();
}

void padContraction(ir::DotGeneralOp dot, const ContractionPadding &padding) {
  OpBuilder builder(dot);
  Location loc = dot.getLoc();
  auto [a, b] = multiplied(dot);
  Value lhs = padWithZeros(builder, loc, dot.getLhs(), a, padding.lhs),
        rhs = padWithZeros(builder, loc, dot.getRhs(), b, padding.rhs);
  replaceByPart(builder, dot,
                builder.create<ir::DotGeneralOp>(
                    loc, lhs, rhs, dot.getLhsBatchAttr(), dot.getRhsBatchAttr(),
                    dot.getLhsContractAttr(), dot.getRhsContractAttr(),
                    dot.getTf32()));
}

} // namespace sinter::passes
