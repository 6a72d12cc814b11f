//===- TraceDiff.h - what differs between two traces ------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_TRACEDIFF_H
#define SINTER_COMPILER_INSPECT_TRACEDIFF_H

#include "compiler/inspect/ModelGraph.h"
#include "compiler/trace/Trace.h"

#include "llvm/Support/JSON.h"

namespace sinter::compiler {

/// A pass, and the lines that it removed and added in A and in B. A pass that
/// ran only in one of them has no lines of the other.
struct PassChange {
  std::string pass; // "fuse sinter-fuse-loops"
  std::string a, b; // "-12 +14"; "" if it did not run
};

struct TraceDifference {
  std::vector<PassChange> passes;
  unsigned count = 0; // of B
  bool empty() const { return passes.empty(); }
};

TraceDifference diffTraces(const Trace &a, const Trace &b);

/// The functions of the last step that has functions: the graph before it was
/// planned. Values of weights are not in traces.
ModelGraph lastGraph(const Trace &trace);

void printDifference(const TraceDifference &difference, bool all,
                     llvm::raw_ostream &os);
llvm::json::Object differenceJson(const TraceDifference &difference);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_TRACEDIFF_H
