//===- PlaceOps.h - the place phase -----------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLACE_PLACEOPS_H
#define SINTER_PASSES_PLACE_PLACEOPS_H

#include "passes/Target.h"

#include <memory>

namespace sinter::passes {

struct PlaceOpsOptions; // Passes.h

/// The place phase for a program that may span `devices`, whose targets must
/// outlive the pass. Ops go to the first device unless there is a reason for
/// another one. Rules name these devices. Without devices the pass fails.
std::unique_ptr<mlir::Pass> createPlaceOps(std::vector<ProgramDevice> devices,
                                           const PlaceOpsOptions &options);

/// For a module that is not placed: fails, with the error of the place phase,
/// if there is an op that none of `devices` supports.
mlir::LogicalResult checkSupport(mlir::ModuleOp module,
                                 llvm::ArrayRef<ProgramDevice> devices);

/// Splits "REGEX=DEVICE" at the last "="; false for anything else.
bool splitRule(llvm::StringRef rule, llvm::StringRef &pattern,
               llvm::StringRef &device);

} // namespace sinter::passes

#endif // SINTER_PASSES_PLACE_PLACEOPS_H
