//===- Nvtx.h - names for the vendor's profilers ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A profiler (Nsight Systems) names a library in NVTX_INJECTION64_PATH before
// it starts a program; NVTX's protocol hands it a table that it fills with
// functions. Without a profiler every call here is one test of a pointer. Our
// own declarations of what NVTX 3's header, which has no library, does.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_DEVICE_NVTX_H
#define SINTER_BACKENDS_CUDA_DEVICE_NVTX_H

#include <cstdint>

namespace sinter::cuda::nvtx {

/// Gives the address of an export table by its number; null: none such.
using GetExportTable = const void *(*)(uint32_t table);
/// What a profiler's library exports as InitializeInjectionNvtx2; not 0 on
/// success.
using Initialize = int (*)(GetExportTable);

/// Lets a profiler fill in its functions.
bool attach(Initialize initialize);
/// The one that the environment names, at the first call only.
void attachFromEnvironment();

/// A range of this thread's time; ends in the reverse order.
void push(const char *name);
void pop();

} // namespace sinter::cuda::nvtx

#endif // SINTER_BACKENDS_CUDA_DEVICE_NVTX_H
