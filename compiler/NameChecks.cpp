//===- NameChecks.cpp - expressions that match something ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/NameChecks.h"

#include "compiler/Diagnostics.h"
#include "ir/Dialect.h"
#include "ir/Locations.h"

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

static ExitCode checkNodes(const Options &options, mlir::ModuleOp module) {
  if (options.placeRules.empty() && options.allowCpu.empty())
    return kExitDone;
  Names names = nodesOf(module);
  auto check = [&](const llvm::Twine &flag, StringRef pattern) {
    if (pattern.empty() || matchesAny(pattern, names))
      return kExitDone;
    reportError(options, flag + ": no node of the model has such a name");
    return kExitUsage;
  };
  for (const std::string &rule : options.placeRules)
    if (ExitCode code =
            check("--place=" + rule, StringRef(rule).rsplit('=').first))
      return code;
  return check("--allow-cpu=" + options.allowCpu, options.allowCpu);
}

ExitCode compiler::checkNames(const Options &options, mlir::ModuleOp module) {
  return checkNodes(options, module);
}
