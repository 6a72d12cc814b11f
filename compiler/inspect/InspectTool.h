//===- InspectTool.h - the logic of sinter-inspect --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_INSPECTTOOL_H
#define SINTER_COMPILER_INSPECT_INSPECTTOOL_H

#include "compiler/Driver.h"

#include "sinter/abi.h"

namespace sinter::compiler {

/// A page of HTML about the arena over time: what the run tower draws, which
/// the tool brings.
using PlanPage = std::string (*)(const sinter_artifact &artifact);

/// Shows what models, traces, libraries and trainers hold; returns the exit
/// code.
int sinterInspect(int argc, char **argv, llvm::ArrayRef<TargetFactory> targets,
                  PlanPage planPage);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_INSPECTTOOL_H
