//===- Harness.h - the trainer as a function --------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A training binary is TrainerMain.o, this library, the rest of the run tower,
// and an artifact.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_HARNESS_H
#define SINTER_RUNTIME_HARNESS_HARNESS_H

#include "sinter/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The trainer's command line on `artifact`; returns the exit code. Never
/// throws.
int sinter_trainer_main(const sinter_artifact *artifact, int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif // SINTER_RUNTIME_HARNESS_HARNESS_H
