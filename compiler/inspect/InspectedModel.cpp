//===- InspectedModel.cpp - a model compiled to look at it ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/InspectedModel.h"

#include "compiler/Phases.h"
#include "compiler/checks/Check.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/Manifest.h"
#include "compiler/driver/MicroBatches.h"

using namespace sinter;
using namespace sinter::compiler;

std::unique_ptr<Compilation>
compiler::compileToInspect(const Options &options, const Phase &last,
                           llvm::ArrayRef<TargetFactory> targets,
                           ExitCode &code, bool notesSizes, bool keepsTrace) {
  code = kExitUsage;
  if (std::string wrong = checkMicroBatches(options); !wrong.empty()) {
    reportError(options, wrong);
    return nullptr;
  }
  CompileState state(options);
  state.runtimeHash = hashOfRuntime(options);
  TargetSet set = createTargets(options, state, targets);
  if (!set.main)
    return nullptr;
  SharedModel model;
  if ((code = readModel(options, model)))
    return nullptr;
  const std::vector<std::string> madeUp = makeUpSizes(*model, options, state);
  if (notesSizes)
    noteMadeUpSizes(options, madeUp);
  if ((code = splitBatch(options, state, model, targets)))
    return nullptr;
  auto compilation =
      std::make_unique<Compilation>(options, std::move(state), std::move(set));
  if ((code = compilation->checkOptions()))
    return nullptr;
  compilation->model = std::move(model);
  compilation->keepsTrace = keepsTrace;
  if ((code = compilation->run(last)))
    return nullptr;
  return compilation;
}
