//===- sinterc.cpp - the compiler driver ----------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/Sinterc.h"
#include "compiler/driver/Quantization.h"
#include "tools/lib/Calibrator.h"
#include "tools/lib/Targets.h"
#include "tools/lib/TimedPrograms.h"

int main(int argc, char **argv) {
  namespace compiler = sinter::compiler;
  auto calibrate = [](const compiler::Options &options,
                      compiler::CompileState &state,
                      llvm::ArrayRef<compiler::TargetFactory> targets) {
    if (options.quantize.enabled)
      return compiler::calibrateQuantization(options, state, targets,
                                             sinter::tools::runOnAllRows);
    return compiler::calibrate(options, state, targets,
                               sinter::tools::runOnFirstRows);
  };
  return compiler::sinterc(argc, argv, sinter::tools::targets(),
                           {calibrate, sinter::tools::loadTimed});
}
