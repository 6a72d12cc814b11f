//===- ViewFiles.h - the files that a page is made from ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_PAGE_VIEWFILES_H
#define SINTER_COMPILER_INSPECT_PAGE_VIEWFILES_H

#include "compiler/inspect/page/PageData.h"

namespace sinter::compiler {

/// Each reads one file into `program` and returns the exit code. What is wrong
/// with the file is printed in one line.
///
/// The trace of `sinterc --trace`.
int readTraceFile(const std::string &path, PageProgram &program);
/// The times of --trace-events, whose program must have as many
/// commands and inputs of the same sizes as one that `program` has. A file that
/// does not say these sizes is read with a warning.
int readProfileFile(const std::string &path, PageProgram &program);
/// Numbers of nodes: {TITLE: {NODE: NUMBER}}.
int readOverlayFile(const std::string &path, PageProgram &program);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_PAGE_VIEWFILES_H
