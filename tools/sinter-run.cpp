//===- sinter-run.cpp - runs, compares and measures models ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "tools/lib/RunTool.h"
#include "tools/lib/Targets.h"

int main(int argc, char **argv) {
  return sinter::tools::sinterRun(argc, argv, sinter::tools::targets());
}
