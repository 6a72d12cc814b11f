//===- PlacementSummary.h - placement in the manifest -----------*- C++ -*-===//
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

/// The manifest's "placement" of a planned `module`: its devices and the memory
/// it uses on each, regions of nodes with the reason for their device, and
/// copies between devices. `kind` is the kind of the first device. There are no
/// regions if the program could only be on one device.
llvm::json::Object placementJson(mlir::ModuleOp module, const Options &options,
                                 llvm::StringRef otherwise);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_PLACEMENTSUMMARY_H
