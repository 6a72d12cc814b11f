//===- CausalMask.cpp - recognition of causal masks -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/recognize/CausalMask.h"

#include "passes/OpClasses.h"
#include "passes/ValueBuilder.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

/// `value` without a broadcast along dimensions before its last two; null if
/// the result does not have these two in full.
Value lastTwoDims(Value value) {
  int64_t rank = tensorType(value).getRank();
  ArrayRef<int64_t> square = tensorType(value).getShape().take_back(2);
  if (auto broadcast = value.getDefiningOp<BroadcastOp>()) {
    ArrayRef<int64_t> dims = broadcast.getDims();
    if (dims.size() < 2 || dims.take_back(2) != ArrayRef{rank - 2, rank - 1})
      return nullptr;
    value = broadcast.getX();
  }
  RankedTensorType type = tensorType(value);
  return type.getRank() >= 2 && type.getNumElements() > 0 &&
                 type.getShape().take_back(2) == square
             ? value
             : nullptr;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// Whether, in every matrix of the last two dimensions of `shape`, `isKept` is
/// true of exactly the elements whose key position is not beyond that of the
/// query. `isKept` returns nothing for an element that no mask has.
template <class Elements, class Function>
bool areCausal(const Elements &elements, ArrayRef<int64_t> shape,
               Function isKept) {
  int64_t keys = shape.back(), queries = shape[shape.size() - 2];
  for (auto [i, element] : llvm::enumerate(elements)) {
    int64_t at = static_cast<int64_t>(i), key = at % keys,
            query = at / keys % queries;
    std::optional<bool> kept = isKept(element);
    if (!kept || *kept != (key <= query))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Comparisons of positions
//===----------------------------------------------------------------------===//

/// query * queries + key * keys + offset: an integer that depends only on the
/// positions of query and key.
struct Position {
  int64_t queries = 0, keys = 0, offset = 0;

  /// Nothing if a number gets larger than any position: it could wrap around.
  std::optional<Position> plus(const Position &other, int64_t sign) const {
    Position sum{queries + sign * other.queries, keys + sign * other.keys,
                 offset + sign * other.offset};
    bool isSmall = isPosition(sum.queries) && isPosition(sum.keys) &&
                   isPosition(sum.offset);
    return isSmall ? std::optional(sum) : std::nullopt;
  }

  static bool isPosition(int64_t number) {
    constexpr int64_t kMost = int64_t(1) << 40;
    return -kMost < number && number < kMost;
  }
};

std::optional<int64_t> splatInteger(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto splat =
      constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : nullptr;
  if (!splat || !splat.getElementType().isSignlessInteger(64))
    return std::nullopt;
  return splat.getSplatValue<APInt>().getSExtValue();
}

/// Reads an operand of a comparison as a position. Follows the few ops that
/// masks are made of, and at most `opsLeft` of them.
class PositionReader {
public:
  explicit PositionReader(int64_t maskRank) : maskRank(maskRank) {}

  /// `value`, whose dimension d is dimension `dims[d]` of the mask.
  std::optional<Position> read(Value value, ArrayRef<int64_t> dims) {
    if (opsLeft == 0)
      return std::nullopt;
    --opsLeft;
    if (std::optional<int64_t> number = splatInteger(value))
      return Position{}.plus({0, 0, *number}, 1);
    Operation *op = value.getDefiningOp();
    if (auto iota = dyn_cast_or_null<IotaOp>(op)) {
      int64_t axis = iota.getAxis();
      if (tensorType(value).getDimSize(axis) == 1)
        return Position{}; // wherever it is repeated
      if (dims[axis] == maskRank - 2)
        return Position{1, 0, 0};
      if (dims[axis] == maskRank - 1)
        return Position{0, 1, 0};
      return std::nullopt;
    }
    if (auto broadcast = dyn_cast_or_null<BroadcastOp>(op)) {
      SmallVector<int64_t> own;
      for (int64_t dim : broadcast.getDims())
        own.push_back(dims[dim]);
      return read(broadcast.getX(), own);
    }
    if (!op || !isa<AddOp, SubOp>(op))
      return std::nullopt;
    std::optional<Position> lhs = read(op->getOperand(0), dims);
    if (!lhs)
      return std::nullopt;
    std::optional<Position> rhs = read(op->getOperand(1), dims);
    return rhs ? lhs->plus(*rhs, isa<AddOp>(op) ? 1 : -1) : std::nullopt;
  }

private:
  int64_t maskRank;
  unsigned opsLeft = 32;
};

/// Whether the comparison (`isContrary`: its negation) is true exactly where
/// the key's position is not beyond that of the query.
bool isCausalComparison(CompareOp compare, bool isContrary) {
  RankedTensorType type = tensorType(compare.getLhs());
  if (!type.getElementType().isSignlessInteger(64))
    return false;
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  PositionReader reader(type.getRank());
  std::optional<Position> lhs = reader.read(compare.getLhs(), dims),
                          rhs = reader.read(compare.getRhs(), dims);
  std::optional<Position> between =
      lhs && rhs ? lhs->plus(*rhs, -1) : std::nullopt;
  if (!between)
    return false;
  const Position &difference = *between;
  if (difference.queries != -difference.keys ||
      std::abs(difference.queries) != 1)
    return false;
  // Written as query - key >= bound (`isLeast`) or query - key <= bound.
  int64_t bound = -difference.offset;
  bool isLeast = false;
  switch (compare.getKind()) {
  case CompareKind::eq:
  case CompareKind::ne:
    return false;
  case CompareKind::gt:
    ++bound;
    [[fallthrough]];
  case CompareKind::ge:
    isLeast = true;
    break;
  case CompareKind::lt:
    --bound;
    break;
  case CompareKind::le:
    break;
  }
  if (difference.queries < 0) {
    isLeast = !isLeast;
    bound = -bound;
  }
  return isContrary ? !isLeast && bound == -1 : isLeast && bound == 0;
}

} // namespace

bool isCausalMask(Value mask) {
  Value value = lastTwoDims(mask);
  if (!value)
    return false;
  if (auto where = value.getDefiningOp<WhereOp>()) {
    std::optional<double> lhs = splatNumber(where.getLhs()),
                          rhs = splatNumber(where.getRhs());
    auto compare = where.getCondition().getDefiningOp<CompareOp>();
    if (!lhs || !rhs || !compare)
      return false;
    return *lhs == 0 ? *rhs <= kMasked && isCausalComparison(compare, false)
                     : *rhs == 0 && *lhs <= kMasked &&
                           isCausalComparison(compare, true);
  }
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant)
    return false;
  FailureOr<Tensor> tensor = Tensor::fromAttr(constant.getValue());
  return succeeded(tensor) && tensor->isFloat() &&
         areCausal(tensor->floats, tensor->shape(),
                   [](double x) -> std::optional<bool> {
                     return x == 0         ? std::optional(true)
                            : x <= kMasked ? std::optional(false)
                                           : std::nullopt;
                   });
}

bool isCausalCondition(Value condition) {
  Value value = lastTwoDims(condition);
  if (!value)
    return false;
  if (auto compare = value.getDefiningOp<CompareOp>())
    return isCausalComparison(compare, false);
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant)
    return false;
  FailureOr<Tensor> tensor = Tensor::fromAttr(constant.getValue());
  return succeeded(tensor) &&
         areCausal(tensor->ints, tensor->shape(),
                   [](int64_t x) { return std::optional(x != 0); });
}

} // namespace sinter::passes
