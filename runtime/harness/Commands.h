//===- Commands.h - the trainer's commands ----------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Each prints its results to stdout and returns a Status whose code is the exit
// code; the caller prints the error line.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_COMMANDS_H
#define SINTER_RUNTIME_HARNESS_COMMANDS_H

#include "runtime/harness/TrainerOptions.h"

#include "sinter/abi.h"

namespace sinter::rt {

Status runTrain(const sinter_artifact &artifact, const TrainerOptions &options);
/// train --verify-resume: SINTER_MISMATCH if an interrupted run would end with
/// other bytes.
Status runVerifyResume(const sinter_artifact &artifact,
                       const TrainerOptions &options);
Status runEval(const sinter_artifact &artifact, const TrainerOptions &options);
Status runExport(const sinter_artifact &artifact,
                 const TrainerOptions &options);
Status runInfo(const sinter_artifact &artifact, const TrainerOptions &options);
Status runPlan(const sinter_artifact &artifact, const TrainerOptions &options);
Status runDoctor(const sinter_artifact &artifact,
                 const TrainerOptions &options);
Status runBench(const sinter_artifact &artifact, const TrainerOptions &options);
/// `arguments` are the command line, with the program's name.
Status runLaunch(const sinter_artifact &artifact, const TrainerOptions &options,
                 std::span<const char *const> arguments);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_COMMANDS_H
