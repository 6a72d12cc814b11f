//===- GraphFormats.h - programs for other viewers --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_PAGE_GRAPHFORMATS_H
#define SINTER_COMPILER_INSPECT_PAGE_GRAPHFORMATS_H

#include "compiler/inspect/page/PageData.h"

namespace sinter::compiler {

/// Graphs for Model Explorer (its JSON graph format, "graphs" at the top):
/// every function and program after the last pass that changed it in each
/// phase. A node's namespace is the path in its ONNX name.
void writeModelExplorer(const std::vector<PageProgram> &programs,
                        llvm::raw_ostream &os);

/// Trace events of Chrome and Perfetto: the commands of each program in order,
/// named after their nodes, and the live bytes of its arenas. Without a profile
/// each command takes 1 microsecond.
void writeTraceEvents(const PageProgram &program, llvm::raw_ostream &os);

/// A planned program of a trace.
struct PlannedProgram {
  std::string name;
  size_t numCommands = 0;
  InputSizes inputs;
};
std::vector<PlannedProgram> plannedPrograms(const Trace &trace);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_PAGE_GRAPHFORMATS_H
