//===- OptimizeModule.cpp - LLVM's pipeline for kernels -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/OptimizeModule.h"

#include "llvm/Passes/PassBuilder.h"

namespace sinter::codegen {

llvm::CodeGenOptLevel codeGenLevel(unsigned optLevel) {
  return optLevel == 0   ? llvm::CodeGenOptLevel::None
         : optLevel == 1 ? llvm::CodeGenOptLevel::Less
                         : llvm::CodeGenOptLevel::Default;
}

void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine,
                    unsigned optLevel) {
  if (optLevel == 0)
    return;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder
      .buildPerModuleDefaultPipeline(optLevel == 1
                                         ? llvm::OptimizationLevel::O1
                                         : llvm::OptimizationLevel::O2)
      .run(module, modules);
}

} // namespace sinter::codegen
