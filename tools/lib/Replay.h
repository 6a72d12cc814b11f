//===- Replay.h - a training step, op by op ---------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TOOLS_LIB_REPLAY_H
#define SINTER_TOOLS_LIB_REPLAY_H

#include "compiler/Driver.h"

namespace sinter::tools {

/// Evaluates the step that a trainer wrote to options.run.replay (data, states
/// and control values) by the reference meaning of each op, every result
/// rounded to its type, and names the ops that make values which are not finite
/// out of finite ones. kExitFailed if there are any.
compiler::ExitCode replay(const compiler::Options &options,
                          llvm::ArrayRef<compiler::TargetFactory> targets);

} // namespace sinter::tools

#endif // SINTER_TOOLS_LIB_REPLAY_H
