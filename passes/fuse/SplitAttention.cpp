//===- SplitAttention.cpp - attention with one query, in parts ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Attention with one query reads each key and value once, so its speed is that
// of memory, but it has few results: one block for each head would leave most
// of a GPU idle. Here the keys are cut into stretches, as in flash decoding
// (Dao et al., "Flash-Decoding for long-context inference", 2023). Each stretch
// has its greatest score m, its sum l of exp(score - m), and its product o of
// these exponentials and the values. With M the greatest m, the output is
//   sum of exp(m - M) o / sum of exp(m - M) l.
// The number of stretches depends on the shape alone. FuseRows makes one kernel
// of what is computed for a stretch.
//
//===----------------------------------------------------------------------===//
#include "passes/fuse/SplitAttention.h"
#include "ir/Build.h"
#include "ir/Remarks.h"
#include "passes/MatmulForm.h"
#include "passes/OpClasses.h"
#include "passes/fuse/ChooseCalls.h"
#include "passes/fuse/Fusion.h"
#include "passes/fuse/PersistentKernel.h"
#include "passes/fuse/SplitContractions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SetVector.h"

#include <limits>

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_SPLITATTENTION
#include "passes/Passes.h.inc"

namespace {

/// Rows that keep a GPU busy, and the fewest keys that are worth a block. They
/// are a multiple of what is read at once.
constexpr int64_t kManyRows = 128, kLeastKeys = 64, kAlignment = 8;

int64_t stretchesOf(int64_t rows, int64_t keys) {
  int64_t stretches = 1;
  while (rows * stretches < kManyRows &&
         keys % (2 * stretches * kAlignment) == 0 &&
         keys / (2 * stretches) >= kLeastKeys)
    stretches *= 2;
  return stretches;
}

/// True when `value` repeats row i of `reduced` along the last dimension.
bool isSpread(Value value, Value reduced) {
  StridedView view = viewOf(value, ViewDepth::loops);
  if (withoutAliases(view.base) != withoutAliases(reduced) || view.offset != 0)
    return false;
  int64_t stride = 1;
  for (auto [number, loops] : llvm::enumerate(llvm::reverse(view.dims)))
    for (const StridedLoop &loop : llvm::reverse(loops)) {
      if (loop.stride != (number == 0 ? 0 : stride))
        return false;
      if (number > 0)
        stride *= loop.size;
    }
  return stride == ir::tensorType(reduced).getNumElements();
}

/// The reduction of `kind` along the last dimension of `x` from whose result
/// `value` is computed alone: by stop_gradient, aliases, and a selection that
/// avoids a special case. Null if there is none.
ir::ReduceOp reductionOf(Value value, ir::ReduceKind kind, Value x) {
  for (int step = 0; step < 4; ++step) {
    value = withoutAliases(value);
    Operation *def = value.getDefiningOp();
    if (auto reduce = dyn_cast_or_null<ir::ReduceOp>(def)) {
      int64_t last = ir::tensorType(x).getRank() - 1;
      bool fits = reduce.getKind() == kind && reduce.getX() == x &&
                  reduce.getDims() == ArrayRef(last);
      return fits ? reduce : nullptr;
    }
    if (auto stop = dyn_cast_or_null<ir::StopGradientOp>(def))
      value = stop.getX();
    else if (auto where = dyn_cast_or_null<ir::WhereOp>(def))
      value = where->getOperand(2);
    else
      return nullptr;
  }
  return nullptr;
}

/// The value that is repeated along the last dimension to become `value`.
Value spreadBase(Value value) { return viewOf(value, ViewDepth::loops).base; }

/// True when elementwise ops compute `value` from a batch of products of
/// vectors.
bool isOfVectorProduct(Value value, int depth = 0) {
  constexpr int deepest = 16;
  Operation *def = value.getDefiningOp();
  if (!def || depth > deepest)
    return false;
  if (auto dot = dyn_cast<ir::DotGeneralOp>(def))
    return isOfVector(dot);
  return (isElementwise(def) || def->hasTrait<ir::Alias>()) &&
         llvm::any_of(def->getOperands(), [&](Value operand) {
           return isOfVectorProduct(operand, depth + 1);
         });
}

/// softmax(scores) . values, where the softmax is a batch of vectors.
class OneQuery {
public:
  explicit OneQuery(ir::DotGeneralOp product) : product(product) {}

  bool find() {
    for (bool isLhs : {true, false})
      if (find(isLhs))
        return true;
    return false;
  }

  int64_t stretches() const {
    RankedTensorType type = ir::tensorType(scores);
    int64_t keys = type.getShape().back();
    return stretchesOf(type.getNumElements() / keys, keys);
  }

  // Pattern: softmax(scores) . values
  //       -> sum(weights * parts) / sum(weights * sums), over stretches
  void split(int64_t count) {
    OpBuilder b(greatest);
    Location loc = greatest.getLoc();
    int64_t stretch = static_cast<int64_t>(batch.size()); // the new dimension
    SmallVector<int64_t> rows(batch), parts(batch), cut(batch);
    parts.push_back(count);
    cut.append({count, keys() / count});
    Value x = ir::reshapeTo(b, loc, scores, cut);
    Value most = ir::reduceOver(b, loc, ir::ReduceKind::max, x, {stretch + 1});
    // A stretch may be masked as a whole.
    Value isMasked = b.create<ir::CompareOp>(
        loc, ir::CompareKind::eq, most,
        ir::splatLike(b, loc, most, -std::numeric_limits<double>::infinity()));
    Value start = b.create<ir::WhereOp>(loc, most.getType(), isMasked,
                                        ir::zerosLike(b, loc, most), most);
    Value power = b.create<ir::ExpOp>(
        loc, b.create<ir::SubOp>(
                 loc, x, ir::spreadOver(b, loc, start, cut, {stretch + 1})));
    Value sums =
        ir::reduceOver(b, loc, ir::ReduceKind::sum, power, {stretch + 1});
    // The ops between the maximum and the sum see that of all stretches.
    Value all = ir::reduceOver(b, loc, ir::ReduceKind::max, most, {stretch});
    replace(greatest, b, all, base);

    b.setInsertionPoint(total);
    loc = total.getLoc();
    Value weights = b.create<ir::ExpOp>(
        loc, b.create<ir::SubOp>(
                 loc, most,
                 ir::spreadOver(b, loc, ir::reshapeTo(b, loc, base, rows),
                                parts, {stretch})));
    Value sum =
        ir::reduceOver(b, loc, ir::ReduceKind::sum,
                       b.create<ir::MulOp>(loc, weights, sums), {stretch});
    replace(total, b, sum, divisor);

    b.setInsertionPoint(product);
    loc = product.getLoc();
    Value partial = productOfStretches(b, loc, power, count);
    ArrayRef<int64_t> shape = ir::tensorType(partial).getShape();
    SmallVector<int64_t> free; // dimensions of the values
    for (int64_t dim = stretch + 1; dim < std::ssize(shape); ++dim)
      free.push_back(dim);
    Value output = ir::reduceOver(
        b, loc, ir::ReduceKind::sum,
        b.create<ir::MulOp>(loc, ir::spreadOver(b, loc, weights, shape, free),
                            partial),
        {stretch});
    SmallVector<int64_t> whole(ir::tensorType(output).getShape()), freeDims;
    for (int64_t dim : free)
      freeDims.push_back(dim - 1);
    output = b.create<ir::DivOp>(
        loc, output,
        ir::spreadOver(b, loc, ir::reshapeTo(b, loc, divisor, rows), whole,
                       freeDims));
    product.replaceAllUsesWith(
        ir::reshapeTo(b, loc, output, product.getType().getShape()));
    eraseUnused(product);
  }

private:
  int64_t keys() const { return ir::tensorType(scores).getShape().back(); }

  bool find(bool isLhs) {
    Value vector = isLhs ? product.getLhs() : product.getRhs();
    ArrayRef<int64_t> batchDims =
        isLhs ? product.getLhsBatch() : product.getRhsBatch();
    ArrayRef<int64_t> contract =
        isLhs ? product.getLhsContract() : product.getRhsContract();
    ArrayRef<int64_t> shape = ir::tensorType(vector).getShape();
    if (contract != ArrayRef<int64_t>(std::ssize(shape) - 1) ||
        !product.getType().getElementType().isF32())
      return false;
    batch.clear();
    for (auto [number, dim] : llvm::enumerate(batchDims)) {
      if (dim != static_cast<int64_t>(number))
        return false;
      batch.push_back(shape[dim]);
    }
    if (llvm::any_of(shape.slice(batch.size()).drop_back(),
                     [](int64_t size) { return size != 1; }))
      return false;
    isVectorLhs = isLhs;
    return findSoftmax(vector);
  }

  bool findSoftmax(Value vector) {
    narrow = nullptr;
    if (Value rounded = widened(vector); rounded && vector.hasOneUse()) {
      auto cast = rounded.getDefiningOp<ir::CastOp>();
      if (!cast || !cast.getX().getType().getElementType().isF32() ||
          !rounded.hasOneUse())
        return false;
      narrow = cast.getType().getElementType();
      vector = cast.getX();
    }
    auto quotient = vector.getDefiningOp<ir::DivOp>();
    if (!quotient || !vector.hasOneUse())
      return false;
    Value power = quotient->getOperand(0);
    auto exp = power.getDefiningOp<ir::ExpOp>();
    auto difference =
        exp ? exp->getOperand(0).getDefiningOp<ir::SubOp>() : nullptr;
    if (!difference || !difference->hasOneUse() ||
        std::distance(power.use_begin(), power.use_end()) != 2)
      return false;
    scores = difference->getOperand(0);
    base = spreadBase(difference->getOperand(1));
    divisor = spreadBase(quotient->getOperand(1));
    greatest = reductionOf(base, ir::ReduceKind::max, scores);
    total = reductionOf(divisor, ir::ReduceKind::sum, power);
    return greatest && total && isSpread(difference->getOperand(1), base) &&
           isSpread(quotient->getOperand(1), divisor) &&
           isOfVectorProduct(scores);
  }

  /// The product of the powers and the values of each stretch: [batch.., count,
  /// dimensions of the values]. A reshape follows it, so that its kernel does
  /// not take the ops that wait for all stretches.
  Value productOfStretches(OpBuilder &b, Location loc, Value power,
                           int64_t count) {
    SmallVector<int64_t> oneRow(ir::tensorType(power).getShape());
    oneRow.insert(oneRow.end() - 1, 1);
    power = ir::reshapeTo(b, loc, power, oneRow);
    Value values = isVectorLhs ? product.getRhs() : product.getLhs();
    int64_t dim =
        (isVectorLhs ? product.getRhsContract() : product.getLhsContract())[0];
    if (narrow)
      power =
          ir::castTo(b, loc, ir::castTo(b, loc, power, narrow), b.getF32Type());
    SmallVector<int64_t> valueBatch;
    for (int64_t other :
         isVectorLhs ? product.getRhsBatch() : product.getLhsBatch())
      valueBatch.push_back(other > dim ? other + 1 : other);
    valueBatch.push_back(dim);
    int64_t last = std::ssize(oneRow) - 1;
    SmallVector<int64_t> powerBatch =
        llvm::to_vector(llvm::seq<int64_t>(0, last - 1));
    values = cutDimension(b, loc, values, dim, count);
    auto parts = b.create<ir::DotGeneralOp>(loc, power, values, powerBatch,
                                            valueBatch, ArrayRef<int64_t>(last),
                                            ArrayRef<int64_t>(dim + 1));
    for (NamedAttribute attribute : product->getAttrs())
      if (!parts->hasAttr(attribute.getName()))
        parts->setAttr(attribute.getName(), attribute.getValue());
    SmallVector<int64_t> shape(parts.getType().getShape());
    shape.erase(shape.begin() + last - 1);
    return ir::reshapeTo(b, loc, parts, shape);
  }

  /// Replaces `reduce`, also as `used`, by `value` in its shape.
  static void replace(ir::ReduceOp reduce, OpBuilder &b, Value value,
                      Value &used) {
    value =
        ir::reshapeTo(b, reduce.getLoc(), value, reduce.getType().getShape());
    if (used == reduce.getResult())
      used = value;
    reduce.replaceAllUsesWith(value);
    reduce.erase();
  }

  /// Erases `op`, and what only it used.
  static void eraseUnused(Operation *op) {
    llvm::SmallSetVector<Operation *, 4> definitions;
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp())
        definitions.insert(def);
    op->erase();
    for (Operation *def : definitions)
      if (def->use_empty())
        eraseUnused(def);
  }

  ir::DotGeneralOp product;
  bool isVectorLhs = true;
  SmallVector<int64_t> batch; // sizes
  Type narrow;                // to which the probabilities are rounded, or null
  Value scores, base, divisor;
  ir::ReduceOp greatest, total;
};

struct SplitAttentionPass : impl::SplitAttentionBase<SplitAttentionPass> {
  SplitAttentionPass(const Target *target, ArrayRef<ProgramDevice> devices)
      : mainTarget(target), devices(devices) {}

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    const Target *target = targetOf(function, devices, mainTarget);
    if (!target || !target->traits().hasExpensiveLaunches ||
        function->hasAttr(kPersistentAttr))
      return;
    int64_t split = 0;
    SmallVector<ir::DotGeneralOp> dots(function.getOps<ir::DotGeneralOp>());
    for (ir::DotGeneralOp dot : dots) {
      OneQuery attention(dot);
      if (!isOfVector(dot) ||
          implementationOf(dot, target) != Implementation::Generated ||
          !attention.find())
        continue;
      int64_t stretches = attention.stretches();
      if (stretches == 1)
        continue;
      attention.split(stretches);
      ++split;
    }
    if (split)
      ir::remark("split-attention", "split", function.getLoc(), "", split);
  }

private:
  const Target *mainTarget;
  SmallVector<ProgramDevice> devices;
};

} // namespace

std::unique_ptr<Pass> createSplitAttention(const Target *target,
                                           ArrayRef<ProgramDevice> devices) {
  return std::make_unique<SplitAttentionPass>(target, devices);
}

} // namespace sinter::passes
