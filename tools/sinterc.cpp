//===- sinterc.cpp - the compiler driver ----------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/Driver.h"
#include "tools/lib/Targets.h"

int main(int argc, char **argv) {
  return sinter::compiler::sinterc(argc, argv, sinter::tools::targets());
}
