//===- RunReport.h - numbers of training runs -------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_RUN_RUNREPORT_H
#define SINTER_COMPILER_INSPECT_RUN_RUNREPORT_H

#include "compiler/inspect/run/Run.h"

#include "llvm/Support/raw_ostream.h"

#include <optional>

namespace sinter::compiler {

/// The least, largest, first and last of the finite numbers of a column, and
/// their steps.
struct ColumnSummary {
  struct Point {
    int64_t step = 0;
    double value = 0;
  };
  Point first, last, least, largest;
  size_t count = 0;        // of finite numbers
  size_t numNotFinite = 0; // NaN and infinities
  /// The step of the last number, if that is not finite.
  std::optional<int64_t> endsNotFinite;
};
ColumnSummary summarize(const Run &run, const std::vector<double> &column);

/// A number of a log: "-" if it is missing, "not finite".
std::string numberText(double value, int digits = 6);

/// Facts of a run with texts, in the order in which they are shown.
std::vector<std::pair<std::string, std::string>> runFacts(const Run &run);

/// One table with a column for each run.
void printRuns(llvm::ArrayRef<Run> runs, llvm::raw_ostream &os);
/// Of each run, a table with a row for each epoch.
void printEpochs(llvm::ArrayRef<Run> runs, llvm::raw_ostream &os);
/// The JSON value that docs/inspector.md describes.
llvm::json::Object runJson(const Run &run);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_RUN_RUNREPORT_H
