//===- InspectOptions.h - what a report is asked for ---------- -*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_INSPECTOPTIONS_H
#define SINTER_COMPILER_INSPECT_INSPECTOPTIONS_H

#include "compiler/ExitCode.h"
#include "compiler/inspect/InspectTool.h"
#include "compiler/inspect/TraceReport.h"
#include "compiler/inspect/Why.h"
#include "compiler/options/Options.h"

namespace sinter::compiler {

/// The options that sinter-inspect has besides those of a compilation.
struct InspectOptions {
  std::string command = "summary";
  TraceFilter filter;
  bool json = false, llvm = false;
  std::string sort;                // of kernels: "time"
  bool all = false;                // of lock files: long lists as they are
  std::string pattern;             // of grep
  std::string from, to;            // of diff: steps of a trace
  std::vector<Question> questions; // of why
  std::vector<std::string> rest;   // for parseOptions
};

/// Prints an error of the tool and returns `code`.
int inspectError(const llvm::Twine &message, int code = kExitUsage);

/// Prints with `report` to -o FILE, or to stdout. Returns the exit code.
int printReport(const Options &options,
                llvm::function_ref<void(llvm::raw_ostream &)> report);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_INSPECTOPTIONS_H
