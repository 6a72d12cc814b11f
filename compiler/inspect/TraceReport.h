//===- TraceReport.h - the history of a module, like git log ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_TRACEREPORT_H
#define SINTER_COMPILER_INSPECT_TRACEREPORT_H

#include "compiler/trace/Trace.h"

#include "llvm/Support/Regex.h"

namespace sinter::compiler {

struct TraceFilter {
  std::string pass; // a pass's flag with or without "sinter-", a phase, or a
                    // number in the log; "" = all
  std::string op;   // only ops whose text contains this, and steps with such;
                    // for blame, only lines that contain it
  bool onlyChanged = false;
};

/// The steps that pass the filter, as a list of objects: "number", "phase",
/// "pass", "milliseconds"; "changes": function, removed and added lines;
/// "rewrites": name, function, nodes, before, after; "remarks": pass, kind,
/// nodes, with, text, count. `text` says whether the changes have their lines,
/// and the rewrites and remarks are there at all.
void printTraceJson(const Trace &trace, const TraceFilter &filter, bool text,
                    llvm::raw_ostream &os);

/// Whether a step of the trace passes `filter.pass`.
bool hasPass(const Trace &trace, const TraceFilter &filter);

/// Whether a line of the trace contains `op`.
bool hasOp(const Trace &trace, llvm::StringRef op);

// In the reports below, a line whose values only have other numbers than before
// is the same line.

/// One line per pass: number, phase, pass, time, for each changed function the
/// numbers of removed and added lines, and the number of rewrites.
void printTraceLog(const Trace &trace, const TraceFilter &filter,
                   llvm::raw_ostream &os);
/// The IR of the changed functions after each selected pass.
void printTraceShow(const Trace &trace, const TraceFilter &filter,
                    llvm::raw_ostream &os);
/// What each selected pass changed.
void printTraceDiff(const Trace &trace, const TraceFilter &filter,
                    llvm::raw_ostream &os);
/// What changed from after the step of `from` to after that of `to`, each a
/// pass, phase or number; a phase ends with its last step.
/// Returns an error message, empty on success.
std::string printTraceBetween(const Trace &trace, llvm::StringRef from,
                              llvm::StringRef to, llvm::raw_ostream &os);
/// Whether a report has a rewrite.
using IsWantedRewrite = llvm::function_ref<bool(const TraceRewrite &)>;
/// The rewrites of each selected pass: what ops and nodes each was about, and
/// the ops before and after. Of those, only rewrites with `filter.op`, or for
/// which `isWanted` holds if it is given. Returns how many.
size_t printTraceRewrites(const Trace &trace, const TraceFilter &filter,
                          llvm::raw_ostream &os,
                          IsWantedRewrite isWanted = nullptr);
/// Each line of the last IR with the pass that made it what it is. With
/// `filter.op`, also the rewrites that concern it, and if it is in no line, the
/// pass that removed the last line with it. Returns how many lines it printed.
size_t printTraceBlame(const Trace &trace, const TraceFilter &filter,
                       llvm::raw_ostream &os);
/// The same as {"lines": [{"step": {"number", "phase", "pass"}, "function",
/// "line"}], "rewrites": [..], "removed_by": step}.
size_t printTraceBlameJson(const Trace &trace, const TraceFilter &filter,
                           llvm::raw_ostream &os);
/// The lines that match `pattern` and that a selected pass added (+) or removed
/// (-). Returns how many.
size_t printTraceGrep(const Trace &trace, const TraceFilter &filter,
                      const llvm::Regex &pattern, llvm::raw_ostream &os);
/// The same as [{"step", "function", "change": "added" or "removed", "line"}].
size_t printTraceGrepJson(const Trace &trace, const TraceFilter &filter,
                          const llvm::Regex &pattern, llvm::raw_ostream &os);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_TRACEREPORT_H
