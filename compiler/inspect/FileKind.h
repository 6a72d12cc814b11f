//===- FileKind.h - what a file of sinter-inspect is ---------- -*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_FILEKIND_H
#define SINTER_COMPILER_INSPECT_FILEKIND_H

#include "llvm/ADT/StringRef.h"

namespace sinter::compiler {

enum class FileKind {
  Model,   // also what is not readable; reading it says why
  Trace,   // of --trace
  Program, // a library or trainer, or another ELF file
  Weights, // a checkpoint, a folder with checkpoints, or a .safetensors file
  Lock,    // of --lockfile
  Run,     // a log of a training run, or a folder with one
};

/// Looks at the first bytes. Pipes and devices are not opened: reading them may
/// block or never end.
FileKind fileKindOf(llvm::StringRef path);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_FILEKIND_H
