//===- NarrowFloats.cpp - 16-bit floats as integers -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Rounds to nearest even, also subnormal numbers and infinities; every NaN
// becomes a quiet NaN, with instructions always the same one. Conversion from
// float64 is correctly rounded: the float32 in between is rounded to odd, so
// that rounding twice gives the same result.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/NarrowFloats.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace sinter::codegen {
namespace {

bool isNarrow(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isF16() || element.isBF16();
}

/// Arithmetic on scalars or on vectors of one length.
class Bits {
public:
  Bits(PatternRewriter &rewriter, Location loc, Type shape)
      : b(loc, rewriter), shape(shape) {}

  Type shaped(Type element) {
    if (auto vector = dyn_cast<VectorType>(shape))
      return vector.clone(element);
    return element;
  }
  Value integer(unsigned width, uint64_t value) {
    IntegerAttr attr = b.getIntegerAttr(b.getIntegerType(width),
                                        APInt(64, value).trunc(width));
    return constant(attr);
  }
  Value number(float value) { return constant(b.getF32FloatAttr(value)); }
  Value add(Value x, Value y) { return b.create<arith::AddIOp>(x, y); }
  Value sub(Value x, Value y) { return b.create<arith::SubIOp>(x, y); }
  Value both(Value x, Value y) { return b.create<arith::AndIOp>(x, y); }
  Value either(Value x, Value y) { return b.create<arith::OrIOp>(x, y); }
  Value left(Value x, unsigned count) {
    return b.create<arith::ShLIOp>(x, integer(32, count));
  }
  Value right(Value x, unsigned count) {
    return b.create<arith::ShRUIOp>(x, integer(32, count));
  }
  Value below(Value x, uint64_t y) {
    return b.create<arith::CmpIOp>(arith::CmpIPredicate::ult, x,
                                   integer(32, y));
  }
  Value select(Value condition, Value x, Value y) {
    return b.create<arith::SelectOp>(condition, x, y);
  }
  Value cast(Type element, Value x) {
    return b.create<arith::BitcastOp>(shaped(element), x);
  }
  Value bitsOf(Value x) { return cast(b.getI32Type(), x); }
  Value floatOf(Value x) { return cast(b.getF32Type(), x); }

  /// The bits of a 16-bit float as float32.
  Value widen(Value x);
  /// The bits of a 16-bit float, as i32, from the bits of a float32.
  Value toBfloat16(Value bits);
  Value toHalf(Value bits);
  /// The bits of a float64 as float32, rounded to odd.
  Value toOdd(Value x);

  ImplicitLocOpBuilder b;

private:
  Value constant(TypedAttr attr) {
    if (auto vector = dyn_cast<VectorType>(shaped(attr.getType())))
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    return b.create<arith::ConstantOp>(attr);
  }
  Type shape;
};

Value Bits::widen(Value x) {
  bool isHalf = getElementTypeOrSelf(x.getType()).isF16();
  Value bits =
      b.create<arith::ExtUIOp>(shaped(b.getI32Type()), cast(b.getI16Type(), x));
  if (!isHalf)
    return left(bits, 16);
  // In the fields of a float32 the number is too small by a factor of 2^112. A
  // multiplication corrects that, also for subnormal numbers. Infinities and
  // NaN need the largest exponent instead.
  Value magnitude = left(both(bits, integer(32, 0x7fff)), 13);
  Value scaled =
      bitsOf(b.create<arith::MulFOp>(floatOf(magnitude), number(0x1p112f)));
  Value isFinite = below(magnitude, 0x7c00u << 13);
  Value special = either(magnitude, integer(32, 0x7f800000));
  Value sign = left(both(bits, integer(32, 0x8000)), 16);
  return either(sign, select(isFinite, scaled, special));
}

Value Bits::toBfloat16(Value bits) {
  Value odd = both(right(bits, 16), integer(32, 1));
  Value rounded = right(add(add(bits, integer(32, 0x7fff)), odd), 16);
  Value magnitude = both(bits, integer(32, 0x7fffffff));
  Value quiet = either(right(bits, 16), integer(32, 0x40));
  return select(below(magnitude, 0x7f800001), rounded, quiet);
}

Value Bits::toHalf(Value bits) {
  Value sign = right(both(bits, integer(32, 0x80000000)), 16);
  Value magnitude = both(bits, integer(32, 0x7fffffff));
  Value odd = both(right(magnitude, 13), integer(32, 1));
  Value normal = right(
      add(add(sub(magnitude, integer(32, 112u << 23)), integer(32, 0xfff)),
          odd),
      13);
  // Adding 1/2 leaves the multiple of 2^-24 in the lowest bits, rounded.
  Value shifted = b.create<arith::AddFOp>(floatOf(magnitude), number(0.5f));
  Value subnormal = sub(bitsOf(shifted), integer(32, 0x3f000000));
  Value result = select(below(magnitude, 113u << 23), subnormal, normal);
  // From 65520 on, the nearest value is infinity.
  result = select(below(magnitude, 0x477ff000), result, integer(32, 0x7c00));
  result = select(below(magnitude, 0x7f800001), result, integer(32, 0x7e00));
  return either(sign, result);
}

Value Bits::toOdd(Value x) {
  Type wide = x.getType();
  Value nearest = b.create<arith::TruncFOp>(shaped(b.getF32Type()), x);
  Value back = b.create<arith::ExtFOp>(wide, nearest);
  auto magnitude = [&](Value v) {
    Type i64 = shaped(b.getI64Type());
    return b
        .create<arith::AndIOp>(b.create<arith::BitcastOp>(i64, v),
                               integer(64, ~uint64_t(0) >> 1))
        .getResult();
  };
  // Magnitudes compare as integers; a NaN stays a NaN either way.
  Value isAbove = b.create<arith::CmpIOp>(arith::CmpIPredicate::ugt,
                                          magnitude(back), magnitude(x));
  Value isExact = b.create<arith::CmpFOp>(arith::CmpFPredicate::UEQ, back, x);
  Value bits = bitsOf(nearest);
  Value toZero = select(isAbove, sub(bits, integer(32, 1)), bits);
  return select(isExact, bits, either(toZero, integer(32, 1)));
}

/// Pattern: truncf(extf(x)) -> x
struct FoldRoundTrip : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    auto ext = op.getIn().getDefiningOp<arith::ExtFOp>();
    if (!ext || ext.getIn().getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "of another number");
    rewriter.replaceOp(op, ext.getIn());
    return success();
  }
};

/// Pattern: extf(x) of a 16-bit float -> integer arithmetic
struct ExpandExtension : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isNarrow(op.getIn().getType()))
      return rewriter.notifyMatchFailure(op, "of a wider float");
    Bits bits(rewriter, op.getLoc(), op.getType());
    Value result = bits.floatOf(bits.widen(op.getIn()));
    if (getElementTypeOrSelf(op.getType()).isF64())
      result = bits.b.create<arith::ExtFOp>(op.getType(), result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// Rounds `x`, a float32 number or a vector of them, by instructions for two.
Value roundByPairs(ImplicitLocOpBuilder &b, Type element, Value x,
                   const NarrowInstructions &instructions) {
  auto pair = [&](Value low, Value high) {
    return instructions.roundPair(b, b.getLoc(), element, low, high);
  };
  Value zero = b.create<arith::ConstantOp>(b.getF32FloatAttr(0));
  auto type = dyn_cast<VectorType>(x.getType());
  if (!type)
    return b.create<arith::BitcastOp>(
        element,
        b.create<arith::TruncIOp>(b.getI16Type(), pair(x, zero)).getResult());
  const int64_t size = type.getNumElements(), pairs = llvm::divideCeil(size, 2);
  auto at = [&](int64_t i) -> Value {
    return i < size ? b.create<vector::ExtractOp>(x, i).getResult() : zero;
  };
  Value words = b.create<arith::ConstantOp>(
      b.getZeroAttr(VectorType::get(pairs, b.getI32Type())));
  for (int64_t i = 0; i < pairs; ++i)
    words =
        b.create<vector::InsertOp>(pair(at(2 * i), at(2 * i + 1)), words, i);
  Value numbers =
      b.create<vector::BitCastOp>(VectorType::get(2 * pairs, element), words);
  if (size % 2 == 0)
    return numbers;
  return b.create<vector::ExtractStridedSliceOp>(numbers, ArrayRef<int64_t>{0},
                                                 ArrayRef<int64_t>{size},
                                                 ArrayRef<int64_t>{1});
}

/// Pattern: truncf(x) to a 16-bit float -> integer arithmetic
struct ExpandTruncation : OpRewritePattern<arith::TruncFOp> {
  ExpandTruncation(MLIRContext *context, const NarrowInstructions &instructions)
      : OpRewritePattern(context), instructions(instructions) {}
  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isNarrow(op.getType()))
      return rewriter.notifyMatchFailure(op, "to a wider float");
    Bits bits(rewriter, op.getLoc(), op.getType());
    bool isDouble = getElementTypeOrSelf(op.getIn().getType()).isF64();
    Type element = getElementTypeOrSelf(op.getType());
    if (instructions.roundPair) {
      Value number =
          isDouble ? bits.floatOf(bits.toOdd(op.getIn())) : op.getIn();
      rewriter.replaceOp(op,
                         roundByPairs(bits.b, element, number, instructions));
      return success();
    }
    Value wide = isDouble ? bits.toOdd(op.getIn()) : bits.bitsOf(op.getIn());
    Value narrow = element.isF16() ? bits.toHalf(wide) : bits.toBfloat16(wide);
    narrow = bits.b.create<arith::TruncIOp>(bits.shaped(bits.b.getI16Type()),
                                            narrow);
    rewriter.replaceOp(op, bits.cast(element, narrow));
    return success();
  }
  const NarrowInstructions &instructions;
};

class ExpandNarrowFloats
    : public PassWrapper<ExpandNarrowFloats, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandNarrowFloats)
  explicit ExpandNarrowFloats(NarrowInstructions instructions)
      : instructions(std::move(instructions)) {}
  StringRef getName() const override { return "ExpandNarrowFloats"; }

  void runOnOperation() override {
    // Round trips are folded first, before their conversions are expanded.
    RewritePatternSet folds(&getContext()), expansions(&getContext());
    folds.add<FoldRoundTrip>(&getContext());
    expansions.add<ExpandExtension>(&getContext());
    expansions.add<ExpandTruncation>(&getContext(), instructions);
    for (RewritePatternSet *patterns : {&folds, &expansions})
      arith::BitcastOp::getCanonicalizationPatterns(*patterns, &getContext());
    if (failed(
            applyPatternsAndFoldGreedily(getOperation(), std::move(folds))) ||
        failed(applyPatternsAndFoldGreedily(getOperation(),
                                            std::move(expansions))))
      signalPassFailure();
  }

private:
  NarrowInstructions instructions;
};

} // namespace

std::unique_ptr<Pass>
createExpandNarrowFloats(NarrowInstructions instructions) {
  return std::make_unique<ExpandNarrowFloats>(std::move(instructions));
}

} // namespace sinter::codegen
