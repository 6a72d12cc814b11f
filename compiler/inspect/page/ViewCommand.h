//===- ViewCommand.h - sinter-inspect view ----------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_PAGE_VIEWCOMMAND_H
#define SINTER_COMPILER_INSPECT_PAGE_VIEWCOMMAND_H

#include "compiler/driver/Driver.h"

namespace sinter::compiler {

/// Options of `view`, which parseOptions does not know.
extern const char *const kViewHelp;

/// `sinter-inspect view FILE|TRACE -o page.html`: writes one page about how a
/// model is compiled, or about a trace. `args` are the words after "view".
/// Returns the exit code.
int viewProgram(llvm::ArrayRef<std::string> args,
                llvm::ArrayRef<TargetFactory> targets);

/// `sinter-inspect serve FILE|TRACE`: shows the page of `view` on 127.0.0.1,
/// and makes it again when the file changes. Ends with an error, or when the
/// process is stopped.
int serveProgram(llvm::ArrayRef<std::string> args,
                 llvm::ArrayRef<TargetFactory> targets);

/// `sinter-inspect graph MODEL -o page.html`: the same page, of the phases up
/// to --stop-after, by default "simplify".
int viewGraph(const Options &options, llvm::ArrayRef<TargetFactory> targets);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_PAGE_VIEWCOMMAND_H
