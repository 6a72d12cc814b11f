//===- QuantizeContractions.h - contractions in 8 bits ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Called by compiler/Phases.cpp, and by the calibration that finds the ranges.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_SIMPLIFY_QUANTIZECONTRACTIONS_H
#define SINTER_PASSES_SIMPLIFY_QUANTIZECONTRACTIONS_H

#include "mlir/Pass/Pass.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sinter::passes {

/// What 8-bit codes of the input of a contraction stand for.
struct QuantizeRange {
  std::string key; // of the contraction: PrecisionEntry::key()
  double low = 0, high = 0;
};

struct QuantizeSettings {
  std::string keepFp32; // regular expression for nodes; "": none
  std::vector<QuantizeRange> ranges;
  /// Keys of ops that stay float32, each with the reason.
  std::vector<std::pair<std::string, std::string>> kept;
};

/// Makes products of quantised values of the contractions that have a range.
std::unique_ptr<mlir::Pass>
createQuantizeContractions(const QuantizeSettings &settings);
/// The pass with the options of its command line.
std::unique_ptr<mlir::Pass> createQuantizeContractions();

} // namespace sinter::passes

#endif // SINTER_PASSES_SIMPLIFY_QUANTIZECONTRACTIONS_H
