//===- FusionForm.cpp - which fusions are the same kernel -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/fuse/FusionForm.h"
#include "passes/fuse/Fusion.h"

using namespace mlir;

namespace sinter::passes {

FusionForm::FusionForm(ir::KernelOp fusion) {
  llvm::DenseMap<Value, uintptr_t> numbers;
  auto add = [&](auto value) { code.push_back(value.getAsOpaquePointer()); };
  auto define = [&](ValueRange values) {
    for (Value value : values) {
      numbers.try_emplace(value, numbers.size());
      add(value.getType());
    }
  };
  fusion->walk<WalkOrder::PreOrder>([&](Operation *op) {
    add(op->getName());
    auto constant = dyn_cast<ir::ConstantOp>(op);
    if (constant && isSplatConstant(constant))
      constants.push_back(constant);
    else
      add(op->getAttrDictionary());
    if (op != fusion)
      for (Value operand : op->getOperands())
        code.push_back(reinterpret_cast<const void *>(numbers.lookup(operand)));
    define(op->getResults());
    for (Region &region : op->getRegions())
      define(region.getArguments());
  });
}

std::vector<const void *> FusionForm::key() const {
  std::vector<const void *> all = code;
  for (ir::ConstantOp constant : constants)
    all.push_back(constant->getAttr("value").getAsOpaquePointer());
  return all;
}

} // namespace sinter::passes
