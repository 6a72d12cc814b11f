//===- OutputFile.h - a file that appears whole or not at all ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_EMIT_OUTPUTFILE_H
#define SINTER_COMPILER_EMIT_OUTPUTFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace sinter::compiler {

/// Checks before any work is done that a file can be written to `path`, and is
/// none of `inputs`, under whatever name: returns why not ("is a directory"),
/// "" if it can.
std::string whyNotWritable(llvm::StringRef path,
                           llvm::ArrayRef<std::string> inputs);

/// Writes `path` ("-": stdout): `write` fills a temporary file beside it, which
/// then takes its place; on failure nothing of it is left. A path that exists
/// and is no regular file (a pipe, /dev/null) is written directly. Returns what
/// went wrong, "" if nothing.
std::string
writeFile(llvm::StringRef path,
          llvm::function_ref<void(llvm::raw_pwrite_stream &)> write);

/// The same for a file that another program makes: `make` writes the whole file
/// at the path that it is given (it returns "" when it did). The result is
/// executable.
std::string makeFile(llvm::StringRef path,
                     llvm::function_ref<std::string(llvm::StringRef)> make);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_EMIT_OUTPUTFILE_H
