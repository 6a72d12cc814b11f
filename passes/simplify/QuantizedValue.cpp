//===- QuantizedValue.cpp - values that stand for 8-bit codes -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/simplify/QuantizedValue.h"
#include "ir/StoredIntegers.h"
#include "passes/OpClasses.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

IntegerRange rangeOf(IntegerType type) {
  return type.isUnsigned() ? IntegerRange{0, 255} : IntegerRange{-128, 127};
}

/// Bounds of the integers `value`, if they follow from a constant or a type of
/// 8 bits.
std::optional<IntegerRange> rangeOf(Value value) {
  if (auto constant = value.getDefiningOp<ConstantOp>())
    if (auto range = integerRange(cast<ElementsAttr>(constant.getValue())))
      return range;
  // A view of a constant is narrower than its type.
  Operation *def = value.getDefiningOp();
  if (isView(def) || (def && widenedBytes(value)))
    return rangeOf(def->getOperand(0));
  auto type = dyn_cast<IntegerType>(tensorType(value).getElementType());
  return type && type.getWidth() == 8 ? std::optional(rangeOf(type))
                                      : std::nullopt;
}

} // namespace

/// A constant of int32 whose elements fit 8 bits, perhaps less a zero point.
std::optional<Quantized> QuantizedReader::constantOf(Value value) const {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant || !constant.getType().getElementType().isSignlessInteger(32))
    return std::nullopt;
  auto integers = cast<ElementsAttr>(constant.getValue());
  std::optional<IntegerRange> range = integerRange(integers);
  if (!range || range->greatest - range->least > 255)
    return std::nullopt;
  const auto [least, greatest] = *range;
  const bool isUnsigned = least >= 0 && greatest > 127;
  const int64_t zero = isUnsigned
                           ? (greatest > 255 ? least : 0)
                           : (least < -128 || greatest > 127 ? least + 128 : 0);
  auto code = isUnsigned ? IntegerType::get(value.getContext(), 8,
                                            IntegerType::Unsigned)
                         : IntegerType::get(value.getContext(), 8);
  OpBuilder at(constant);
  Value codes = at.create<ConstantOp>(
      value.getLoc(), narrowedIntegers(integers, zero, code, "codes"));
  return Quantized{
      codes,
      zero ? b.splat(constant.getType(), static_cast<double>(-zero)) : Value(),
      {}};
}

/// The parts of a transposed value, transposed.
template <class Parts>
std::optional<Quantized> QuantizedReader::throughTranspose(Value value,
                                                           Parts parts) const {
  auto transpose = value.getDefiningOp<TransposeOp>();
  std::optional<Quantized> from =
      transpose ? parts(transpose.getX()) : std::nullopt;
  if (!from)
    return std::nullopt;
  for (Value *part : {&from->codes, &from->zero, &from->scale})
    if (*part)
      *part = b.transpose(*part, transpose.getPerm());
  return from;
}

/// Of int32: cast(codes), or cast(codes) - zero.
std::optional<Quantized> QuantizedReader::integersOf(Value value) const {
  if (Value codes = widenedBytes(value))
    return Quantized{codes, {}, {}};
  if (auto difference = value.getDefiningOp<SubOp>()) {
    Value codes = widenedBytes(difference.getLhs());
    if (!codes)
      return std::nullopt;
    std::optional<IntegerRange> zero = rangeOf(difference.getRhs());
    bool isZero = zero && zero->least == 0 && zero->greatest == 0;
    return Quantized{codes, isZero ? Value() : difference.getRhs(), {}};
  }
  if (std::optional<Quantized> constant = constantOf(value))
    return constant;
  return throughTranspose(value, [&](Value x) { return integersOf(x); });
}

/// Of float32: cast(integers) * scale.
std::optional<Quantized> QuantizedReader::floatsOf(Value value) const {
  auto product = value.getDefiningOp<MulOp>();
  if (!product)
    return throughTranspose(value, [&](Value x) { return floatsOf(x); });
  auto cast = product.getLhs().getDefiningOp<CastOp>();
  if (!cast)
    return std::nullopt;
  auto from = dyn_cast<IntegerType>(cast.getX().getType().getElementType());
  std::optional<Quantized> parts;
  if (from && from.getWidth() == 8)
    parts = Quantized{cast.getX(), {}, {}};
  else if (from && from.isSignlessInteger(32))
    parts = integersOf(cast.getX());
  if (parts)
    parts->scale = product.getRhs();
  return parts;
}

/// `value` without `dims`, along which it must not vary; null if it may.
Value QuantizedReader::withoutDims(Value value, ArrayRef<int64_t> dims) const {
  RankedTensorType type = tensorType(value);
  RankedTensorType kept = withShape(type, dropDims(type.getShape(), dims));
  if (SplatElementsAttr splat; matchPattern(value, m_Constant(&splat)))
    return b.make<ConstantOp>(splat.resizeSplat(kept));
  if (auto cast = value.getDefiningOp<CastOp>()) {
    Value from = withoutDims(cast.getX(), dims);
    return from ? b.cast(from, type.getElementType()) : Value();
  }
  if (auto transpose = value.getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> before, order;
    for (int64_t dim : dims)
      before.push_back(transpose.getPerm()[dim]);
    for (auto [i, dim] : llvm::enumerate(transpose.getPerm()))
      if (!llvm::is_contained(dims, static_cast<int64_t>(i)))
        order.push_back(dim - llvm::count_if(before, [dim = dim](int64_t x) {
                          return x < dim;
                        }));
    Value from = withoutDims(transpose.getX(), before);
    return from ? b.transpose(from, order) : Value();
  }
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return {};
  SmallVector<int64_t> shape, to;
  for (auto [size, dim] : llvm::zip_equal(broadcast.getX().getType().getShape(),
                                          broadcast.getDims())) {
    if (llvm::is_contained(dims, dim)) {
      if (size != 1)
        return {};
      continue;
    }
    shape.push_back(size);
    to.push_back(
        dim - llvm::count_if(dims, [dim = dim](int64_t x) { return x < dim; }));
  }
  return b.broadcast(b.reshape(broadcast.getX(), shape), kept.getShape(), to);
}

std::optional<Quantized> QuantizedReader::read(Value value) const {
  return tensorType(value).getElementType().isF32() ? floatsOf(value)
                                                    : integersOf(value);
}

bool sumsFit(const Quantized &lhs, const Quantized &rhs, double terms) {
  double most = terms;
  for (const Quantized &side : {lhs, rhs}) {
    IntegerRange codes = *rangeOf(side.codes);
    std::optional<IntegerRange> zero =
        side.zero ? rangeOf(side.zero) : std::optional(IntegerRange{0, 0});
    if (!zero)
      return false;
    most *= static_cast<double>(
        std::max(codes.greatest - zero->least, zero->greatest - codes.least));
  }
  return most <= std::numeric_limits<int32_t>::max();
}

} // namespace sinter::passes
