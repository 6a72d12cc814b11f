//===- PrecisionView.h - the precision of each op, printed ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_PRECISIONVIEW_H
#define SINTER_COMPILER_INSPECT_PRECISIONVIEW_H

#include "sinter/abi.h"
#include "llvm/Support/raw_ostream.h"

namespace sinter::compiler {

/// Prints the precision plan from the artifact's manifest: a line per function
/// with the share of multiply-adds in 16 bits, and a line per op with the
/// reason.
void reportPrecision(const sinter_artifact &artifact, bool json,
                     llvm::raw_ostream &os);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_PRECISIONVIEW_H
