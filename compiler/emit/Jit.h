//===- Jit.h - a compiled program in this process ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_EMIT_JIT_H
#define SINTER_COMPILER_EMIT_JIT_H

#include "compiler/emit/Artifact.h"

#include "sinter/abi.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace llvm::orc {
class LLJIT;
}

namespace sinter::compiler {

/// Owns the code and a copy of the constants; the artifact is valid during its
/// lifetime. The module and its blobs may be destroyed after create().
class Jit {
public:
  static llvm::Expected<std::unique_ptr<Jit>>
  create(const CompiledProgram &program);
  ~Jit();

  const sinter_artifact *artifact() const { return artifact_; }

private:
  Jit();

  std::unique_ptr<llvm::orc::LLJIT> engine_;
  void *constants_ = nullptr;
  uint64_t constantsBytes_ = 0;
  const sinter_artifact *artifact_ = nullptr;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_EMIT_JIT_H
