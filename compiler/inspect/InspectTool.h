//===- InspectTool.h - the logic of sinter-inspect --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_INSPECTTOOL_H
#define SINTER_COMPILER_INSPECT_INSPECTTOOL_H

#include "compiler/driver/Driver.h"
#include "compiler/verify/Bisect.h"

#include "sinter/abi.h"

namespace sinter::compiler {

/// Returns an HTML page about the arena over time. The run tower draws it; the
/// tool passes the function in.
using PlanPage = std::string (*)(const sinter_artifact &artifact);

/// Shows the contents of models, traces, libraries and trainers. Returns the
/// exit code.
int sinterInspect(int argc, char **argv, llvm::ArrayRef<TargetFactory> targets,
                  PlanPage planPage, const RunFunctions &run);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_INSPECTTOOL_H
