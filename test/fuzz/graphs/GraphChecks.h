//===- GraphChecks.h - one random graph, run in many ways -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_FUZZ_GRAPHS_GRAPHCHECKS_H
#define SINTER_TEST_FUZZ_GRAPHS_GRAPHCHECKS_H

#include "llvm/ADT/ArrayRef.h"

#include <functional>
#include <string>

namespace sinter::fuzz {

enum class Outcome {
  Passed,
  Unstable, // nothing could be compared
  Refused,  // by the importer, with a message
  None,     // the mode does not apply: no gradient, say
  Failed,
};

/// A word for it, as run.py reads it.
const char *nameOf(Outcome outcome);

/// Whether `mode` is one; see the table in GraphChecks.cpp.
bool isMode(llvm::StringRef mode);
/// The names of all modes, separated by commas.
std::string modeNames();

/// Runs the graph of `folder` (of the format of the ONNX backend suite) in the
/// given modes, and reports one outcome for each: its mode, and a line where
/// there is something to say. Outputs that are given are compared with the
/// evaluation in float64 (mode "oracle"), and so is what compiled programs
/// give.
using Report = std::function<void(llvm::StringRef mode, Outcome outcome,
                                  std::string text)>;
void checkGraph(const std::string &folder, llvm::ArrayRef<std::string> modes,
                const Report &report);

} // namespace sinter::fuzz

#endif // SINTER_TEST_FUZZ_GRAPHS_GRAPHCHECKS_H
