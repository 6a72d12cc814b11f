//===- Cubin.h - the machine code of CUDA kernels ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_CUBIN_H
#define SINTER_COMPILER_INSPECT_CUBIN_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace sinter::compiler {

/// What a cubin says about one kernel.
struct CubinResources {
  unsigned registers = 0;   // of a thread
  unsigned stackBytes = 0;  // of a thread: spilled registers and arrays
  unsigned sharedBytes = 0; // of a block, without dynamic shared memory
  unsigned codeBytes = 0;
};

/// nullopt if `cubin` is damaged or does not have the kernel.
std::optional<CubinResources> cubinResources(llvm::StringRef cubin,
                                             llvm::StringRef kernel);

/// The SASS of one kernel. NVIDIA's nvdisasm prints it: $SINTER_NVDISASM, the
/// one on PATH or that of /usr/local/cuda/bin. On failure returns "" and `why`
/// says in one line what is missing.
std::string disassembleCubin(llvm::StringRef cubin, llvm::StringRef kernel,
                             std::string &why);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_CUBIN_H
