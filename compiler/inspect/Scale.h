//===- Scale.h - the step of a trainer on many processes --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Predicts the time of a step from its plan: which messages it sends, when, and
// where it waits for them. Commands take the times of a profile, messages what
// Fabric.h says.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_SCALE_H
#define SINTER_COMPILER_INSPECT_SCALE_H

#include "compiler/inspect/Fabric.h"
#include "sinter/abi.h"

#include <string>
#include <vector>

namespace sinter::compiler {

/// A command of a step.
struct TimedCommand {
  enum Kind { Compute, Send, Await };
  Kind kind = Compute;
  double us = 0;      // Compute
  uint32_t op = 0;    // Send: sinter_collective_op
  uint64_t bytes = 0; // Send: of the whole arrays
  uint32_t event = 0; // Send, Await
};

struct PredictedStep {
  int64_t world = 1;
  double us = 0, computeUs = 0;
  double messagesUs = 0; // all messages, whether or not commands run meanwhile
  double waitUs = 0;     // us - computeUs
};
/// Messages are sent one after the other, beside the commands.
PredictedStep predictStep(llvm::ArrayRef<TimedCommand> commands,
                          const Fabric &fabric, int64_t world);

/// The build of the program that `profile` is of, the object that `trainer
/// --profile --json` prints. Fails if it does not say.
llvm::Expected<std::string> profiledBuild(const llvm::json::Object &profile);

/// The commands of a step of `artifact`, a trainer, with the times of
/// `profile`. Fails if these are not the times of exactly its commands.
llvm::Expected<std::vector<TimedCommand>>
timedStep(const sinter_artifact &artifact, const llvm::json::Object &profile);

/// `sinter-inspect scale` without its name.
int scaleTrainer(llvm::ArrayRef<std::string> args);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_SCALE_H
