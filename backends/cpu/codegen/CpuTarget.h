//===- CpuTarget.h - x86-64 CPUs as a target --------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_CODEGEN_CPUTARGET_H
#define SINTER_BACKENDS_CPU_CODEGEN_CPUTARGET_H

#include "passes/Target.h"

#include <memory>

namespace sinter::cpu {

/// `mcpu` is native, x86-64, x86-64-v2, -v3 or -v4. native means the highest of
/// these levels that this machine has, so that code depends only on the level.
/// The name of a CPU (RecordedCpus.h) means its level.
/// nullptr for other names. Without a library, a call computes no function
/// beside its products: the machine's libm would give other bits than a
/// generated kernel.
std::unique_ptr<passes::Target> createCpuTarget(llvm::StringRef mcpu,
                                                bool hasLibrary);

/// "cpu".
const passes::DeviceKind &kind();

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_CODEGEN_CPUTARGET_H
