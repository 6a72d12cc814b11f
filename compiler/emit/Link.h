//===- Link.h - objects into trainers, libraries and objects ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Runs ld.lld on the program's objects and one prelinked object (start-up
// files, harness and runtime) that was made when Sinter was built. It links
// only with run-time shared libraries, by their full paths: the user's machine
// needs neither a compiler nor any -dev package.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_EMIT_LINK_H
#define SINTER_COMPILER_EMIT_LINK_H

#include "compiler/emit/Artifact.h"

#include "llvm/ADT/StringRef.h"

#include <string>

namespace sinter::compiler {

enum class LinkKind {
  Trainer, // an executable
  Library, // a shared library that exports sinter_<symbol>_* only
  Object,  // a relocatable object: kernels, tables, constants; no runtime
};

/// Links `program` to a file at `output`; returns what went wrong, "" if
/// nothing. Removes its temporary files.
std::string linkProgram(const CompiledProgram &program, LinkKind kind,
                        llvm::StringRef output);

/// A hash of the prelinked object that is part of such a file, which has the
/// library calls of CPUs and the executor; "" if there is none.
std::string runtimeHash(LinkKind kind, RuntimeNeeds needs);

/// The path of ld.lld: next to this tool, on PATH, or in LLVM 19's package; ""
/// if there is none.
std::string findLinker();

} // namespace sinter::compiler

#endif // SINTER_COMPILER_EMIT_LINK_H
