//===- LockFile.h - the decisions of a compilation as a file ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// JSON: {"version": 1, "sinter": string, "model": hash, "settings": {..},
// "decisions": [{"target", "pass", "what", "function", "nodes", "with",
// "answer", "possible", "rule"}, ..], "program": {"code": hash, "constants":
// hash, "kernels": {name: hash}}}. `--lockfile` follows a file that exists and
// creates one that does not. Users may edit its answers.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_OPTIONS_LOCKFILE_H
#define SINTER_COMPILER_OPTIONS_LOCKFILE_H

#include "llvm/Support/JSON.h"

#include <memory>
#include <string>

namespace sinter::compiler {

/// A lock file that was read and has the right form.
struct LockFile {
  llvm::json::Object contents;

  const llvm::json::Array &decisions() const {
    return *contents.getArray("decisions");
  }
  /// What is recorded of the compilation; an empty object if nothing is.
  const llvm::json::Object &section(llvm::StringRef name) const;
  /// The CPU that code was generated for; "" if it is not recorded.
  std::string machine() const;
};

/// Reads the lock file at `path`; null if it does not exist. Returns what
/// is wrong with it, "" if nothing.
std::string readLockFile(llvm::StringRef path,
                         std::shared_ptr<const LockFile> &file);

/// Writes it; returns what went wrong, "" if nothing.
std::string writeLockFile(llvm::StringRef path, llvm::json::Object contents);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_OPTIONS_LOCKFILE_H
