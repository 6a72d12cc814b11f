//===- InspectTool.h - the logic of sinter-inspect --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_INSPECTTOOL_H
#define SINTER_COMPILER_INSPECT_INSPECTTOOL_H

#include "compiler/driver/Driver.h"
#include "compiler/verify/Bisect.h"

namespace sinter::compiler {

/// Shows the contents of models, traces, libraries and trainers. Returns the
/// exit code.
int sinterInspect(int argc, char **argv, llvm::ArrayRef<TargetFactory> targets,
                  const RunFunctions &run);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_INSPECTTOOL_H
