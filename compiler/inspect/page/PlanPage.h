//===- PlanPage.h - the memory of compiled programs as a page ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_PAGE_PLANPAGE_H
#define SINTER_COMPILER_INSPECT_PAGE_PLANPAGE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

struct sinter_artifact;

namespace sinter::compiler {

/// Writes the page of `sinter-inspect plan -o x.html`: the memory panel of the
/// page of `view`, of each entry of each artifact. `title` names the file.
void writePlanPage(llvm::ArrayRef<const sinter_artifact *> artifacts,
                   llvm::StringRef title, llvm::raw_ostream &os);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_PAGE_PLANPAGE_H
