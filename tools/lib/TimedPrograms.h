//===- TimedPrograms.h - loads the programs that --tune times ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TOOLS_LIB_TIMEDPROGRAMS_H
#define SINTER_TOOLS_LIB_TIMEDPROGRAMS_H

#include "compiler/driver/Tune.h"

namespace sinter::tools {

/// A compiler::LoadTimed. Inputs are random numbers. A training step has a
/// learning rate of 0, so that its parameters stay.
std::unique_ptr<compiler::TimedProgram>
loadTimed(const sinter_artifact &artifact, std::string &problem);

} // namespace sinter::tools

#endif // SINTER_TOOLS_LIB_TIMEDPROGRAMS_H
