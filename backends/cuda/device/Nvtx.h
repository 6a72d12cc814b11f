//===- Nvtx.h - names for the vendor's profilers ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A profiler (Nsight Systems) names its library in NVTX_INJECTION64_PATH before
// it starts a program. NVTX's protocol passes that library a table, which it
// fills with functions. Without a profiler, every call here only tests a
// pointer. These are our own declarations of what NVTX 3's header-only library
// does.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_DEVICE_NVTX_H
#define SINTER_BACKENDS_CUDA_DEVICE_NVTX_H

#include <cstdint>

namespace sinter::cuda::nvtx {

/// Returns the address of an export table by its number; null if there is none.
using GetExportTable = const void *(*)(uint32_t table);
/// The function that a profiler's library exports as InitializeInjectionNvtx2;
/// not 0 on success.
using Initialize = int (*)(GetExportTable);

/// Lets a profiler fill in its functions.
bool attach(Initialize initialize);
/// Attaches the profiler that the environment names, at the first call only.
void attachFromEnvironment();

/// Begins a range of this thread's time. Ranges end in reverse order.
void push(const char *name);
void pop();

} // namespace sinter::cuda::nvtx

#endif // SINTER_BACKENDS_CUDA_DEVICE_NVTX_H
