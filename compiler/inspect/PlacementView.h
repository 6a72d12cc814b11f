//===- PlacementView.h - the device of each node, printed -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_PLACEMENTVIEW_H
#define SINTER_COMPILER_INSPECT_PLACEMENTVIEW_H

#include "sinter/abi.h"

#include "llvm/Support/raw_ostream.h"

namespace sinter::compiler {

/// Prints what the manifest says about placement: the devices of a program, its
/// regions with the reason for each, and the copies between devices.
void reportPlacement(const sinter_artifact &artifact, bool json,
                     llvm::raw_ostream &os);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_PLACEMENTVIEW_H
