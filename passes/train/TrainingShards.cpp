//===- TrainingShards.cpp - states that replicas divide -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The optimizer's states divided over the replicas, after Rajbhandari et al.,
// "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models"
// (2020). Each replica gets its part of the sum of a gradient, updates its part
// of the weight, and gathers the parts of the others.
//
//===----------------------------------------------------------------------===//
#include "ir/Remarks.h"
#include "passes/train/Training.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {

/// Elements of a part. Smaller ones are not worth an array in a message.
static constexpr int64_t kLeastPart = 64;

FailureOr<Sharding> Sharding::create(Location loc,
                                     const BuildTrainingOptions &options) {
  Sharding sharding;
  sharding.replicas = options.replicas;
  if (options.shard.empty())
    return sharding;
  if (options.shard != "optimizer" && options.shard != "gradients")
    return emitError(loc) << "shard must be optimizer or gradients, not "
                          << options.shard;
  sharding.isUsed = true;
  sharding.dividesSums = options.shard == "gradients";
  if (options.replicas < 2)
    return emitError(loc) << "shard needs 2 or more replicas";
  std::optional<OptimizerKind> kind = optimizerKind(options.optimizer);
  if (kind == OptimizerKind::Lamb || kind == OptimizerKind::Muon)
    return emitError(loc) << "shard needs an optimizer that updates each "
                             "element by itself; "
                          << options.optimizer << " reads whole weights";
  if (sharding.dividesSums && options.pairwise && options.accumulate > 1)
    return emitError(loc)
           << "shard=gradients adds up the replicas before the micro-batches, "
              "and no other split of the batch has the same sums; use "
              "shard=optimizer, or a --deterministic other than topology";
  return sharding;
}

void Sharding::choose(MutableArrayRef<TrainedState> states) const {
  int64_t divided = 0, bytes = 0;
  for (TrainedState &state : states) {
    RankedTensorType type = tensorType(state.value);
    state.isDivided = isUsed && type.getNumElements() >= kLeastPart * replicas;
    StateOp named = state.state;
    if (isUsed && !state.isDivided)
      remark(kTrainRemarks, "whole", named.getLoc(),
             named.getSymName() + " is updated whole: it has fewer than " +
                 Twine(kLeastPart) + " elements for each replica",
             1);
    if (!state.isDivided)
      continue;
    remark(kTrainRemarks, "part", named.getLoc(),
           named.getSymName() + " is updated in " + Twine(replicas) +
               " parts of " + Twine(partType(type).getNumElements()) +
               " elements",
           1);
    ++divided;
    bytes += type.getNumElements() * elementSizeBytes(type.getElementType());
  }
  if (isUsed && !states.empty())
    remark(kTrainRemarks, "divided", states.front().state.getLoc(),
           Twine(divided) + " of " + Twine(states.size()) +
               " weights are updated in " + Twine(replicas) + " parts, " +
               Twine(bytes) + " bytes",
           divided);
}

RankedTensorType Sharding::partType(RankedTensorType whole) const {
  return whole.clone({static_cast<int64_t>(
      llvm::divideCeil(uint64_t(whole.getNumElements()), replicas))});
}

/// The elements in order, and zeros after them up to equal parts.
Value Sharding::padded(ValueBuilder &b, Value whole) const {
  RankedTensorType type = tensorType(whole);
  const int64_t count = type.getNumElements(),
                missing = replicas * partType(type).getNumElements() - count;
  Value flat = b.reshape(whole, {count});
  if (missing == 0)
    return flat;
  Value zero = b.splat(RankedTensorType::get({}, type.getElementType()), 0);
  return b.make<PadOp>(flat, zero, ArrayRef<int64_t>{0},
                       ArrayRef<int64_t>{missing}, ArrayRef<int64_t>{0});
}

Value Sharding::sumPart(ValueBuilder &b, Value gradient) const {
  return b.b
      .create<ReduceScatterOp>(b.loc, ValueRange(padded(b, gradient)),
                               MeshAxis::data, uint64_t(replicas))
      .getResult(0);
}

Value Sharding::partOf(ValueBuilder &b, Value whole, Value replica) const {
  const int64_t size = partType(tensorType(whole)).getNumElements();
  Value parts = b.reshape(padded(b, whole), {replicas, size});
  return b.make<GatherOp>(parts, replica, uint64_t(0));
}

Value Sharding::gather(ValueBuilder &b, Value part,
                       RankedTensorType whole) const {
  Value all = b.b.create<AllGatherOp>(b.loc, ValueRange(part), MeshAxis::data,
                                      uint64_t(replicas))
                  .getResult(0);
  const int64_t count = whole.getNumElements();
  if (tensorType(all).getNumElements() != count)
    all = b.make<SliceOp>(all, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{count},
                          ArrayRef<int64_t>{1});
  return b.reshape(all, whole.getShape());
}

Value Sharding::sumOverParts(
    OpBuilder &builder, Location loc, ArrayRef<TrainedState> states,
    llvm::function_ref<Value(const TrainedState &)> get,
    llvm::function_ref<Value(Value)> map) const {
  ValueBuilder b(builder, loc);
  SmallVector<Value> whole, divided;
  for (const TrainedState &state : states)
    (state.isDivided ? divided : whole).push_back(get(state));
  Value sum;
  if (!whole.empty())
    sum = reduceAll(builder, loc, ReduceKind::sum, whole, map);
  if (divided.empty())
    return sum;
  Value parts = sumOverReplicas(
      b, reduceAll(builder, loc, ReduceKind::sum, divided, map), replicas);
  return sum ? b.add(sum, parts) : parts;
}

Value Sharding::allFinite(OpBuilder &builder, Location loc,
                          ArrayRef<TrainedState> states) const {
  ValueBuilder b(builder, loc);
  // A maximum propagates NaN.
  auto finite = [&](ArrayRef<Value> gradients) {
    return isFinite(
        b, reduceAll(builder, loc, ReduceKind::max, gradients, [&](Value x) {
          return b.make<AbsOp>(b.cast(x, builder.getF32Type()));
        }));
  };
  SmallVector<Value> whole, divided;
  for (const TrainedState &state : states)
    (state.isDivided ? divided : whole).push_back(state.gradient);
  Value all;
  if (!whole.empty())
    all = finite(whole);
  if (divided.empty())
    return all;
  Value one = b.splat(RankedTensorType::get({}, builder.getF32Type()), 1);
  Value faults = sumOverReplicas(
      b, b.where(finite(divided), b.like(one, 0), one), replicas);
  Value none = b.compare(CompareKind::eq, faults, 0.0);
  return all ? b.make<AndOp>(all, none) : none;
}

} // namespace sinter::passes
