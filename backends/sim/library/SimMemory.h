//===- SimMemory.h - whose memory a library call touches --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_LIBRARY_SIMMEMORY_H
#define SINTER_BACKENDS_SIM_LIBRARY_SIMMEMORY_H

#include <cstdint>

namespace sinter::sim {

/// Whether [address, address + sizeBytes) is memory of a simulated device.
using MemoryCheck = bool (*)(const void *address, uint64_t sizeBytes);

/// The libraries' stand-ins call it for every operand; null (the default)
/// accepts every address. Must be set before the first call.
void setLibraryMemoryCheck(MemoryCheck check);
bool isLibraryMemory(const void *address, uint64_t sizeBytes);

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_LIBRARY_SIMMEMORY_H
