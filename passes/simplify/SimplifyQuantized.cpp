//===- SimplifyQuantized.cpp - patterns on values of 8-bit codes ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The patterns give the same bits. A table of codes is evaluated like every
// constant: a function such as erf may be an ulp away from what the program
// would compute, which changes a code if the value lies halfway between two.
//
//===----------------------------------------------------------------------===//
#include "ir/Tensor.h"
#include "ir/eval/Evaluate.h"
#include "passes/OpClasses.h"
#include "passes/QuantizedPostOps.h"
#include "passes/ValueBuilder.h"
#include "passes/WithoutReshapes.h"
#include "passes/simplify/SimplifyPatterns.h"

#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {
namespace {

/// Whether differences of two codes times `scale` are normal or 0.
bool isPlainScale(float scale) {
  constexpr float greatest = 512;
  return scale > 0 && std::isnormal(scale) && std::isfinite(greatest * scale);
}

/// Whether values that are dequantised from `coded` become the same codes when
/// they are quantised to `type` with a scale and a zero point: the scales and
/// the zero points are equal. Two roundings change a number below 2^9 by less
/// than 2^-13.
bool keepsCodes(const CodedValue &coded, Type type, float scale, float zero) {
  return tensorType(coded.codes).getElementType() == type &&
         coded.scale == scale && coded.zero == zero && isPlainScale(scale);
}

// Pattern: quantised(max_window(dequantised(codes))) -> max_window(codes), with
// one scale and one zero point
struct MaximumOfCodes : OpRewritePattern<ReduceWindowOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceWindowOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<CodedValue> from = codedValueOf(op.getX());
    if (op.getKind() != ReduceKind::max || !from)
      return rewriter.notifyMatchFailure(op, "not a maximum of codes");
    std::optional<QuantizedPostOp> to = matchQuantize(op.getResult());
    if (!to)
      return rewriter.notifyMatchFailure(op, "the maximum is not quantised");
    if (!keepsCodes(*from, tensorType(to->result()).getElementType(),
                    to->postOp.alpha.getValue().convertToFloat(),
                    to->postOp.beta.getValue().convertToFloat()))
      return rewriter.notifyMatchFailure(op, "the codes have another scale");
    rewriter.setInsertionPoint(op);
    auto maximum = rewriter.create<ReduceWindowOp>(
        op.getLoc(), to->result().getType(), op.getKind(), from->codes,
        op.getWindow(), op.getStrides(), op.getDilations(), op.getPadsLow(),
        op.getPadsHigh());
    rewriter.replaceOp(to->members.back(), maximum.getResult());
    return success();
  }
};

// Pattern: quantised(dequantised(codes)) -> codes, with one scale and one zero
// point
struct SameCodes : OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CastOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<QuantizedValue> to = quantizedValueOf(op.getResult());
    std::optional<CodedValue> from = to ? codedValueOf(to->x) : std::nullopt;
    if (!from ||
        !keepsCodes(*from, op.getType().getElementType(), to->scale, to->zero))
      return rewriter.notifyMatchFailure(op, "not codes of the same scale");
    rewriter.replaceOp(op, from->codes);
    return success();
  }
};

// Pattern: dequantised(codes) * c -> dequantised(codes) with the scale times c,
// if c is a power of two
struct ScaledCodes : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    SplatElementsAttr factor;
    if (!op.getType().getElementType().isF32() ||
        !matchPattern(op.getRhs(), m_Constant(&factor)))
      return rewriter.notifyMatchFailure(op, "not a product with a number");
    std::optional<CodedValue> coded = codedValueOf(op.getLhs());
    const float number = factor.getSplatValue<APFloat>().convertToFloat();
    int exponent = 0;
    if (!coded || std::frexp(number, &exponent) != 0.5f ||
        !isPlainScale(coded->scale) || !isPlainScale(coded->scale * number))
      return rewriter.notifyMatchFailure(op, "not a power of two times codes");
    auto dequantized = op.getLhs().getDefiningOp<MulOp>();
    Value integers = dequantized.getLhs(), scale = dequantized.getRhs();
    if (!integers.getDefiningOp<CastOp>())
      std::swap(integers, scale);
    auto constant = rewriter.create<ConstantOp>(
        scale.getLoc(),
        SplatElementsAttr::get(op.getType(), coded->scale * number));
    rewriter.replaceOpWithNewOp<MulOp>(op, integers, constant);
    return success();
  }
};

/// The elements of a table of 8-bit codes.
constexpr int64_t kCodes = 256;

/// The 8-bit codes that a gather looks up in a table of kCodes 8-bit codes;
/// null for another op. A table begins with the least code.
Value lookedUp(GatherOp gather) {
  if (!gather || tensorType(gather.getX()).getShape() != ArrayRef(kCodes) ||
      !tensorType(gather.getX()).getElementType().isInteger(8) ||
      !gather.getX().getDefiningOp<ConstantOp>())
    return {};
  Value index = gather.getIndices();
  if (auto sum = index.getDefiningOp<AddOp>()) {
    SplatElementsAttr offset;
    if (!matchPattern(sum.getRhs(), m_Constant(&offset)) ||
        offset.getSplatValue<APInt>() != kCodes / 2)
      return {};
    index = sum.getLhs();
  }
  Value codes = widenedBytes(index);
  const bool isSigned = index != gather.getIndices();
  return codes && tensorType(codes).getElementType().isUnsignedInteger() !=
                      isSigned
             ? codes
             : Value();
}

/// A value of 8-bit codes as a function of other codes, element by element.
class CodeFunction {
public:
  explicit CodeFunction(Operation *op) : result(op) {}

  /// Whether it is one.
  bool isOne() { return visitOperands(result) && codes; }
  /// Whether a table is cheaper: reading it takes about as long as a division
  /// and what surrounds it.
  bool isExpensive() const {
    int64_t divisions = 0;
    for (Operation *op : ops) {
      if (!isa<AddOp, SubOp, MulOp, DivOp, NegOp, MaxOp, MinOp, ReluOp, RoundOp,
               CastOp, AbsOp, WhereOp, CompareOp, ReshapeOp>(op))
        return true;
      divisions += isa<DivOp>(op);
    }
    return divisions > 1;
  }
  /// The value for each code of `codes`; null if an op has none.
  ElementsAttr table() const;

  Value codes;

private:
  bool visitOperands(Operation *op);
  bool visit(Value value);

  Operation *result;
  llvm::SetVector<Operation *> ops; // operands come first
};

bool CodeFunction::visitOperands(Operation *op) {
  constexpr size_t mostOps = 128;
  if (!isa<ReshapeOp>(op) &&
      !(isElementwise(op) && isa<EvaluateOpInterface>(op)))
    return false;
  for (Value operand : op->getOperands())
    if (!visit(operand))
      return false;
  ops.insert(op);
  return ops.size() <= mostOps;
}

bool CodeFunction::visit(Value value) {
  Operation *op = value.getDefiningOp();
  if (op && ops.contains(op))
    return true;
  if (SplatElementsAttr splat; matchPattern(value, m_Constant(&splat)))
    return true;
  if (!tensorType(value).getElementType().isInteger(8))
    return op && visitOperands(op);
  // Codes are a function of other codes, too, or where this one begins.
  if (isa_and_nonnull<CastOp>(op)) {
    const CodeFunction before = *this;
    if (visitOperands(op))
      return true;
    *this = before;
  }
  Value from = lookedUp(value.getDefiningOp<GatherOp>());
  from = withoutReshapes(from ? from : value);
  if (codes && codes != from)
    return false;
  codes = from;
  return true;
}

ElementsAttr CodeFunction::table() const {
  OpBuilder detached(result->getContext());
  ScopedDiagnosticHandler silence(result->getContext(),
                                  [](Diagnostic &) { return success(); });
  auto tableOf = [](Value value) { return tensorType(value).clone({kCodes}); };
  DenseMap<Value, ElementsAttr> known;
  auto valueOf = [&](Value value) -> ElementsAttr {
    if (ElementsAttr found = known.lookup(value))
      return found;
    if (SplatElementsAttr splat; matchPattern(value, m_Constant(&splat)))
      return splat.resizeSplat(tableOf(value));
    auto gather = value.getDefiningOp<GatherOp>();
    if (lookedUp(gather)) {
      ElementsAttr found;
      matchPattern(gather.getX(), m_Constant(&found));
      return found;
    }
    Tensor all(tableOf(value));
    for (int64_t i = 0; i < kCodes; ++i)
      all.ints[i] = all.isUnsigned() ? i : i - kCodes / 2;
    return all.toAttr();
  };
  for (Operation *op : ops) {
    SmallVector<ElementsAttr> operands =
        llvm::map_to_vector(op->getOperands(), valueOf);
    if (isa<ReshapeOp>(op)) {
      known[op->getResult(0)] = operands.front();
      continue;
    }
    SmallVector<Operation *> sources;
    SmallVector<Value> values;
    for (ElementsAttr operand : operands) {
      sources.push_back(detached.create<ConstantOp>(op->getLoc(), operand));
      values.push_back(sources.back()->getResult(0));
    }
    Operation *copy = cloneWithShape(detached, op, values, {kCodes});
    auto evaluated = evaluateConstant(copy, operands);
    copy->destroy();
    for (Operation *source : sources)
      source->destroy();
    if (failed(evaluated))
      return {};
    known[op->getResult(0)] = evaluated->front();
  }
  return known.lookup(result->getResult(0));
}

// Pattern: f(codes) -> gather(table, codes), if f has 8-bit codes as its result
// and is expensive
struct TableOfCodes : OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CastOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType type = op.getType();
    CodeFunction function(op);
    if (!type.getElementType().isInteger(8) ||
        type.getNumElements() <= kCodes || !function.isOne() ||
        !function.isExpensive())
      return rewriter.notifyMatchFailure(op, "no expensive function of codes");
    ElementsAttr table = function.table();
    if (!table)
      return rewriter.notifyMatchFailure(op, "it has no value for a code");
    ValueBuilder b(rewriter, op.getLoc());
    Value codes = function.codes;
    if (tensorType(codes).getShape() != type.getShape())
      codes =
          b.make<ReshapeOp>(tensorType(codes).clone(type.getShape()), codes);
    RankedTensorType indexType = type.clone(rewriter.getI32Type());
    Value index = b.make<CastOp>(indexType, codes);
    if (!tensorType(codes).getElementType().isUnsignedInteger())
      index =
          b.add(index, b.make<ConstantOp>(SplatElementsAttr::get(
                           indexType, rewriter.getI32IntegerAttr(kCodes / 2))));
    rewriter.replaceOp(op, b.make<GatherOp>(type, b.make<ConstantOp>(table),
                                            index, /*axis=*/0));
    return success();
  }
};

} // namespace

void addQuantizedPatterns(RewritePatternSet &patterns) {
  patterns.add<MaximumOfCodes, SameCodes, ScaledCodes, TableOfCodes>(
      patterns.getContext());
}

} // namespace sinter::passes
