//===- KernelPool.cpp - one exec.kernel per distinct fusion ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/KernelPool.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace sinter::passes::plan {
namespace {

constexpr size_t kMaxNameLength = 40;

/// A hash of what OperationEquivalence compares, except for how operands are
/// connected.
size_t hashBody(ir::KernelOp fusion) {
  llvm::hash_code hash =
      llvm::hash_value(fusion->getAttrDictionary().getAsOpaquePointer());
  for (Type type : fusion.getBody().getArgumentTypes())
    hash = llvm::hash_combine(hash, type.getAsOpaquePointer());
  fusion.getBody().walk([&](Operation *op) {
    hash =
        llvm::hash_combine(hash, OperationEquivalence::computeHash(
                                     op, OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

bool isSame(ir::KernelOp fusion, exec::KernelOp kernel) {
  if (fusion.getKind() != kernel.getKind() ||
      fusion.getDomainAttr() != kernel.getDomainAttr() ||
      llvm::range_size(fusion->getDiscardableAttrs()) !=
          llvm::range_size(kernel->getDiscardableAttrs()))
    return false;
  for (NamedAttribute attr : fusion->getDiscardableAttrs())
    if (kernel->getDiscardableAttr(attr.getName()) != attr.getValue())
      return false;
  return OperationEquivalence::isRegionEquivalentTo(
      &fusion.getBody(), &kernel.getBody(),
      OperationEquivalence::IgnoreLocations);
}

/// The names of the ops that compute, joined; those of all ops if none
/// computes.
std::string describe(ir::KernelOp fusion) {
  auto isMove = [](Operation *op) {
    return ir::isView(op) || isa<ir::ConstantOp, ir::IotaOp, ir::CastOp>(op);
  };
  std::string computing, all;
  auto append = [](std::string &name, Operation *op) {
    StringRef word = op->getName().stripDialect();
    if (name.size() + 1 + word.size() <= kMaxNameLength)
      name += ("_" + word).str();
  };
  fusion.getBody().walk([&](Operation *op) {
    if (isa<ir::YieldOp, ir::KernelOp>(op))
      return;
    append(all, op);
    if (!isMove(op))
      append(computing, op);
  });
  return computing.empty() ? all : computing;
}

} // namespace

exec::KernelOp KernelPool::get(ir::KernelOp fusion) {
  auto &candidates = byHash[hashBody(fusion)];
  for (exec::KernelOp kernel : candidates)
    if (isSame(fusion, kernel))
      return kernel;
  std::string name = "k" + std::to_string(count++) + describe(fusion);
  OperationState state(fusion.getLoc(), exec::KernelOp::getOperationName());
  state.addAttribute("sym_name", builder.getStringAttr(name));
  state.addAttribute("kind", fusion.getKindAttr());
  if (ir::DomainAttr domain = fusion.getDomainAttr())
    state.addAttribute("domain", domain);
  state.addRegion();
  auto kernel = cast<exec::KernelOp>(builder.create(state));
  kernel->setDiscardableAttrs(llvm::to_vector(fusion->getDiscardableAttrs()));
  IRMapping mapping;
  fusion.getBody().cloneInto(&kernel.getBody(), mapping);
  symbols.insert(kernel, Block::iterator(kernel)); // makes the name unique
  candidates.push_back(kernel);
  return kernel;
}

} // namespace sinter::passes::plan
