//===- PartialClone.cpp - a fusion with some of its results ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/remat/PartialClone.h"

#include "ir/Kernel.h"

#include "mlir/IR/IRMapping.h"

#include <numeric>

using namespace mlir;

namespace sinter::passes::plan {
namespace {

ir::FusionOpInterface cloneWhole(ir::FusionOpInterface fusion) {
  return cast<ir::FusionOpInterface>(fusion->clone());
}

/// Erases ops that no result needs, and arguments that nothing reads.
void eraseUnused(ir::KernelOp fusion) {
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

/// A copy of the fusion with only the results `outputs`.
ir::KernelOp withResults(ir::KernelOp fusion, ArrayRef<unsigned> outputs) {
  OpBuilder builder(fusion.getContext());
  SmallVector<Type> types;
  for (unsigned output : outputs)
    types.push_back(fusion.getOutputs()[output].getType());
  auto result = builder.create<ir::KernelOp>(
      fusion.getLoc(), types, fusion.getInputs(), fusion.getKindAttr(),
      fusion.getDomainAttr());
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

/// All results of the parts that compute a wanted one.
SmallVector<unsigned, 4> outputsOfParts(ir::KernelOp multi,
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

/// The only part of a kernel of kind multi as a kernel of its own; `multi`
/// itself if it has several.
ir::KernelOp unwrapped(ir::KernelOp multi) {
  Block &body = multi.getBody().front();
  auto part = dyn_cast<ir::KernelOp>(body.front());
  if (!part || &body.back() != part->getNextNode() ||
      !llvm::equal(part->getResults(), body.getTerminator()->getOperands()))
    return multi;
  IRMapping mapping;
  mapping.map(body.getArguments(), multi.getInputs());
  auto alone = cast<ir::KernelOp>(part->clone(mapping));
  multi.erase();
  return alone;
}

bool hasReduction(ir::KernelOp fusion) {
  return llvm::any_of(fusion.getBody().front(),
                      [](Operation &op) { return ir::isReduction(&op); });
}

} // namespace

PartialClone cloneOutputs(ir::FusionOpInterface whole,
                          ArrayRef<unsigned> wanted) {
  SmallVector<unsigned, 4> all(whole->getNumResults());
  std::iota(all.begin(), all.end(), 0u);
  auto fusion = dyn_cast<ir::KernelOp>(*whole);
  if (!fusion)
    return {cloneWhole(whole), all};
  ir::KernelKind kind = fusion.getKind();
  bool isMulti = kind == ir::KernelKind::multi;
  SmallVector<unsigned, 4> outputs(wanted);
  if (isMulti)
    outputs = outputsOfParts(fusion, wanted);
  bool isKnown =
      isMulti || kind == ir::KernelKind::loop || kind == ir::KernelKind::reduce;
  if (!isKnown || outputs.size() == all.size())
    return {cloneWhole(whole), all};
  ir::KernelOp clone = withResults(fusion, outputs);
  eraseUnused(clone);
  if (isMulti)
    return {unwrapped(clone), outputs};
  // A kernel of kind reduce needs a reduction.
  if (kind == ir::KernelKind::reduce && !hasReduction(clone)) {
    clone.erase();
    return {cloneWhole(whole), all};
  }
  ir::DomainAttr domain = fusion.getDomainAttr();
  SmallVector<AffineMap> views;
  for (unsigned output : outputs)
    views.push_back(domain.getViews()[output]);
  clone.setDomainAttr(ir::DomainAttr::get(
      fusion.getContext(), domain.getSizes(), domain.getReduced(), views));
  return {clone, outputs};
}

} // namespace sinter::passes::plan
