//===- Reduce.h - sinter-inspect reduce -------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_VERIFY_REDUCE_H
#define SINTER_COMPILER_VERIFY_REDUCE_H

#include "compiler/driver/Driver.h"

namespace sinter::compiler {

/// `sinter-inspect reduce MODEL --check=COMMAND`: the smallest model for which
/// COMMAND still fails in the same way. `arguments` are those after the word
/// reduce. Returns the exit code.
int reduce(llvm::ArrayRef<std::string> arguments,
           llvm::ArrayRef<TargetFactory> targets);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_VERIFY_REDUCE_H
