//===- InspectTool.h - the logic of sinter-inspect --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_INSPECTTOOL_H
#define SINTER_COMPILER_INSPECT_INSPECTTOOL_H

#include "compiler/Driver.h"

namespace sinter::compiler {

/// Shows what models, traces, libraries and trainers hold; returns the exit
/// code.
int sinterInspect(int argc, char **argv, llvm::ArrayRef<TargetFactory> targets);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_INSPECTTOOL_H
