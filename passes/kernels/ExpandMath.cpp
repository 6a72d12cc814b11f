//===- ExpandMath.cpp - mathematical functions as arithmetic --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// exp, log, tanh, the remainder and the like become arith ops and fma, for
// every target, so that the same program gives the same bits wherever it runs,
// and no kernel needs a math library. Float32Functions has exp and erf of
// float32. For expm1, log, log1p and tanh of float32 these are MLIR's
// polynomials (within 6 units in the last place). MathFunctions computes all
// others, and all of float64, in float64.
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/Constants.h"
#include "passes/kernels/Float32Functions.h"
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
    auto number = [&](float value) {
      return constantOf(b, type, b.getF32FloatAttr(value));
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

/// Pattern: f(x) -> arithmetic in float32.
template <typename Op, auto function>
struct ExpandInFloat32 : OpRewritePattern<Op> {
  ExpandInFloat32(MLIRContext *context)
      : OpRewritePattern<Op>(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "not float32");
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    Float32Functions functions(builder, op.getType());
    rewriter.replaceOp(op, (functions.*function)(op.getOperand()));
    return success();
  }
};

struct ExpandMathPass : impl::ExpandMathBase<ExpandMathPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns);
    patterns.add<LogOfSubnormal,
                 ExpandInFloat32<math::ExpOp, &Float32Functions::exp>,
                 ExpandInFloat32<math::ErfOp, &Float32Functions::erf>>(
        &getContext());
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
