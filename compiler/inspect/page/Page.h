//===- Page.h - the page of sinter-inspect view -----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The page is one HTML file without references to others. Its parts are files
// in this folder (page.html, page.css, *.js), which the build embeds.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_PAGE_PAGE_H
#define SINTER_COMPILER_INSPECT_PAGE_PAGE_H

#include "compiler/inspect/page/PageData.h"

namespace sinter::compiler {

/// Writes the page about `content`. `title` is that of the window.
void writePage(const PageContent &content, llvm::StringRef title,
               llvm::raw_ostream &os);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_PAGE_PAGE_H
