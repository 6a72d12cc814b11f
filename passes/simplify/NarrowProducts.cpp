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
// replace those of float32 must fit int32. Legal for inference only: the codes
// have no gradient.
//
//===----------------------------------------------------------------------===//
#include "ir/Remarks.h"
#include "ir/Tensor.h"
#include "passes/OpClasses.h"
#include "passes/Passes.h"
#include "passes/ValueBuilder.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
#define GEN_PASS_DEF_NARROWPRODUCTS
#include "passes/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral kPass = "narrow-products";

/// The least and the greatest of some integers.
struct Range {
  int64_t least, greatest;
};

/// A value as (codes - zero) * scale. Each part has the shape of the value;
/// null: a zero point of 0, a scale of 1.
struct Quantised {
  Value codes, zero, scale;
};

Range rangeOf(IntegerType type) {
  return type.isUnsigned() ? Range{0, 255} : Range{-128, 127};
}

/// The elements of a constant of integers; nothing for other values.
std::optional<Tensor> constantIntegers(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant || !isa<IntegerType>(constant.getType().getElementType()))
    return std::nullopt;
  FailureOr<Tensor> tensor =
      Tensor::fromAttr(cast<ElementsAttr>(constant.getValue()));
  if (failed(tensor) || tensor->ints.empty())
    return std::nullopt;
  return std::move(*tensor);
}

Range rangeOf(const Tensor &tensor) {
  auto [least, greatest] =
      std::minmax_element(tensor.ints.begin(), tensor.ints.end());
  return {*least, *greatest};
}

/// Bounds of the integers `value`, if they follow from a constant or a type of
/// 8 bits.
std::optional<Range> rangeOf(Value value) {
  if (SplatElementsAttr splat; matchPattern(value, m_Constant(&splat)) &&
                               isa<IntegerType>(splat.getElementType())) {
    APInt number = splat.getSplatValue<APInt>();
    int64_t bits = splat.getElementType().isUnsignedInteger()
                       ? static_cast<int64_t>(number.getZExtValue())
                       : number.getSExtValue();
    return Range{bits, bits};
  }
  if (std::optional<Tensor> tensor = constantIntegers(value))
    return rangeOf(*tensor);
  if (auto type = dyn_cast<IntegerType>(tensorType(value).getElementType());
      type && type.getWidth() == 8)
    return rangeOf(type);
  Operation *def = value.getDefiningOp();
  bool moves = isView(def) || (def && widenedBytes(value));
  return moves ? rangeOf(def->getOperand(0)) : std::nullopt;
}

/// Takes one product apart and builds the narrow one in front of it.
class Narrowing {
public:
  explicit Narrowing(DotGeneralOp dot)
      : dot(dot), builder(dot), b(builder, dot.getLoc()) {}

  /// The value of `dot` by 8-bit products; null with `reason` if it has none.
  Value run(StringRef &reason);

private:
  std::optional<Quantised> integersOf(Value value);
  std::optional<Quantised> floatsOf(Value value);
  std::optional<Quantised> constantOf(Value value);
  template <class Parts>
  std::optional<Quantised> throughTranspose(Value value, Parts parts);
  Value withoutDims(Value value, ArrayRef<int64_t> dims);
  Value spread(Value kept, bool isLhs);
  bool sumsFit(const Quantised &lhs, const Quantised &rhs);

  ArrayRef<int64_t> contracted(bool isLhs) {
    return isLhs ? dot.getLhsContract() : dot.getRhsContract();
  }
  Value operand(bool isLhs) { return isLhs ? dot.getLhs() : dot.getRhs(); }
  Type i32() { return builder.getI32Type(); }

  DotGeneralOp dot;
  OpBuilder builder;
  ValueBuilder b;
};

} // namespace

/// A constant of int32 whose elements fit 8 bits, perhaps less a zero point.
std::optional<Quantised> Narrowing::constantOf(Value value) {
  std::optional<Tensor> tensor = constantIntegers(value);
  if (!tensor || !tensor->type().getElementType().isSignlessInteger(32))
    return std::nullopt;
  auto [least, greatest] = rangeOf(*tensor);
  if (greatest - least > 255)
    return std::nullopt;
  const bool isUnsigned = least >= 0 && greatest > 127;
  const int64_t zero = isUnsigned
                           ? (greatest > 255 ? least : 0)
                           : (least < -128 || greatest > 127 ? least + 128 : 0);
  Tensor codes(withElement(
      tensor->type(),
      isUnsigned ? IntegerType::get(dot.getContext(), 8, IntegerType::Unsigned)
                 : IntegerType::get(dot.getContext(), 8)));
  for (auto [code, number] : llvm::zip_equal(codes.ints, tensor->ints))
    code = number - zero;
  OpBuilder at(value.getDefiningOp());
  Value narrow = at.create<ConstantOp>(value.getLoc(), codes.toAttr("codes"));
  return Quantised{narrow,
                   zero ? b.splat(tensor->type(), static_cast<double>(-zero))
                        : Value(),
                   {}};
}

/// The parts of a transposed value, transposed.
template <class Parts>
std::optional<Quantised> Narrowing::throughTranspose(Value value, Parts parts) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  std::optional<Quantised> from =
      transpose ? parts(transpose.getX()) : std::nullopt;
  if (!from)
    return std::nullopt;
  for (Value *part : {&from->codes, &from->zero, &from->scale})
    if (*part)
      *part = b.transpose(*part, transpose.getPerm());
  return from;
}

/// Of int32: cast(codes), or cast(codes) - zero.
std::optional<Quantised> Narrowing::integersOf(Value value) {
  if (Value codes = widenedBytes(value))
    return Quantised{codes, {}, {}};
  if (auto difference = value.getDefiningOp<SubOp>()) {
    Value codes = widenedBytes(difference.getLhs());
    return codes ? std::optional(Quantised{codes, difference.getRhs(), {}})
                 : std::nullopt;
  }
  if (std::optional<Quantised> constant = constantOf(value))
    return constant;
  return throughTranspose(value, [&](Value x) { return integersOf(x); });
}

/// Of float32: cast(integers) * scale.
std::optional<Quantised> Narrowing::floatsOf(Value value) {
  auto product = value.getDefiningOp<MulOp>();
  if (!product)
    return throughTranspose(value, [&](Value x) { return floatsOf(x); });
  auto cast = product.getLhs().getDefiningOp<CastOp>();
  if (!cast)
    return std::nullopt;
  auto from = dyn_cast<IntegerType>(cast.getX().getType().getElementType());
  std::optional<Quantised> parts;
  if (from && from.getWidth() == 8)
    parts = Quantised{cast.getX(), {}, {}};
  else if (from && from.isSignlessInteger(32))
    parts = integersOf(cast.getX());
  if (parts)
    parts->scale = product.getRhs();
  return parts;
}

/// `value` without `dims`, along which it must not vary; null if it may.
Value Narrowing::withoutDims(Value value, ArrayRef<int64_t> dims) {
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

/// Whether every sum of products fits int32.
bool Narrowing::sumsFit(const Quantised &lhs, const Quantised &rhs) {
  double most = 1;
  for (int64_t dim : dot.getLhsContract())
    most *= static_cast<double>(tensorType(dot.getLhs()).getDimSize(dim));
  for (const Quantised &side : {lhs, rhs}) {
    Range codes = *rangeOf(side.codes);
    std::optional<Range> zero =
        side.zero ? rangeOf(side.zero) : std::optional(Range{0, 0});
    if (!zero)
      return false;
    most *= static_cast<double>(
        std::max(codes.greatest - zero->least, zero->greatest - codes.least));
  }
  return most <= std::numeric_limits<int32_t>::max();
}

// Pattern: dot(cast(q - z) * s, cast(q' - z') * s') -> cast(dot(q, q') less
// corrections) * s s'; the same for int32 without casts and scales
Value Narrowing::run(StringRef &reason) {
  Type element = tensorType(dot.getLhs()).getElementType();
  const bool isFloat = element.isF32();
  auto partsOf = [&](Value value) {
    return isFloat ? floatsOf(value) : integersOf(value);
  };
  std::optional<Quantised> lhs = partsOf(dot.getLhs()),
                           rhs = lhs ? partsOf(dot.getRhs()) : std::nullopt;
  if (!rhs) {
    reason = "an operand is not quantised to 8 bits";
    return {};
  }
  if (isFloat && !sumsFit(*lhs, *rhs)) {
    reason = "the sums may exceed 32 bits";
    return {};
  }
  // Zero points and scales in the shape of the result.
  auto keptOf = [&](Value part, bool isLhs) {
    return part ? withoutDims(part, contracted(isLhs)) : Value();
  };
  auto spreadOf = [&](Value kept, bool isLhs) {
    return kept ? spread(kept, isLhs) : Value();
  };
  Value zeroA = keptOf(lhs->zero, true), zeroB = keptOf(rhs->zero, false),
        scaleA = spreadOf(keptOf(lhs->scale, true), true),
        scaleB = spreadOf(keptOf(rhs->scale, false), false);
  if (bool(zeroA) != bool(lhs->zero) || bool(zeroB) != bool(rhs->zero) ||
      bool(scaleA) != isFloat || bool(scaleB) != isFloat) {
    reason = "a zero point or scale varies along a contracted dimension";
    return {};
  }
  Value a = b.cast(lhs->codes, i32()), c = b.cast(rhs->codes, i32());
  Value sum = b.make<DotGeneralOp>(
      a, c, dot.getLhsBatchAttr(), dot.getRhsBatchAttr(),
      dot.getLhsContractAttr(), dot.getRhsContractAttr(), UnitAttr());
  auto correct = [&](Value zero, bool isLhs, Value other) {
    Value by = spread(zero, isLhs), sums = spread(other, !isLhs);
    if (by && sums)
      sum = b.sub(sum, b.mul(by, sums));
    return by && sums;
  };
  Value sumB = zeroA ? b.sum(c, contracted(false)) : Value();
  if (zeroA && zeroB) {
    double terms = 1;
    for (int64_t dim : dot.getLhsContract())
      terms *= static_cast<double>(tensorType(dot.getLhs()).getDimSize(dim));
    sumB = b.sub(sumB, b.mul(zeroB, terms));
  }
  if ((zeroA && !correct(zeroA, true, sumB)) ||
      (zeroB && !correct(zeroB, false, b.sum(a, contracted(true))))) {
    reason = "batch and free dimensions of an operand alternate";
    return {};
  }
  return isFloat ? b.mul(b.cast(sum, element), b.mul(scaleA, scaleB)) : sum;
}

namespace {

struct NarrowProductsPass : impl::NarrowProductsBase<NarrowProductsPass> {
  void runOnOperation() override {
    SmallVector<DotGeneralOp> dots;
    getOperation().walk([&](DotGeneralOp dot) {
      Type element = tensorType(dot.getLhs()).getElementType();
      bool isNarrow = widenedBytes(dot.getLhs()) && widenedBytes(dot.getRhs());
      if ((element.isF32() || element.isSignlessInteger(32)) && !isNarrow)
        dots.push_back(dot);
    });
    for (DotGeneralOp dot : dots) {
      StringRef reason;
      Value narrow = Narrowing(dot).run(reason);
      if (!narrow) {
        remark(kPass, "not-narrowed", dot.getLoc(), reason);
        continue;
      }
      remark(kPass, "narrowed", dot.getLoc());
      dot.getResult().replaceAllUsesWith(narrow);
      dot.erase();
    }
  }
};

} // namespace
} // namespace sinter::passes
