//===- IndexMap.cpp - indices at which ops read ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/IndexMap.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace sinter::ir {

std::optional<IndexVector> mapIndex(OpOperand &operand, ArrayRef<Index> index,
                                    ArrayRef<unsigned> reducedLoops) {
  auto op = dyn_cast<IndexMapOpInterface>(operand.getOwner());
  if (!op)
    return std::nullopt;
  return op.mapIndex(operand.getOperandNumber(), index, reducedLoops);
}

llvm::DenseMap<Value, IndexVector>
traceIndices(Block &body, ArrayRef<std::pair<Value, IndexVector>> roots,
             ArrayRef<unsigned> reducedLoops, Operation *opaque) {
  llvm::DenseMap<Value, IndexVector> known;
  llvm::DenseSet<Value> reached, ambiguous;
  auto meet = [&](Value value, const std::optional<IndexVector> &index) {
    reached.insert(value);
    if (!index) {
      ambiguous.insert(value);
      return;
    }
    auto [it, inserted] = known.try_emplace(value, *index);
    if (!inserted && !(it->second == *index))
      ambiguous.insert(value);
  };
  for (auto &[value, view] : roots)
    meet(value, view);
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (&op == opaque || llvm::none_of(op.getResults(), [&](Value result) {
          return reached.contains(result);
        }))
      continue;
    Value result = op.getResult(0);
    bool traced = op.getNumResults() == 1 && !ambiguous.contains(result);
    for (OpOperand &operand : op.getOpOperands())
      meet(operand.get(), traced
                              ? mapIndex(operand, known[result], reducedLoops)
                              : std::nullopt);
  }
  for (Value value : ambiguous)
    known.erase(value);
  return known;
}

} // namespace sinter::ir
