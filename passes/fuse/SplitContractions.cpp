//===- SplitContractions.cpp - long sums of products, in parts ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A kernel gives each tile of a product to one block of threads, so a long sum
// with few results leaves most of a GPU idle: the gradient of a weight, a
// product with few rows. Here the sum is cut into stretches, which become a
// batch of products in float32. A reduction adds them up in its fixed tree. The
// number of stretches depends on the shape alone. Library calls are left to the
// library.
//
//===----------------------------------------------------------------------===//
#include "passes/fuse/SplitContractions.h"
#include "ir/Build.h"
#include "ir/Dialect.h"
#include "ir/Remarks.h"
#include "passes/fuse/ChooseCalls.h"

#include "mlir/Pass/Pass.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_SPLITCONTRACTIONS
#include "passes/Passes.h.inc"

namespace {

/// The tile that a block computes, roughly, and the number of tiles that keeps
/// a GPU busy.
constexpr int64_t kTile = 64, kManyTiles = 128;
/// The fewest steps of the sum that are worth a block.
constexpr int64_t kLeastSteps = 512;
/// The same for a product of a vector: the threads of a block share the sums of
/// few results.
constexpr int64_t kVectorTile = 16, kLeastVectorSteps = 4096;
/// Stretches begin at multiples of this many steps. They are read in units of
/// 16 bytes if the whole is.
constexpr int64_t kAlignment = 8;

/// The number of positions along `dims` of `value`.
int64_t sizeOf(Value value, ArrayRef<int64_t> dims) {
  int64_t size = 1;
  for (int64_t dim : dims)
    size *= ir::tensorType(value).getDimSize(dim);
  return size;
}

} // namespace

bool isOfVector(ir::DotGeneralOp dot) {
  return sizeOf(dot.getLhs(), dot.getLhsFree()) == 1 ||
         sizeOf(dot.getRhs(), dot.getRhsFree()) == 1;
}

int64_t stretchesOf(ir::DotGeneralOp dot) {
  if (dot.getLhsContract().size() != 1 ||
      !dot.getType().getElementType().isF32())
    return 1;
  int64_t steps = sizeOf(dot.getLhs(), dot.getLhsContract());
  bool isVector = isOfVector(dot);
  int64_t tile = isVector ? kVectorTile : kTile,
          leastSteps = isVector ? kLeastVectorSteps : kLeastSteps;
  int64_t tiles =
      sizeOf(dot.getLhs(), dot.getLhsBatch()) *
      llvm::divideCeil(sizeOf(dot.getLhs(), dot.getLhsFree()), tile) *
      llvm::divideCeil(sizeOf(dot.getRhs(), dot.getRhsFree()), tile);
  if (tiles == 0)
    return 1;
  int64_t stretches = 1;
  while (tiles * stretches < kManyTiles &&
         steps % (2 * stretches * kAlignment) == 0 &&
         steps / (2 * stretches) >= leastSteps)
    stretches *= 2;
  return stretches;
}

Value cutDimension(OpBuilder &b, Location loc, Value value, int64_t dim,
                   int64_t count) {
  if (auto cast = value.getDefiningOp<ir::CastOp>())
    return ir::castTo(b, loc, cutDimension(b, loc, cast.getX(), dim, count),
                      cast.getType().getElementType());
  SmallVector<int64_t> shape(ir::tensorType(value).getShape());
  shape[dim] /= count;
  shape.insert(shape.begin() + dim, count);
  return ir::reshapeTo(b, loc, value, shape);
}

namespace {

/// The dimension of the stretches, then `dims` as they are numbered after the
/// cut of `cutDim`.
SmallVector<int64_t> withStretches(ArrayRef<int64_t> dims, int64_t cutDim) {
  SmallVector<int64_t> list{cutDim};
  for (int64_t dim : dims)
    list.push_back(dim > cutDim ? dim + 1 : dim);
  return list;
}

class SplitContractionsPass
    : public impl::SplitContractionsBase<SplitContractionsPass> {
public:
  explicit SplitContractionsPass(const Target *target) : target(target) {}

  void runOnOperation() override {
    int64_t split = 0;
    SmallVector<ir::DotGeneralOp> dots(
        getOperation().getOps<ir::DotGeneralOp>());
    for (ir::DotGeneralOp dot : dots) {
      if (implementationOf(dot, target) != Implementation::Generated)
        continue;
      int64_t stretches = stretchesOf(dot);
      if (stretches == 1)
        continue;
      splitInto(dot, stretches);
      ++split;
    }
    if (split)
      ir::remark("split-contractions", "split", getOperation().getLoc(), "",
                 split);
  }

private:
  // Pattern: a . b -> sum over stretches of (a . b over the stretch)
  static void splitInto(ir::DotGeneralOp dot, int64_t stretches) {
    OpBuilder b(dot);
    Location loc = dot.getLoc();
    int64_t lhsDim = dot.getLhsContract()[0], rhsDim = dot.getRhsContract()[0];
    SmallVector<int64_t> shape(dot.getType().getShape());
    shape.insert(shape.begin(), stretches);
    OperationState state(loc, ir::DotGeneralOp::getOperationName());
    state.addOperands({cutDimension(b, loc, dot.getLhs(), lhsDim, stretches),
                       cutDimension(b, loc, dot.getRhs(), rhsDim, stretches)});
    state.addTypes(ir::withShape(dot.getType(), shape));
    state.addAttributes(dot->getAttrs()); // those about precision, too
    auto parts = cast<ir::DotGeneralOp>(b.create(state));
    parts.setLhsBatch(withStretches(dot.getLhsBatch(), lhsDim));
    parts.setRhsBatch(withStretches(dot.getRhsBatch(), rhsDim));
    parts.setLhsContract(lhsDim + 1);
    parts.setRhsContract(rhsDim + 1);
    dot.replaceAllUsesWith(
        ir::reduceOver(b, loc, ir::ReduceKind::sum, parts.getResult(), {0}));
    SmallVector<Value> operands(dot->getOperands());
    dot.erase();
    for (Value operand : operands)
      if (auto cast = operand.getDefiningOp<ir::CastOp>();
          cast && cast->use_empty())
        cast.erase();
  }

  const Target *target;
};

} // namespace

std::unique_ptr<Pass> createSplitContractions(const Target *target) {
  return std::make_unique<SplitContractionsPass>(target);
}

} // namespace sinter::passes
