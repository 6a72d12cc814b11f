//===- sinter-opt.cpp - mlir-opt with our dialects and passes -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/OptTool.h"
#include "tools/lib/Targets.h"

int main(int argc, char **argv) {
  return sinter::compiler::optMain(argc, argv, sinter::tools::targets());
}
