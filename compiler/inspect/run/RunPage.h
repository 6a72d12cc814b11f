//===- RunPage.h - training runs in the page --------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_RUN_RUNPAGE_H
#define SINTER_COMPILER_INSPECT_RUN_RUNPAGE_H

#include "compiler/inspect/run/Run.h"

namespace sinter::compiler {

/// The curves and facts of a run as the page draws them (docs/inspector.md). A
/// long run is reduced to buckets of equally many steps, each with the least,
/// the mean and the largest value, and how many are not finite. So no spike and
/// no NaN is lost.
llvm::json::Object runPageJson(const Run &run);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_RUN_RUNPAGE_H
