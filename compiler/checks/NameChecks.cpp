//===- NameChecks.cpp - expressions that match something ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/checks/NameChecks.h"

#include "compiler/driver/Diagnostics.h"
#include "ir/Dialect.h"
#include "ir/Locations.h"
#include "passes/train/Training.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Regex.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;
using Names = llvm::SmallSetVector<StringRef, 4>;

static bool matchesAny(StringRef pattern, const Names &names) {
  llvm::Regex regex(pattern);
  return llvm::any_of(names, [&](StringRef name) { return regex.match(name); });
}

static Names nodesOf(mlir::ModuleOp module) {
  Names names;
  module.walk([&](mlir::Operation *op) {
    if (!mlir::isa<mlir::ModuleOp, mlir::func::FuncOp, ir::StateOp>(op))
      ir::collectNodeNames(op->getLoc(), names);
  });
  return names;
}

/// The first flag whose expression matches no node, as a message; "" if none.
static std::string checkNodes(const Options &options, mlir::ModuleOp module) {
  if (options.placeRules.empty() && options.allowCpu.empty() &&
      options.keepFp32.empty())
    return "";
  Names names = nodesOf(module);
  constexpr const char *kNone = ": no node of the model has such a name";
  for (const std::string &rule : options.placeRules)
    if (!matchesAny(StringRef(rule).rsplit('=').first, names))
      return "--place=" + rule + kNone;
  for (const std::string &pattern : options.allowCpu.each)
    if (!matchesAny(pattern, names))
      return "--allow-cpu=" + pattern + kNone;
  if (options.train.enabled)
    for (StringRef part :
         {ir::kLossPart, ir::kLossScalePart, ir::kClipPart, ir::kOptimizerPart})
      names.insert(part);
  for (const std::string &pattern : options.keepFp32.each)
    if (!matchesAny(pattern, names))
      return "--keep-fp32=" + pattern + kNone;
  return "";
}

static std::string checkParameters(const Options &options,
                                   mlir::ModuleOp module,
                                   llvm::ArrayRef<std::string> held) {
  const TrainOptions &train = options.train;
  if (!train.enabled)
    return "";
  Names names;
  for (auto state : module.getOps<ir::StateOp>())
    if (state.getRole() == ir::StateRole::param) {
      names.insert(passes::userName(state));
      if (state.getAliases())
        for (StringRef alias :
             state.getAliases()->getAsValueRange<mlir::StringAttr>())
          names.insert(alias);
    }
  Names heldNames;
  heldNames.insert(held.begin(), held.end());
  for (auto [flag, patterns] :
       {std::pair<StringRef, const Patterns &>{"--trainable", train.trainable},
        {"--freeze", train.freeze},
        {"--no-decay", train.noDecay}})
    for (const std::string &pattern : patterns.each)
      if (!matchesAny(pattern, names) &&
          !(flag == "--freeze" && matchesAny(pattern, heldNames)))
        return (flag + "=" + pattern +
                ": no parameter of the model has such a name")
            .str();
  return "";
}

ExitCode compiler::checkNames(const Options &options, const CompileState &state,
                              mlir::ModuleOp module,
                              llvm::ArrayRef<std::string> held) {
  std::string wrong = checkNodes(options, module);
  if (wrong.empty())
    wrong = checkParameters(options, module, held);
  if (wrong.empty())
    return kExitDone;
  reportError(options, state, wrong);
  return kExitUsage;
}
