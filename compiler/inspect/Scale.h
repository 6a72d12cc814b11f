//===- Scale.h - the step of a trainer on many processes --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Predicts the time of a step from its plan: which messages it sends, when, and
// where it waits for them. Commands take the times of a profile. A message
// takes what latencies and rates of the links say (the alpha-beta model of
// Hockney, 1994).
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_SCALE_H
#define SINTER_COMPILER_INSPECT_SCALE_H

#include "sinter/abi.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace sinter::compiler {

/// What connects processes. Each has one replica.
struct Fabric {
  struct Link {
    int64_t processes = 0; // that it connects; 0: all
    double latencyUs = 0;
    double bytesPerUs = 0; // of one process, in each direction
  };
  std::string name;
  /// The innermost first, as within a host, between hosts.
  std::vector<Link> links;
  /// What a process copies and sums itself in a microsecond; 0: that takes no
  /// time of the message.
  double copyBytesPerUs = 0;
  /// Each process sends to its neighbour alone, as NCCL does; else to all
  /// others at once, as trainers on CPUs do.
  bool isRing = false;

  /// Fails with what is wrong in the object.
  static llvm::Expected<Fabric> read(const llvm::json::Object &object);
  /// Over which links a message of `world` processes goes.
  llvm::ArrayRef<Link> linksFor(int64_t world) const;
};

/// A command of a step.
struct TimedCommand {
  enum Kind { Compute, Send, Await };
  Kind kind = Compute;
  double us = 0;      // Compute
  uint32_t op = 0;    // Send: sinter_collective_op
  uint64_t bytes = 0; // Send: of the whole arrays
  uint32_t event = 0; // Send, Await
};

/// The time of one message among `world` processes, in us.
double messageUs(const Fabric &fabric, uint32_t op, uint64_t bytes,
                 int64_t world);

struct PredictedStep {
  int64_t world = 1;
  double us = 0, computeUs = 0;
  double messagesUs = 0; // all messages, whether or not commands run meanwhile
  double waitUs = 0;     // us - computeUs
};
/// Messages are sent one after the other, beside the commands.
PredictedStep predictStep(llvm::ArrayRef<TimedCommand> commands,
                          const Fabric &fabric, int64_t world);

/// The commands of a step of `artifact` with the times of `profile`, the object
/// that `trainer --profile --json` prints. Fails if `artifact` has no training
/// entries, or if the profile belongs to another program.
llvm::Expected<std::vector<TimedCommand>>
timedStep(const sinter_artifact &artifact, const llvm::json::Object &profile);

/// `sinter-inspect scale` without its name.
int scaleTrainer(llvm::ArrayRef<std::string> args);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_SCALE_H
