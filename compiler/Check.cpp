//===- Check.cpp - sinterc --check ----------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/Check.h"

#include "compiler/Phases.h"
#include "passes/autodiff/Gradient.h"

using namespace sinter;
using namespace sinter::compiler;

ExitCode compiler::checkCoverage(Compilation &compilation) {
  const Options &options = compilation.options;
  if (ExitCode code = readModel(options, compilation.model))
    return code;
  if (compilation.model.onnx) {
    ImportErrors errors;
    checkOnnx(
        compilation.model.onnx, importOptions(options), &compilation.context(),
        [](mlir::Operation *op) {
          return passes::hasGradientRule(op->getName());
        },
        errors);
    if (ExitCode code = reportImport(options, errors))
      return code;
  }
  // What can be imported may still have no code on the target. Loss and
  // optimizer are made of the same ops as models, so that training adds nothing
  // to ask for here.
  const char *last = options.train.enabled ? "simplify" : "place";
  if (ExitCode code = compilation.run(*findPhase(last)))
    return code;
  llvm::outs() << "every operator is supported\n";
  return kExitDone;
}
