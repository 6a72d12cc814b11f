//===- MergeContractions.cpp - merge products of one operand --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Queries, keys and values are products of the same rows with three weights. If
// the weights are concatenated, one call computes all three, with the biases
// and roundings that follow. FoldConstants concatenates constants at compile
// time. Weights that are trained in 16 bits are rounded in each step anyway,
// and then are written side by side; this happens before differentiation, so
// that their gradients are one product, too. Products are merged only if each
// user takes its part of the result by strides (heads), in a later call or a
// kernel. For trained weights that user must be an attention that is one call
// and whose gradient writes to one place.
//
//===----------------------------------------------------------------------===//
#include "passes/layout/MergeContractions.h"
#include "ir/Build.h"
#include "ir/Dialect.h"
#include "ir/IndexMap.h"
#include "ir/Locations.h"
#include "ir/Remarks.h"
#include "ir/Tensor.h"
#include "passes/OpClasses.h"
#include "passes/place/Devices.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_MERGECONTRACTIONS
#include "passes/Passes.h.inc"

namespace {

/// What FoldConstants can fold of one function's weights, with a margin.
constexpr int64_t kMostBytesOfOne = 64 << 20, kMostBytes = 192 << 20;

using Weight = TypedValue<RankedTensorType>;

/// True for values that may be concatenated: constants, or states if trained.
bool isFixed(Value value, bool isTrained) {
  if (!isTrained)
    return value.getDefiningOp<ir::ConstantOp>() != nullptr;
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
               : nullptr;
  return function && function.getArgAttr(argument.getArgNumber(),
                                         ir::SinterDialect::kStateAttr);
}

/// The weight that the dot multiplies rows by, before it is widened.
Weight weightOf(ir::DotGeneralOp dot) {
  return cast<Weight>(asStored(dot.getRhs()));
}

/// True for rows of activations times a matrix of weights.
bool isProjection(ir::DotGeneralOp dot, bool isTrained) {
  RankedTensorType lhs = ir::tensorType(dot.getLhs()),
                   rhs = ir::tensorType(dot.getRhs());
  return isFixed(weightOf(dot), isTrained) &&
         !asStored(dot.getLhs()).getDefiningOp<ir::ConstantOp>() &&
         dot.getLhsBatch().empty() && rhs.getRank() == 2 &&
         dot.getLhsContract().size() == 1 &&
         dot.getLhsContract().front() == lhs.getRank() - 1;
}

/// True when `a` and `b` may be parts of one product.
bool areSiblings(ir::DotGeneralOp a, ir::DotGeneralOp b) {
  return a->getBlock() == b->getBlock() &&
         asStored(a.getLhs()) == asStored(b.getLhs()) &&
         a.getRhsContract() == b.getRhsContract() &&
         a.getTf32() == b.getTf32() &&
         weightOf(a).getType().getElementType() ==
             weightOf(b).getType().getElementType() &&
         ir::tensorType(a.getResult()).getElementType() ==
             ir::tensorType(b.getResult()).getElementType();
}

/// The operand of an addition that is not `value`: a vector of weights, perhaps
/// widened, repeated for all rows.
struct Bias {
  Weight vector;
  bool isWidened = false;
};
std::optional<Bias> biasOf(ir::AddOp add, Value value, bool isTrained) {
  Value other = add.getLhs() == value ? add.getRhs() : add.getLhs();
  Bias bias;
  if (Value narrow = widened(other)) {
    bias.isWidened = true;
    other = narrow;
  }
  auto spread = other.getDefiningOp<ir::BroadcastOp>();
  if (!spread || spread.getDims().size() != 1 ||
      spread.getDims().front() != spread.getType().getRank() - 1)
    return std::nullopt;
  Value vector = spread.getX();
  if (Value narrow = widened(vector)) {
    if (bias.isWidened)
      return std::nullopt;
    bias.isWidened = true;
    vector = narrow;
  }
  bias.vector = cast<Weight>(vector);
  if (!isFixed(vector, isTrained) ||
      bias.vector.getType().getDimSize(0) != spread.getType().getShape().back())
    return std::nullopt;
  return bias;
}

/// True for users that take some of the columns by strides.
bool readsInPlace(Operation *user) {
  auto reshape = dyn_cast<ir::ReshapeOp>(user);
  return isa<ir::TransposeOp>(user) || (reshape && isSplitReshape(reshape));
}

/// True when only moves lead from `value` to its users, and these are
/// attentions that `target` keeps whole.
bool isForAttention(Value value, const Target &target, FloatType narrow) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (isa<ir::AttentionOp>(user))
      return target.keepsComposite(user, narrow);
    return readsInPlace(user) &&
           isForAttention(user->getResult(0), target, narrow);
  });
}

/// Products of one operand, and the ops that follow all of them in the same
/// way.
class Siblings {
public:
  Siblings(ArrayRef<ir::DotGeneralOp> dots, bool isTrained)
      : dots(dots), isTrained(isTrained) {
    for (ir::DotGeneralOp dot : dots)
      values.push_back(dot.getResult());
    while (advance())
      ;
  }

  /// True when merging pays. `narrow` is the type that trained weights are
  /// rounded to.
  bool pays(const Target &target, FloatType narrow) const {
    return llvm::all_of(values, [&](Value value) {
      return !value.use_empty() &&
             llvm::all_of(value.getUsers(), readsInPlace) &&
             (!isTrained || isForAttention(value, target, narrow));
    });
  }
  int64_t weightBytes() const {
    int64_t bytes = 0;
    for (ir::DotGeneralOp dot : dots) {
      RankedTensorType type = weightOf(dot).getType();
      bytes +=
          type.getNumElements() * ir::elementSizeBytes(type.getElementType());
    }
    return bytes;
  }
  void merge();

private:
  struct Step {
    Type castTo;              // either a rounding
    SmallVector<Bias> biases; // or an addition
  };
  bool advance();
  Value sideBySide(OpBuilder &builder, Location loc, ArrayRef<Weight> weights,
                   int64_t axis);

  SmallVector<ir::DotGeneralOp> dots;
  bool isTrained;
  SmallVector<Value> values;      // of each product, after the merged steps
  SmallVector<Operation *> users; // the ops of these steps, in order
  SmallVector<Step> steps;
  SmallVector<Location> locations;
};

/// Includes the only user of each value, if these users are alike.
bool Siblings::advance() {
  SmallVector<Operation *> next;
  for (Value value : values) {
    if (!value.hasOneUse())
      return false;
    next.push_back(*value.user_begin());
  }
  Step step;
  for (auto [user, value] : llvm::zip_equal(next, values)) {
    if (auto cast = dyn_cast<ir::CastOp>(user)) {
      Type to = cast.getType().getElementType();
      if (!step.biases.empty() || (step.castTo && step.castTo != to))
        return false;
      step.castTo = to;
      continue;
    }
    auto add = dyn_cast<ir::AddOp>(user);
    std::optional<Bias> bias =
        add && !step.castTo ? biasOf(add, value, isTrained) : std::nullopt;
    if (!bias)
      return false;
    if (!step.biases.empty() &&
        (step.biases.front().isWidened != bias->isWidened ||
         step.biases.front().vector.getType().getElementType() !=
             bias->vector.getType().getElementType()))
      return false;
    step.biases.push_back(*bias);
  }
  if (!step.castTo && step.biases.size() != values.size())
    return false;
  for (auto [user, value] : llvm::zip_equal(next, values)) {
    value = user->getResult(0);
    locations.push_back(user->getLoc());
  }
  llvm::append_range(users, next);
  steps.push_back(std::move(step));
  return true;
}

Value Siblings::sideBySide(OpBuilder &builder, Location loc,
                           ArrayRef<Weight> weights, int64_t axis) {
  SmallVector<Value> here; // constants may be defined later
  for (Value weight : weights)
    here.push_back(isTrained
                       ? weight
                       : builder.clone(*weight.getDefiningOp())->getResult(0));
  return builder.create<ir::ConcatOp>(loc, ValueRange(here), axis);
}

// Pattern: dot(x, a), dot(x, b) -> slices of dot(x, concat(a, b)); with the
// steps that follow both
void Siblings::merge() {
  ir::DotGeneralOp first = dots.front();
  OpBuilder builder(first);
  SmallVector<Weight> weights;
  SmallVector<int64_t> widths;
  for (ir::DotGeneralOp dot : dots) {
    weights.push_back(weightOf(dot));
    widths.push_back(ir::tensorType(dot.getResult()).getShape().back());
    locations.push_back(dot.getLoc());
  }
  Location loc = FusedLoc::get(builder.getContext(), locations);
  int64_t axis = 1 - first.getRhsContract().front();
  Value weight = sideBySide(builder, loc, weights, axis);
  weight = ir::castTo(builder, loc, weight,
                      ir::tensorType(first.getRhs()).getElementType());
  Value all = builder.create<ir::DotGeneralOp>(
      loc, first.getLhs(), weight, first.getLhsBatchAttr(),
      first.getRhsBatchAttr(), first.getLhsContractAttr(),
      first.getRhsContractAttr(), first.getTf32());
  for (const Step &step : steps) {
    if (step.castTo) {
      all = ir::castTo(builder, loc, all, step.castTo);
      continue;
    }
    SmallVector<Weight> vectors;
    for (const Bias &bias : step.biases)
      vectors.push_back(bias.vector);
    RankedTensorType type = ir::tensorType(all);
    Value bias = sideBySide(builder, loc, vectors, 0);
    bias = ir::broadcastInDim(builder, loc, bias, type.getShape(),
                              {type.getRank() - 1});
    bias = ir::castTo(builder, loc, bias, type.getElementType());
    all = builder.create<ir::AddOp>(loc, bias, all);
  }
  const int64_t last = ir::tensorType(all).getRank() - 1;
  int64_t begin = 0;
  for (auto [value, width] : llvm::zip_equal(values, widths)) {
    value.replaceAllUsesWith(
        ir::sliceAlong(builder, loc, all, last, begin, begin + width));
    begin += width;
  }
  for (Operation *user : llvm::reverse(users))
    user->erase();
  for (ir::DotGeneralOp dot : dots)
    dot.erase();
}

struct MergeContractionsPass
    : impl::MergeContractionsBase<MergeContractionsPass> {
  MergeContractionsPass() = default;
  MergeContractionsPass(const Target *target, ArrayRef<ProgramDevice> devices,
                        StringRef trainedIn)
      : target(target), devices(devices), trainedIn(trainedIn) {}

  void runOnOperation() override {
    if (!target)
      return;
    bool isTrained = !trainedIn.empty();
    FloatType narrow;
    if (trainedIn == "bf16")
      narrow = BFloat16Type::get(&getContext());
    else if (isTrained)
      narrow = Float16Type::get(&getContext());
    DeviceMap map(getOperation());
    SmallVector<SmallVector<ir::DotGeneralOp>> groups;
    getOperation().walk([&](ir::DotGeneralOp dot) {
      if (!isProjection(dot, isTrained) || !isExpensiveCall(dot, map))
        return;
      for (SmallVector<ir::DotGeneralOp> &group : groups)
        if (areSiblings(group.front(), dot))
          return group.push_back(dot);
      groups.push_back({dot});
    });
    int64_t bytes = 0, merged = 0;
    for (ArrayRef<ir::DotGeneralOp> group : groups) {
      if (group.size() < 2)
        continue;
      Siblings siblings(group, isTrained);
      // Trained weights are not folded.
      int64_t more = isTrained ? 0 : siblings.weightBytes();
      if (!siblings.pays(*targetFor(group.front(), map), narrow) ||
          more > kMostBytesOfOne || bytes + more > kMostBytes)
        continue;
      siblings.merge();
      bytes += more;
      ++merged;
    }
    if (merged)
      ir::remark("merge-contractions", "merged", getOperation().getLoc(), "",
                 merged);
  }

private:
  const Target *targetFor(ir::DotGeneralOp dot, DeviceMap &map) {
    return targetOf(getOperation()->getParentOfType<ModuleOp>(),
                    map.of(dot.getOperation()).value_or(0), devices, target);
  }
  bool isExpensiveCall(ir::DotGeneralOp dot, DeviceMap &map) {
    const Target *its = targetFor(dot, map);
    std::string reason;
    return its->traits().hasExpensiveLaunches &&
           its->implementationOf(dot, reason) == Implementation::Library;
  }

  const Target *target = nullptr;
  ArrayRef<ProgramDevice> devices;
  std::string trainedIn;
};

} // namespace

std::unique_ptr<Pass> createMergeContractions(const Target *target,
                                              ArrayRef<ProgramDevice> devices,
                                              StringRef trainedIn) {
  return std::make_unique<MergeContractionsPass>(target, devices, trainedIn);
}

} // namespace sinter::passes
