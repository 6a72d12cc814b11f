//===- CodedWeights.cpp - constant weights as small integers --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/CodedWeights.h"
#include "passes/OpClasses.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {

Value CodedWeights::build(ValueBuilder &b) const {
  ArrayRef<int64_t> stored = tensorType(codes).getShape();
  const int64_t n = stored[1], k = bits == 4 ? 2 * stored[0] : stored[0];
  Value number = codes;
  if (bits == 4) {
    const int64_t apart[] = {stored[0], 1, n};
    Value low = b.make<AndOp>(codes, b.like(codes, 15)),
          high = b.make<ShiftRightOp>(codes, b.like(codes, 4));
    number = b.reshape(b.make<ConcatOp>(ValueRange{b.reshape(low, apart),
                                                   b.reshape(high, apart)},
                                        static_cast<uint64_t>(1)),
                       {k, n});
  }
  number = b.cast(number, b.b.getF32Type());
  const bool isOneBlock = block == k;
  SmallVector<int64_t> shape{k, n}, dims{1};
  if (!isOneBlock) {
    shape = {k / block, block, n};
    dims = {0, 2};
    number = b.reshape(number, shape);
  }
  auto all = [&](const PerBlock &part) {
    if (!part.values)
      return b.like(number, part.number);
    return b.broadcast(isOneBlock ? b.reshape(part.values, {n}) : part.values,
                       shape, dims);
  };
  if (zero.values || zero.number != 0)
    number = b.sub(number, all(zero));
  if (scale.values || scale.number != 1)
    number = b.mul(number, all(scale));
  return b.reshape(number, {k, n});
}

namespace {

/// Walks from the weights to the codes.
class Matcher {
public:
  std::optional<CodedWeights> match(Value weights) {
    RankedTensorType type = tensorType(weights);
    if (type.getRank() != 2 || !type.getElementType().isF32())
      return std::nullopt;
    rows = type.getDimSize(0);
    columns = type.getDimSize(1);
    Value value = weights;
    skipReshape(value);
    if (auto mul = take<MulOp>(value);
        mul && !perBlock(mul, coded.scale, value))
      return std::nullopt;
    skipReshape(value);
    if (auto sub = take<SubOp>(value); sub && !perBlock(sub, coded.zero, value))
      return std::nullopt;
    skipReshape(value);
    auto cast = take<CastOp>(value);
    if (!cast || !cast.getX().getType().getElementType().isInteger(8))
      return std::nullopt;
    value = cast.getX();
    if (!isConstant(value) && !halves(value))
      return std::nullopt;
    auto constant = value.getDefiningOp<ConstantOp>();
    if (!isConstant(value) || (constant && !constant->hasAttr(kUnfoldedAttr)) ||
        tensorType(value).getShape() !=
            ArrayRef<int64_t>({coded.bits == 4 ? rows / 2 : rows, columns}))
      return std::nullopt;
    coded.codes = value;
    if (coded.block == 0)
      coded.block = rows;
    std::reverse(coded.ops.begin(), coded.ops.end());
    return coded;
  }

private:
  /// In a call, constants are arguments.
  static bool isConstant(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument ? isa<LibraryCallOp>(argument.getOwner()->getParentOp())
                    : value.getDefiningOp<ConstantOp>() != nullptr;
  }

  template <class OpTy> OpTy take(Value value) {
    auto op = value.getDefiningOp<OpTy>();
    if (op)
      coded.ops.push_back(op);
    return op;
  }
  void skipReshape(Value &value) {
    if (auto reshape = take<ReshapeOp>(value))
      value = reshape.getX();
  }

  /// Takes the second operand of `op` and continues with the first.
  template <class OpTy> bool perBlock(OpTy op, PerBlock &part, Value &value) {
    value = op.getLhs();
    Value other = op.getRhs();
    if (std::optional<double> number = splatNumber(other)) {
      coded.ops.push_back(other.getDefiningOp());
      part = {{}, *number};
      return true;
    }
    auto broadcast = take<BroadcastOp>(other);
    if (!broadcast || !isConstant(broadcast.getX()))
      return false;
    ArrayRef<int64_t> shape = tensorType(other).getShape();
    const bool isColumn = shape.size() == 2,
               isBlock = shape.size() == 3 && shape[2] == columns;
    if (isColumn ? broadcast.getDims() != ArrayRef<int64_t>({1})
                 : !isBlock || broadcast.getDims() != ArrayRef<int64_t>({0, 2}))
      return false;
    const int64_t block = isColumn ? rows : shape[1];
    if (coded.block != 0 && coded.block != block)
      return false;
    coded.block = block;
    part = {broadcast.getX(), 0};
    return tensorType(part.values).getNumElements() == rows / block * columns;
  }

  /// The codes of 4 bits that are the two halves of the bytes `value`.
  bool halves(Value &value) {
    skipReshape(value);
    auto concat = take<ConcatOp>(value);
    if (!concat || concat.getInputs().size() != 2 || concat.getAxis() != 1)
      return false;
    Value low = concat.getInputs()[0], high = concat.getInputs()[1];
    skipReshape(low);
    skipReshape(high);
    auto andOp = take<AndOp>(low);
    auto shift = take<ShiftRightOp>(high);
    if (!andOp || !shift || andOp.getLhs() != shift.getLhs() ||
        !isNumber(andOp.getRhs(), 15) || !isNumber(shift.getRhs(), 4))
      return false;
    coded.bits = 4;
    value = andOp.getLhs();
    return true;
  }
  bool isNumber(Value value, int64_t number) {
    DenseIntElementsAttr splat;
    if (!matchPattern(value, m_Constant(&splat)) || !splat.isSplat() ||
        splat.getSplatValue<APInt>() != number)
      return false;
    coded.ops.push_back(value.getDefiningOp());
    return true;
  }

  int64_t rows = 0, columns = 0;
  CodedWeights coded;
};

} // namespace

std::optional<CodedWeights> codedWeights(Value weights) {
  return Matcher().match(weights);
}

} // namespace sinter::passes
