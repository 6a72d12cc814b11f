//===- RunDiff.h - what differs between two runs ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_RUN_RUNDIFF_H
#define SINTER_COMPILER_INSPECT_RUN_RUNDIFF_H

#include "compiler/inspect/run/Run.h"

#include "llvm/Support/raw_ostream.h"

namespace sinter::compiler {

/// The difference of one number of the steps that both runs have, or of their
/// evaluations. Two values that are not finite are equal.
struct SeriesDifference {
  std::string name; // a key of the log, "eval loss", "accuracy"
  bool isOfEvaluations = false;
  size_t numCompared = 0, numDifferent = 0;
  size_t onlyInA = 0, onlyInB = 0; // of common steps, or evaluations
  int64_t firstStep = 0;           // where they differ first, and
  double firstA = 0, firstB = 0;
  /// The largest |a - b| / max(|a|, |b|); infinity if only one is finite.
  double largest = 0;
  int64_t largestStep = 0;
  double largestA = 0, largestB = 0;
};

struct RunDifference {
  std::vector<SeriesDifference> series; // all that were compared
  int64_t stepsOnlyInA = 0, stepsOnlyInB = 0;
  struct Setting {
    std::string name;
    std::optional<std::string> a, b; // nothing where a run does not have it
  };
  std::vector<Setting> settings; // that differ
  bool hasSettings = true;       // of both runs
  /// Whether the numbers of the steps and evaluations are the same; settings
  /// such as the device may differ.
  bool isSameNumbers() const;
  bool empty() const { return isSameNumbers() && settings.empty(); }
};

RunDifference diffRuns(const Run &a, const Run &b);
void printRunDifference(const RunDifference &difference, llvm::raw_ostream &os);
llvm::json::Object runDifferenceJson(const RunDifference &difference);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_RUN_RUNDIFF_H
