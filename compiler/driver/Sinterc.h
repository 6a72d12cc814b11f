//===- Sinterc.h - the compiler driver --------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_SINTERC_H
#define SINTER_COMPILER_DRIVER_SINTERC_H

#include "compiler/driver/Driver.h"
#include "compiler/driver/Tune.h"

namespace sinter::compiler {

/// What sinterc does by running programs, which the tool supplies.
struct Measures {
  /// Runs --calibrate (Calibration.h).
  std::function<ExitCode(const Options &options, CompileState &state,
                         llvm::ArrayRef<TargetFactory> targets)>
      calibrate;
  /// Loads the programs that --tune times.
  LoadTimed load;
};

/// sinterc's main function.
int sinterc(int argc, char **argv, llvm::ArrayRef<TargetFactory> targets,
            const Measures &measures);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_SINTERC_H
