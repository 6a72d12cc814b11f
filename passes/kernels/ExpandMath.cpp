//===- ExpandMath.cpp - mathematical functions as arithmetic --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// exp, log, tanh, the remainder and the like become arith ops and fma, for
// every target, so that the same program gives the same bits wherever it runs,
// and no kernel needs a math library. For exp, expm1, log, log1p, tanh and erf
// of float32 these are MLIR's polynomials (within 6 units in the last place;
// results of exp below the smallest normal number are 0). MathFunctions
// computes all others, and all of float64, in float64.
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/MathFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <numbers>

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_EXPANDMATH
#include "passes/Passes.h.inc"

namespace {

/// Pattern: f(x) -> arithmetic in float64, rounded to x's type.
template <typename Op, auto function>
struct ExpandInFloat64 : OpRewritePattern<Op> {
  /// `float32Too`: there is no polynomial for float32.
  ExpandInFloat64(MLIRContext *context, bool float32Too)
      : OpRewritePattern<Op>(context, /*benefit=*/2), float32Too(float32Too) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    Type element = getElementTypeOrSelf(type);
    if (!element.isF64() && !(element.isF32() && float32Too))
      return rewriter.notifyMatchFailure(op, "not an op of this expansion");
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    Type wide = builder.getF64Type();
    if (auto vector = dyn_cast<VectorType>(type))
      wide = vector.clone(wide);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(
          element.isF64()
              ? operand
              : builder.create<arith::ExtFOp>(wide, operand).getResult());
    MathFunctions functions(builder, wide);
    Value result;
    if constexpr (requires { (functions.*function)(operands[0], operands[1]); })
      result = (functions.*function)(operands[0], operands[1]);
    else
      result = (functions.*function)(operands[0]);
    if (!element.isF64())
      result = builder.create<arith::TruncFOp>(type, result);
    rewriter.replaceOp(op, result);
    return success();
  }

  bool float32Too;
};

/// Marks a float32 op whose values MLIR's polynomial computes correctly.
constexpr StringLiteral kLeftToPolynomial = "sinter.left_to_polynomial";

/// Pattern: erf(x) -> copysign(erf(x), x), float32: MLIR's polynomial loses the
/// sign of zero.
struct ErfOfZero : OpRewritePattern<math::ErfOp> {
  ErfOfZero(MLIRContext *context) : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(math::ErfOp op,
                                PatternRewriter &rewriter) const override {
    if (op->hasAttr(kLeftToPolynomial) ||
        !getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op,
                                         "already expanded, or not float32");
    auto erf = rewriter.create<math::ErfOp>(op.getLoc(), op.getOperand());
    erf->setAttr(kLeftToPolynomial, rewriter.getUnitAttr());
    rewriter.replaceOpWithNewOp<math::CopySignOp>(op, erf, op.getOperand());
    return success();
  }
};

/// Pattern: log(x) -> log(2^k x) - k log 2 where x is subnormal, float32:
/// MLIR's polynomial treats such x as the smallest normal number.
struct LogOfSubnormal : OpRewritePattern<math::LogOp> {
  LogOfSubnormal(MLIRContext *context)
      : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(math::LogOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (op->hasAttr(kLeftToPolynomial) || !getElementTypeOrSelf(type).isF32())
      return rewriter.notifyMatchFailure(op,
                                         "already expanded, or not float32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto number = [&](float value) -> Value {
      TypedAttr attr = b.getF32FloatAttr(value);
      if (auto vector = dyn_cast<VectorType>(type))
        attr = DenseElementsAttr::get(vector, value);
      return b.create<arith::ConstantOp>(attr);
    };
    Value x = op.getOperand();
    Value isSmall = b.create<arith::CmpFOp>(arith::CmpFPredicate::OLT, x,
                                            number(0x1p-126f));
    Value scaled = b.create<arith::MulFOp>(x, number(0x1p24f));
    auto log = b.create<math::LogOp>(
        b.create<arith::SelectOp>(isSmall, scaled, x).getResult());
    log->setAttr(kLeftToPolynomial, b.getUnitAttr());
    Value less = b.create<arith::SubFOp>(
        log, number(static_cast<float>(24 * std::numbers::ln2)));
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isSmall, less, log);
    return success();
  }
};

/// Pattern: exp(x) -> 2^n p(x - n log 2), float32, with n the integer nearest
/// to x / log 2, and MLIR's polynomial p. MLIR's own expansion converts n to an
/// integer and tests for each bound; here adding 1.5 * 2^23 rounds x / log 2 to
/// an integer in the low bits of the sum, and bounds are minima and maxima.
/// Results below 2^-126.5 are 0.
struct ExpOfFloat32 : OpRewritePattern<math::ExpOp> {
  ExpOfFloat32(MLIRContext *context)
      : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32())
      return rewriter.notifyMatchFailure(op, "not float32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Type bitsType = b.getI32Type();
    if (auto vector = dyn_cast<VectorType>(type))
      bitsType = vector.clone(bitsType);
    auto constant = [&](Type of, auto value) -> Value {
      TypedAttr attr;
      if constexpr (std::is_same_v<decltype(value), float>)
        attr = b.getF32FloatAttr(value);
      else
        attr = b.getI32IntegerAttr(value);
      if (auto vector = dyn_cast<VectorType>(of))
        attr = DenseElementsAttr::get(vector, value);
      return b.create<arith::ConstantOp>(attr);
    };
    auto number = [&](float value) { return constant(type, value); };
    auto fma = [&](Value x, Value y, Value z) -> Value {
      return b.create<math::FmaOp>(x, y, z);
    };
    // 2^127 times p of the upper bound is infinite. NaN passes each bound.
    constexpr float least = -87.8F, greatest = 88.8F, shift = 0x1.8p23F;
    Value x = b.create<arith::MaximumFOp>(op.getOperand(), number(least));
    x = b.create<arith::MinimumFOp>(x, number(greatest));
    Value shifted = b.create<arith::MinimumFOp>(
        fma(x, number(0x1.715476p+0F), number(shift)), number(shift + 127));
    Value n = b.create<arith::SubFOp>(shifted, number(shift));
    // log 2 is the difference of both constants.
    Value rest = fma(n, number(-0x1.63p-1F), x);
    rest = fma(n, number(0x1.bd0106p-13F), rest);
    Value sum = number(0x1.a0d2cep-13F);
    for (float coefficient : {0x1.6e879cp-10F, 0x1.11121p-7F, 0x1.555382p-5F,
                              0x1.555554p-3F, 0x1p-1F})
      sum = fma(sum, rest, number(coefficient));
    sum = fma(sum, b.create<arith::MulFOp>(rest, rest), rest);
    sum = b.create<arith::AddFOp>(sum, number(1));
    Value power =
        b.create<arith::ShLIOp>(b.create<arith::BitcastOp>(bitsType, shifted),
                                constant(bitsType, int32_t(23)));
    power =
        b.create<arith::AddIOp>(power, constant(bitsType, int32_t(0x3F800000)));
    rewriter.replaceOpWithNewOp<arith::MulFOp>(
        op, sum, b.create<arith::BitcastOp>(type, power));
    return success();
  }
};

struct ExpandMathPass : impl::ExpandMathBase<ExpandMathPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns);
    patterns.add<ErfOfZero, LogOfSubnormal, ExpOfFloat32>(&getContext());
    auto add = [&]<typename Op, auto function>(bool float32Too) {
      patterns.add<ExpandInFloat64<Op, function>>(&getContext(), float32Too);
    };
    add.operator()<math::ExpOp, &MathFunctions::exp>(false);
    add.operator()<math::ExpM1Op, &MathFunctions::expm1>(false);
    add.operator()<math::LogOp, &MathFunctions::log>(false);
    add.operator()<math::Log1pOp, &MathFunctions::log1p>(false);
    add.operator()<math::TanhOp, &MathFunctions::tanh>(false);
    add.operator()<math::ErfOp, &MathFunctions::erf>(false);
    add.operator()<math::SinhOp, &MathFunctions::sinh>(true);
    add.operator()<math::CoshOp, &MathFunctions::cosh>(true);
    add.operator()<math::AsinhOp, &MathFunctions::asinh>(true);
    add.operator()<math::AcoshOp, &MathFunctions::acosh>(true);
    add.operator()<math::AtanhOp, &MathFunctions::atanh>(true);
    add.operator()<math::SinOp, &MathFunctions::sin>(true);
    add.operator()<math::CosOp, &MathFunctions::cos>(true);
    add.operator()<math::TanOp, &MathFunctions::tan>(true);
    add.operator()<math::AsinOp, &MathFunctions::asin>(true);
    add.operator()<math::AcosOp, &MathFunctions::acos>(true);
    add.operator()<math::AtanOp, &MathFunctions::atan>(true);
    add.operator()<math::PowFOp, &MathFunctions::pow>(true);
    add.operator()<arith::RemFOp, &MathFunctions::fmod>(true);
    if (failed(
            applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace sinter::passes
