//===- TrainerMain.cpp - main() of every training binary ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Not part of the harness library: it is linked with an artifact that defines
// `sinter_artifact_main`.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/Harness.h"

extern "C" const sinter_artifact sinter_artifact_main;

int main(int argc, char **argv) {
  return sinter_trainer_main(&sinter_artifact_main, argc, argv);
}
