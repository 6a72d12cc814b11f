//===- Serve.h - a page on 127.0.0.1 ----------------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_PAGE_SERVE_H
#define SINTER_COMPILER_INSPECT_PAGE_SERVE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <string>

namespace sinter::compiler {

/// Sizes and times of the files: equal if nothing has changed.
std::string stampOfFiles(llvm::ArrayRef<std::string> files);

/// Serves the page that `make` writes on 127.0.0.1:`port` (0: a free port), for
/// browsers of this machine. When one of `files` has changed, `make` is called
/// again; if it fails, the last page stays and says so. `make` returns an exit
/// code and reports its errors. Returns only with an error: of the first
/// `make`, or if the port cannot be had.
int servePage(uint16_t port, llvm::ArrayRef<std::string> files,
              llvm::function_ref<int(std::string &page)> make);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_PAGE_SERVE_H
