//===- InspectedModel.h - a model compiled to look at it --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_INSPECTEDMODEL_H
#define SINTER_COMPILER_INSPECT_INSPECTEDMODEL_H

#include "compiler/driver/Driver.h"

namespace sinter::compiler {

/// Compiles `options.model` up to the phase `last`; sizes that it leaves open
/// are made up, which `notesSizes` says on stderr. `options` must outlive the
/// result. On failure returns null and sets `code`; the reason is printed.
std::unique_ptr<Compilation>
compileToInspect(const Options &options, const Phase &last,
                 llvm::ArrayRef<TargetFactory> targets, ExitCode &code,
                 bool notesSizes = true, bool keepsTrace = false);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_INSPECTEDMODEL_H
