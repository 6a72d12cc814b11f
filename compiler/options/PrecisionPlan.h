//===- PrecisionPlan.h - the precision of each op as a file -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// JSON: {"version": 1, "policy": "bf16", "sixteen_bit_share": {"step": 0.99},
// "ops": [{"function", "node", "op", "number", "precision", "reason"}, ..]}.
// --save-precision-plan writes it and --precision-plan reads it. Users may edit
// it in between: an op whose precision is fp32 keeps float32. With the policy
// int8 the share is "eight_bit_share", and an op in int8 has the "range" of its
// input, [low, high].
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_OPTIONS_PRECISIONPLAN_H
#define SINTER_COMPILER_OPTIONS_PRECISIONPLAN_H

#include "compiler/options/Options.h"
#include "passes/precision/PrecisionReport.h"

#include "llvm/Support/JSON.h"

namespace sinter::compiler {

/// Stores the policy and ops of the plan at `path` in `options`; returns what
/// is wrong with the plan, "" if nothing.
std::string readPrecisionPlan(llvm::StringRef path, Options &options);

/// The plan of a program. If `entries` is empty, every op has `policy`.
llvm::json::Object
precisionPlanJson(llvm::StringRef policy,
                  llvm::ArrayRef<passes::PrecisionEntry> entries);

/// Writes the plan to `path`; returns what went wrong, "" if nothing.
std::string writePrecisionPlan(llvm::StringRef path, llvm::StringRef policy,
                               llvm::ArrayRef<passes::PrecisionEntry> entries);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_OPTIONS_PRECISIONPLAN_H
