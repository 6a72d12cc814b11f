//===- AssignPrecision.h - the precision phase ------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Called by compiler/Phases.cpp; narrowType also by the place phase.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PRECISION_ASSIGNPRECISION_H
#define SINTER_PASSES_PRECISION_ASSIGNPRECISION_H

#include "passes/Target.h"

#include <memory>
#include <string>
#include <vector>

namespace sinter::passes {

struct PrecisionSettings {
  std::string policy = "fp32";        // fp32, tf32, bf16 or fp16
  std::string keepFp32;               // regular expression for nodes; "": none
  std::vector<std::string> overrides; // by a plan: PrecisionEntry::key()=WORD
  /// Keys of ops that stay float32, each with the reason.
  std::vector<std::pair<std::string, std::string>> calibrated;
};

/// The 16-bit type of policy bf16 or fp16; null for other policies.
mlir::FloatType narrowType(mlir::MLIRContext *context, llvm::StringRef policy);

/// The precision phase for a program on `target`, which must outlive the pass.
/// Without a target, every contraction counts as a library call that applies
/// any post-ops.
std::unique_ptr<mlir::Pass>
createAssignPrecision(const Target *target, const PrecisionSettings &settings);
/// The pass with the options of its command line.
std::unique_ptr<mlir::Pass> createAssignPrecision(const Target *target);

} // namespace sinter::passes

#endif // SINTER_PASSES_PRECISION_ASSIGNPRECISION_H
