//===- TraceTool.h - the commands on traces, and why ---------- -*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_TRACETOOL_H
#define SINTER_COMPILER_INSPECT_TRACETOOL_H

#include "compiler/inspect/InspectOptions.h"

namespace sinter::compiler {

/// True if `args` start with a trace and the name of a pass, not of a file.
bool namesPassOfTrace(llvm::ArrayRef<std::string> args);
/// Takes the words behind a trace: "show TRACE PASS", "blame TRACE OP" and
/// "diff TRACE PASS PASS".
void takeTraceWords(InspectOptions &inspect);
/// Takes "--OPTION=VALUE" of `why`; false if `text` is something else.
bool takeQuestion(llvm::StringRef text, std::vector<Question> &questions);

/// Reports on the trace `options.model`. Returns the exit code.
int inspectTrace(const InspectOptions &inspect, const Options &options);
/// Answers the questions of `why`. Returns the exit code.
int explain(const Trace &trace, const InspectOptions &inspect,
            const Options &options);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_TRACETOOL_H
