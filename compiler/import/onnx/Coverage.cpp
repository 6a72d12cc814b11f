//===- Coverage.cpp - which operators stand in the way --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Import.h"
#include "compiler/import/onnx/Text.h"
#include "ir/Dialect.h"
#include "ir/Locations.h"

#include "llvm/ADT/DenseSet.h"

#include <map>

using namespace mlir;

namespace sinter::compiler {

static bool isFloatValue(Value value) {
  return isa<FloatType>(ir::tensorType(value).getElementType());
}

/// Ops that a gradient by some trainable state would have to pass and cannot.
static std::vector<Operation *>
findWithoutGradient(ModuleOp module,
                    llvm::function_ref<bool(Operation *)> hasGradient) {
  std::vector<Operation *> found;
  auto main = module.lookupSymbol<func::FuncOp>("main");
  llvm::DenseSet<Value> learned;
  for (BlockArgument argument : main.getArguments())
    if (auto symbol = main.getArgAttrOfType<FlatSymbolRefAttr>(
            argument.getArgNumber(), ir::SinterDialect::kStateAttr)) {
      auto state = module.lookupSymbol<ir::StateOp>(symbol.getAttr());
      if (state && state.getTrainable())
        learned.insert(argument);
    }
  for (Operation &op : main.getBody().front().without_terminator()) {
    bool depends = llvm::any_of(op.getOperands(),
                                [&](Value v) { return learned.contains(v); });
    if (!depends || llvm::none_of(op.getResults(), isFloatValue))
      continue;
    if (!hasGradient(&op)) {
      found.push_back(&op);
      continue;
    }
    for (Value result : op.getResults())
      if (isFloatValue(result))
        learned.insert(result);
  }
  return found;
}

void checkOnnx(std::shared_ptr<const OnnxModel> model,
               const ImportOptions &options, MLIRContext *context,
               llvm::function_ref<bool(Operation *)> hasGradient,
               ImportErrors &errors) {
  std::string file = shown(model->path(), 512);
  OwningOpRef<ModuleOp> module =
      importOnnx(std::move(model), options, context, errors);
  if (!module || !options.train)
    return;
  std::map<std::string, llvm::SmallSetVector<StringRef, 4>> nodes;
  for (Operation *op : findWithoutGradient(*module, hasGradient))
    ir::collectNodeNames(op->getLoc(),
                         nodes[op->getName().stripDialect().str()]);
  for (const auto &[name, labels] : nodes) {
    std::string text = file + ": no gradient passes " + name + " (node" +
                       (labels.size() > 1 ? "s" : "");
    for (size_t i = 0; i < labels.size() && i < 5; ++i)
      text += (i ? ", " : " ") + quoted(labels[i]);
    if (labels.size() > 5)
      text += " and " + std::to_string(labels.size() - 5) + " more";
    errors.unsupported(text + ")");
  }
}

} // namespace sinter::compiler
