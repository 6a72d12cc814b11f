//===- Replay.h - a training step, op by op ---------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TOOLS_LIB_REPLAY_H
#define SINTER_TOOLS_LIB_REPLAY_H

#include "compiler/driver/Driver.h"

namespace sinter::tools {

/// Evaluates the step that a trainer wrote to options.run.replay (data, states
/// and control values) with the reference evaluation of each op, rounding every
/// result to its type. Prints the ops that turn finite values into values that
/// are not finite; returns kExitFailed if there are any.
compiler::ExitCode replay(const compiler::Options &options,
                          llvm::ArrayRef<compiler::TargetFactory> targets);

} // namespace sinter::tools

#endif // SINTER_TOOLS_LIB_REPLAY_H
