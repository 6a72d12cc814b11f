//===- BisectRuns.h - what bisect needs of the runtime ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TOOLS_LIB_BISECTRUNS_H
#define SINTER_TOOLS_LIB_BISECTRUNS_H

#include "compiler/verify/Bisect.h"

namespace sinter::tools {

/// Reads files with the readers of sinter-run and runs programs in this
/// process.
compiler::RunFunctions bisectRuns();

} // namespace sinter::tools

#endif // SINTER_TOOLS_LIB_BISECTRUNS_H
