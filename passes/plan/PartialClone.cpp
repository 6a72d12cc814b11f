//===- PartialClone.cpp - fusions that compute part of another ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/PartialClone.h"

#include "passes/FusionInfo.h"
#include "passes/IndexMap.h"
#include "passes/fuse/Cluster.h"

#include "mlir/IR/IRMapping.h"

#include <numeric>

using namespace mlir;

namespace sinter::passes::plan {
namespace {

ir::FusionOp cloneWhole(ir::FusionOp fusion) {
  return cast<ir::FusionOp>(fusion->clone());
}

/// Drops what no result needs, and the arguments that nothing reads.
void eraseUnused(ir::FusionOp fusion) {
  Block &body = fusion.getBody().front();
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty())
      op->erase();
  llvm::BitVector unused(body.getNumArguments());
  for (BlockArgument argument : body.getArguments())
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
  fusion->eraseOperands(unused);
  body.eraseArguments(unused);
}

/// The fusion with other results: those that `yielded` are.
ir::FusionOp withResults(ir::FusionOp fusion, ArrayRef<unsigned> outputs) {
  OpBuilder builder(fusion.getContext());
  SmallVector<Type> types;
  for (unsigned output : outputs)
    types.push_back(fusion.getOutputs()[output].getType());
  auto result = builder.create<ir::FusionOp>(
      fusion.getLoc(), types, fusion.getInputs(), fusion.getKind());
  result->setDiscardableAttrs(fusion->getDiscardableAttrDictionary());
  IRMapping mapping;
  fusion.getBody().cloneInto(&result.getBody(), mapping);
  Operation *yield = result.getBody().front().getTerminator();
  SmallVector<Value> values;
  for (unsigned output : outputs)
    values.push_back(yield->getOperand(output));
  yield->setOperands(values);
  return result;
}

/// Whole parts only: each part's results are all there or none.
SmallVector<unsigned, 4> outputsOfParts(ir::FusionOp multi,
                                        ArrayRef<unsigned> wanted) {
  Operation *yield = multi.getBody().front().getTerminator();
  llvm::SmallPtrSet<Operation *, 8> parts;
  for (unsigned output : wanted)
    if (Operation *part = yield->getOperand(output).getDefiningOp())
      parts.insert(part);
  SmallVector<unsigned, 4> outputs;
  for (auto [output, value] : llvm::enumerate(yield->getOperands()))
    if (parts.contains(value.getDefiningOp()))
      outputs.push_back(output);
  return outputs;
}

/// The only part of a fusion of kind multi as a fusion of its own.
ir::FusionOp unwrapped(ir::FusionOp multi) {
  Block &body = multi.getBody().front();
  auto part = dyn_cast<ir::FusionOp>(body.front());
  if (!part || &body.back() != part->getNextNode() ||
      !llvm::equal(part->getResults(), body.getTerminator()->getOperands()))
    return multi;
  IRMapping mapping;
  mapping.map(body.getArguments(), multi.getInputs());
  auto alone = cast<ir::FusionOp>(part->clone(mapping));
  multi.erase();
  return alone;
}

bool hasReduction(ir::FusionOp fusion) {
  return llvm::any_of(fusion.getBody().front(),
                      [](Operation &op) { return isReduction(&op); });
}

} // namespace

PartialClone cloneOutputs(ir::FusionOp fusion, ArrayRef<unsigned> wanted) {
  SmallVector<unsigned, 4> all(fusion.getNumResults());
  std::iota(all.begin(), all.end(), 0u);
  StringRef kind = fusion.getKind();
  bool isMulti = kind == fusion_kind::kMulti;
  SmallVector<unsigned, 4> outputs(wanted);
  if (isMulti)
    outputs = outputsOfParts(fusion, wanted);
  bool isKnown =
      isMulti || kind == fusion_kind::kLoop || kind == fusion_kind::kReduce;
  FusionDomain domain = FusionDomain::read(fusion);
  if (!isKnown || outputs.size() == all.size() ||
      (!isMulti && domain.views.size() != all.size()))
    return {cloneWhole(fusion), all};
  ir::FusionOp clone = withResults(fusion, outputs);
  eraseUnused(clone);
  if (isMulti)
    return {unwrapped(clone), outputs};
  // The loops of a reduction are for reductions.
  if (kind == fusion_kind::kReduce && !hasReduction(clone)) {
    clone.erase();
    return {cloneWhole(fusion), all};
  }
  SmallVector<IndexVector> views;
  for (unsigned output : outputs)
    views.push_back(domain.views[output]);
  domain.views = std::move(views);
  domain.write(clone);
  return {clone, outputs};
}

} // namespace sinter::passes::plan
