//===- sinter-inspect.cpp - shows what the passes did ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/InspectTool.h"
#include "tools/lib/BisectRuns.h"
#include "tools/lib/Targets.h"

int main(int argc, char **argv) {
  return sinter::compiler::sinterInspect(argc, argv, sinter::tools::targets(),
                                         sinter::tools::bisectRuns());
}
