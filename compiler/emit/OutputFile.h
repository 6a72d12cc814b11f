//===- OutputFile.h - files written completely or not at all ----*- C++ -*-===//
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

/// Checks before any work is done that a file can be written to `path`, and
/// that it is not one of `inputs` under another name. Returns why not ("is a
/// directory"), "" if it can.
std::string whyNotWritable(llvm::StringRef path,
                           llvm::ArrayRef<std::string> inputs);

/// Writes `path` ("-": stdout): `write` fills a temporary file beside it, which
/// is then renamed to `path`, or removed on failure. A path that exists and is
/// not a regular file (a pipe, /dev/null) gets the bytes once the file is
/// complete. Returns what went wrong, "" if nothing.
std::string
writeFile(llvm::StringRef path,
          llvm::function_ref<void(llvm::raw_pwrite_stream &)> write);

/// The same for a file that another program makes: `make` writes the whole file
/// to the given path and returns what went wrong, "" if nothing. The result is
/// executable.
std::string makeFile(llvm::StringRef path,
                     llvm::function_ref<std::string(llvm::StringRef)> make);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_EMIT_OUTPUTFILE_H
