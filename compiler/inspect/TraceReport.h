//===- TraceReport.h - the history of a module, like git log ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_TRACEREPORT_H
#define SINTER_COMPILER_INSPECT_TRACEREPORT_H

#include "compiler/trace/Trace.h"

namespace sinter::compiler {

struct TraceFilter {
  std::string pass; // a pass's flag with or without "sinter-", a phase, or a
                    // number in the log; "" = all
  std::string op;   // only ops whose text contains this, and steps with such
  bool onlyChanged = false;
};

/// One line per pass: number, phase, pass, time, and for each changed function
/// the numbers of removed and added lines.
void printTraceLog(const Trace &trace, const TraceFilter &filter,
                   llvm::raw_ostream &os);
/// The IR of the changed functions after each selected pass.
void printTraceShow(const Trace &trace, const TraceFilter &filter,
                    llvm::raw_ostream &os);
/// What each selected pass changed.
void printTraceDiff(const Trace &trace, const TraceFilter &filter,
                    llvm::raw_ostream &os);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_TRACEREPORT_H
