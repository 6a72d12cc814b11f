//===- TrainingReplicas.cpp - steps of several replicas -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Data parallelism: every replica has all states and a part of the rows of the
// batch. The sums over replicas are those that a single device forms over rows:
// the losses, the number by which they are divided, and the gradients.
//
//===----------------------------------------------------------------------===//
#include "ir/Locations.h"
#include "passes/train/Training.h"

using namespace mlir;
using namespace sinter::ir;

namespace sinter::passes {

Value sumOverReplicas(ValueBuilder &b, Value value, int64_t replicas) {
  if (replicas <= 1)
    return value;
  return b.b
      .create<AllReduceOp>(b.loc, ValueRange(value), MeshAxis::data,
                           uint64_t(replicas))
      .getResult(0);
}

void sumGradients(OpBuilder &builder, int64_t replicas,
                  const Sharding &sharding,
                  MutableArrayRef<TrainedState> states) {
  for (TrainedState &state : states) {
    ValueBuilder b(builder, state.gradient.getLoc());
    state.gradient = state.isDivided
                         ? sharding.sumPart(b, state.gradient)
                         : sumOverReplicas(b, state.gradient, replicas);
  }
}

void averageStatistics(OpBuilder &builder, int64_t replicas,
                       StateUpdates &updates) {
  if (replicas <= 1 || updates.empty())
    return;
  for (auto &[state, value] : updates) {
    ValueBuilder b(builder, value.getLoc());
    value = b.mul(sumOverReplicas(b, value, replicas),
                  1.0 / static_cast<double>(replicas));
  }
  std::string name = joinedNodeNames(updates.begin()->second.getLoc());
  emitWarning(updates.begin()->second.getLoc())
      << "batch normalisation uses the statistics of each replica's own rows, "
         "not of the whole batch"
      << (name.empty() ? "" : " (first at " + name + ")")
      << "; running statistics are averaged over the " << replicas
      << " replicas";
}

void numberDropouts(func::FuncOp step, int64_t batch,
                    llvm::function_ref<Value()> part) {
  SmallVector<DropoutOp> dropouts(step.getBody().front().getOps<DropoutOp>());
  if (dropouts.empty())
    return;
  Value number = part();
  for (DropoutOp dropout : dropouts) {
    RankedTensorType type = tensorType(dropout.getX());
    if (batch == 0 || type.getRank() == 0 || type.getDimSize(0) % batch != 0)
      dropout.emitWarning() << "dropout of " << type
                            << ", whose first dimension is not the batch: "
                               "parts of a batch drop different "
                               "elements than the whole batch at once would";
    OpBuilder builder(dropout);
    ValueBuilder b(builder, dropout.getLoc());
    dropout.getFirstMutable().assign(
        b.mul(number, scalarI64(builder, b.loc, type.getNumElements())));
  }
}

} // namespace sinter::passes
