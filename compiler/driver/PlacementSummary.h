//===- PlacementSummary.h - devices of a program, for people ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_PLACEMENTSUMMARY_H
#define SINTER_COMPILER_DRIVER_PLACEMENTSUMMARY_H

#include "compiler/options/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

namespace sinter::compiler {

/// The manifest's "placement" of a planned `module`: its devices and what it
/// takes of their memory, regions of nodes with the reason why they are where
/// they are, and what is copied from one device to another. `kind` is the first
/// device's. Of a program that could only be on one device there are no
/// regions.
llvm::json::Object placementJson(mlir::ModuleOp module, const Options &options,
                                 llvm::StringRef otherwise);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_PLACEMENTSUMMARY_H
