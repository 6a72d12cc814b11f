//===- NarrowProducts.cpp - multiply quantised values as integers ---------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A quantised value is (q - z) * s, with 8-bit codes q, a zero point z and a
// scale s. If z and s do not vary along the contracted dimensions, a product of
// two such values is
//   (sum q q' - z sum q' - z' sum q + k z z') * s s'
// with k terms in each sum. The first sum becomes a dot_general of casts from
// 8 bits to int32, which a device with 8-bit products multiplies as it is
// (multiplied() in OpClasses.h). The sums of a constant operand fold. Products
// of int32 have no scales; they wrap, and so do the corrections. Sums that
// replace those of float32 must fit int32. Convolutions are in
// NarrowConvolution.cpp. Products of floats with quantised weights are in
// WeightOnlyProduct.cpp. Legal for inference only: the codes have no gradient.
//
//===----------------------------------------------------------------------===//
#include "ir/Remarks.h"
#include "passes/OpClasses.h"
#include "passes/Passes.h"
#include "passes/simplify/QuantizedValue.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
#define GEN_PASS_DEF_NARROWPRODUCTS
#include "passes/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral kPass = "narrow-products";

/// Takes one product apart and builds the narrow one in front of it.
class Narrowing {
public:
  explicit Narrowing(DotGeneralOp dot)
      : dot(dot), builder(dot), b(builder, dot.getLoc()), reader(b) {}

  /// The value of `dot` by 8-bit products; null with `reason` if it has none.
  Value run(StringRef &reason);

private:
  Value spread(Value kept, bool isLhs);
  Value product(Value lhs, Value rhs);

  ArrayRef<int64_t> contracted(bool isLhs) {
    return isLhs ? dot.getLhsContract() : dot.getRhsContract();
  }
  Value operand(bool isLhs) { return isLhs ? dot.getLhs() : dot.getRhs(); }
  Type i32() { return builder.getI32Type(); }

  DotGeneralOp dot;
  OpBuilder builder;
  ValueBuilder b;
  QuantizedReader reader;
};

} // namespace

/// Repeats a value that has the batch and free dimensions of one operand to the
/// shape of the result. Null if the order of the dimensions differs.
Value Narrowing::spread(Value kept, bool isLhs) {
  ArrayRef<int64_t> batch = isLhs ? dot.getLhsBatch() : dot.getRhsBatch();
  SmallVector<int64_t> free = isLhs ? dot.getLhsFree() : dot.getRhsFree();
  int64_t firstFree = static_cast<int64_t>(
      batch.size() + (isLhs ? 0 : dot.getLhsFree().size()));
  SmallVector<int64_t> to;
  for (int64_t dim = 0, rank = tensorType(operand(isLhs)).getRank(); dim < rank;
       ++dim) {
    if (const auto *it = llvm::find(batch, dim); it != batch.end())
      to.push_back(it - batch.begin());
    else if (auto *at = llvm::find(free, dim); at != free.end())
      to.push_back(firstFree + (at - free.begin()));
  }
  return llvm::is_sorted(to)
             ? b.broadcast(kept, tensorType(dot.getResult()).getShape(), to)
             : Value();
}

/// The products of a part of the left and one of the right operand, in the
/// shape of the result; null if one of them has no such shape. The product with
/// a splat is a vector along the other's dimensions, as calls read it.
Value Narrowing::product(Value lhs, Value rhs) {
  auto times = [&](Value value, Value other, bool isLhs) {
    SplatElementsAttr splat;
    if (!matchPattern(other, m_Constant(&splat)))
      return Value();
    Value same = b.make<ConstantOp>(splat.resizeSplat(tensorType(value)));
    return spread(b.mul(value, same), isLhs);
  };
  if (Value spreadOut = times(rhs, lhs, false))
    return spreadOut;
  if (Value spreadOut = times(lhs, rhs, true))
    return spreadOut;
  Value x = spread(lhs, true), y = spread(rhs, false);
  return x && y ? b.mul(x, y) : Value();
}

// Pattern: dot(cast(q - z) * s, cast(q' - z') * s') -> cast(dot(q, q') less
// corrections) * s s'; the same for int32 without casts and scales
Value Narrowing::run(StringRef &reason) {
  Type element = tensorType(dot.getLhs()).getElementType();
  const bool isFloat = element.isF32();
  std::optional<Quantized> lhs = reader.read(dot.getLhs()),
                           rhs = lhs ? reader.read(dot.getRhs()) : std::nullopt;
  if (!rhs) {
    reason = "an operand is not quantised to 8 bits";
    return {};
  }
  double terms = 1;
  for (int64_t dim : dot.getLhsContract())
    terms *= static_cast<double>(tensorType(dot.getLhs()).getDimSize(dim));
  if (isFloat && !sumsFit(*lhs, *rhs, terms)) {
    reason = "the sums may exceed 32 bits";
    return {};
  }
  // Zero points and scales in the shape of the result.
  auto keptOf = [&](Value part, bool isLhs) {
    return part ? reader.withoutDims(part, contracted(isLhs)) : Value();
  };
  Value zeroA = keptOf(lhs->zero, true), zeroB = keptOf(rhs->zero, false),
        scaleA = keptOf(lhs->scale, true), scaleB = keptOf(rhs->scale, false);
  if (bool(zeroA) != bool(lhs->zero) || bool(zeroB) != bool(rhs->zero) ||
      bool(scaleA) != isFloat || bool(scaleB) != isFloat) {
    reason = "a zero point or scale varies along a contracted dimension";
    return {};
  }
  Value a = b.cast(lhs->codes, i32()), c = b.cast(rhs->codes, i32());
  Value sum = b.make<DotGeneralOp>(
      a, c, dot.getLhsBatchAttr(), dot.getRhsBatchAttr(),
      dot.getLhsContractAttr(), dot.getRhsContractAttr(), UnitAttr());
  Value sumB = zeroA ? b.sum(c, contracted(false)) : Value();
  if (zeroA && zeroB)
    sumB = b.sub(sumB, b.mul(zeroB, terms));
  for (auto [left, right] :
       {std::pair(zeroA, sumB),
        std::pair(zeroB ? b.sum(a, contracted(true)) : Value(), zeroB)}) {
    if (!left)
      continue;
    Value correction = product(left, right);
    if (!correction) {
      reason = "batch and free dimensions of an operand alternate";
      return {};
    }
    sum = b.add(sum, b.neg(correction));
  }
  if (!isFloat)
    return sum;
  Value scales = product(scaleA, scaleB);
  if (!scales) {
    reason = "batch and free dimensions of an operand alternate";
    return {};
  }
  return b.mul(b.cast(sum, element), scales);
}

namespace {

/// Whether `op` is a contraction of float32 or int32 that the pass has not
/// built.
bool isWide(Operation *op) {
  if (!isa<DotGeneralOp, ConvOp>(op))
    return false;
  Type element = tensorType(op->getOperand(0)).getElementType();
  bool isNarrow =
      widenedBytes(op->getOperand(0)) && widenedBytes(op->getOperand(1));
  return (element.isF32() || element.isSignlessInteger(32)) && !isNarrow;
}

struct NarrowProductsPass : impl::NarrowProductsBase<NarrowProductsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> contractions;
    getOperation().walk([&](Operation *op) {
      if (isWide(op))
        contractions.push_back(op);
    });
    bool isChanged = false;
    for (Operation *op : contractions) {
      StringRef reason;
      auto dot = dyn_cast<DotGeneralOp>(op);
      Value narrow = dot ? Narrowing(dot).run(reason)
                         : narrowConvolution(cast<ConvOp>(op), reason);
      if (!narrow && dot)
        narrow = weightOnlyProduct(dot, reason);
      if (!narrow) {
        remark(kPass, "not-narrowed", op->getLoc(), reason);
        continue;
      }
      remark(kPass, "narrowed", op->getLoc());
      op->getResult(0).replaceAllUsesWith(narrow);
      op->erase();
      isChanged = true;
    }
    // What made floats of the codes would be folded before it is removed.
    IRRewriter rewriter(&getContext());
    if (isChanged)
      (void)runRegionDCE(rewriter, getOperation()->getRegions());
  }
};

} // namespace
} // namespace sinter::passes
