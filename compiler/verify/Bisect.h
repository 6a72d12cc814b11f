//===- Bisect.h - sinter-inspect bisect -------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_VERIFY_BISECT_H
#define SINTER_COMPILER_VERIFY_BISECT_H

#include "compiler/driver/Driver.h"
#include "compiler/verify/DeviceProgram.h"
#include "compiler/verify/ProgramValues.h"

namespace sinter::compiler {

/// What the compiler cannot do itself: the tool passes it in.
struct RunFunctions {
  /// Reads an .npz file. Returns what went wrong, "" if nothing.
  std::function<std::string(const std::string &path, GivenArrays &arrays)>
      readArrays;
  LoadProgram load;
};

/// `sinter-inspect bisect MODEL`: what makes the numbers of a program wrong.
/// `arguments` are those after the word bisect. Returns the exit code.
int bisect(llvm::ArrayRef<std::string> arguments,
           llvm::ArrayRef<TargetFactory> targets, const RunFunctions &run);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_VERIFY_BISECT_H
