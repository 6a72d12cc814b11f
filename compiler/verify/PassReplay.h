//===- PassReplay.h - a phase once more, pass by pass -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_VERIFY_PASSREPLAY_H
#define SINTER_COMPILER_VERIFY_PASSREPLAY_H

#include "compiler/Phases.h"

#include "mlir/IR/OwningOpRef.h"

#include <functional>

namespace sinter::compiler {

/// Runs the passes of `phase` on a copy of `module`, on one thread, without
/// printing anything. `after` is called with the copy after each pass that
/// changed it; the first is number 0. It returns false to end the replay.
/// `limit` limits the applications of patterns in pass `limitedPass`.
struct PassReplay {
  const Phase &phase;
  const PhaseContext &context;
  mlir::ModuleOp module;
  std::function<bool(unsigned number, llvm::StringRef pass,
                     mlir::ModuleOp module)>
      after;
  unsigned limitedPass = ~0u;
  size_t limit = ~size_t(0);

  /// Of the limited pass: how many applications were tried, and the last one
  /// that was allowed.
  size_t numTried = 0;
  std::string lastPattern = {}, lastOp = {};

  /// Fails if a pass fails.
  mlir::LogicalResult run();
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_VERIFY_PASSREPLAY_H
