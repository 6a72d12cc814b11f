//===- Emission.cpp - from a planned program to its code ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The part of a compilation that follows the phase "plan": the kernels as text,
// or the kernels, tables, manifest and export of a program.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/Driver.h"

#include "compiler/driver/DecisionTable.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/Lock.h"
#include "compiler/driver/Manifest.h"
#include "compiler/driver/MemoryLimit.h"
#include "compiler/emit/Tables.h"
#include "compiler/import/ExportMode.h"
#include "passes/Failure.h"

#include <chrono>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

mlir::FailureOr<passes::TargetCode>
Compilation::kernelText(passes::CodeForm form) {
  passes::CodeGenOptions codeGen;
  codeGen.optLevel = options.optLevel;
  codeGen.form = form;
  diagnostics_->collect();
  Asking asking(*this);
  auto code = generateForPlaces(*module_, mainTarget(), devices, codeGen);
  diagnostics_->settle(failed(code) ? "kernels" : "");
  return code;
}

ExitCode Compilation::checkExport() {
  ArtifactInfo info;
  return describeExport(info);
}

ExitCode Compilation::describe(ArtifactInfo &info) {
  info.symbol = symbol_;
  info.modelName = modelStem(options);
  info.manifest = makeManifest(options, state, mainTarget(), devices, *module_,
                               decisions ? decisions->summary() : "");
  return describeExport(info);
}

ExitCode Compilation::describeExport(ArtifactInfo &info) {
  if (!options.train.enabled)
    return kExitDone;
  return makeExport(options, *model, *module_, info.exportPieces);
}

ExitCode Compilation::emit(CompiledProgram &program,
                           llvm::ArrayRef<std::string> others) {
  auto begin = std::chrono::steady_clock::now();
  passes::CodeGenOptions codeGen;
  codeGen.threads = pool_.getMaxConcurrency();
  codeGen.optLevel = options.optLevel;
  if (options.timeReport)
    codeGen.compiled = [&](StringRef kernel, double milliseconds) {
      times.addKernel(kernel, milliseconds);
    };
  ArtifactInfo info;
  if (ExitCode code = describe(info))
    return code;
  info.otherTargets = others.vec();
  info.devices = devices;
  info.way = !options.allowsLibrary("onednn") ? SINTER_BY_LOOPS
             : options.fastConvolutions       ? SINTER_BY_FAST_LIBRARY
                                              : SINTER_BY_LIBRARY;
  info.isUnordered = options.deterministic == "none";
  info.workspaceBytes = options.workspaceBytes;
  info.isCpuLimited =
      promisesCpuWorkspace(*module_, options, mainTarget().firstDevice());
  bool isFirst = program.objects.empty();
  manifest_ = info.manifest;
  kernelHashes_ = kernelHashesByNodes(*module_);
  Asking asking(*this);
  diagnostics_->collect();
  mlir::LogicalResult result = mlir::failure();
  if (!isFirst) {
    result = addTarget(program, *module_, mainTarget(), codeGen, info);
  } else if (auto first = emitProgram(*module_, mainTarget(), codeGen, info);
             succeeded(first)) {
    program = std::move(*first);
    result = mlir::success();
  }
  times.addPhaseSince("kernels", begin);
  bool isDefect = failed(result) && !(*module_)->hasAttr(passes::kFailureAttr);
  diagnostics_->settle(isDefect ? "kernels" : "");
  if (succeeded(result) && ownDecisions_ && !state.isTrial)
    for (const std::string &line : ownDecisions_->notKept())
      reportNotKept(options, line);
  return failed(result) ? kExitFailed : dumpCode(info.manifest);
}
