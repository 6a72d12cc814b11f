//===- SpanningMemory.h - what sums over processes hold ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What the buffers of plain::SpanningSum take at most, which sums over
// processes on the CPU. The plan prints that, and a limit on memory counts it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_COLLECTIVE_SPANNINGMEMORY_H
#define SINTER_RUNTIME_COLLECTIVE_SPANNINGMEMORY_H

#include "runtime/collective/Communicator.h"
#include "runtime/data/ElementType.h"

#include <algorithm>

namespace sinter::rt {

/// What one message takes in a process.
struct SpanningMemory {
  /// For each element, values of this process that are sent: one sum, or those
  /// of all its replicas where a sum of them would have another tree or be
  /// rounded.
  uint32_t copies = 1;
  uint64_t stagedBytes = 0;   // of all arrays, rounded up to cache lines
  uint64_t receivedBytes = 0; // from the other processes

  uint64_t totalBytes() const { return stagedBytes + receivedBytes; }
};

/// Where an array is divided, so that no cache line has two writers: a multiple
/// of 64 elements.
inline uint64_t spanningShare(uint64_t elements, uint32_t parts) {
  return (elements / parts + 64) / 64 * 64;
}

/// For `what` in a process that has `count` replicas; others have as many.
inline SpanningMemory spanningMemory(const Collective &what, uint32_t processes,
                                     uint32_t count) {
  constexpr uint64_t lineBytes = 64;
  uint64_t all = 0, part = 0; // elements; those of one process, at most
  for (uint64_t elements : what.elements) {
    all += elements;
    part += elements / processes;
  }
  if (what.op == SINTER_ALL_REDUCE)
    part = std::min(all, spanningShare(all, processes));
  SpanningMemory memory;
  const bool isPowerOfTwo = (count & (count - 1)) == 0;
  const bool isRounded = what.dtype == SINTER_F16 || what.dtype == SINTER_BF16;
  const bool isSummed = what.op != SINTER_ALL_GATHER;
  if (isSummed && (!isPowerOfTwo || isRounded))
    memory.copies = count;
  const uint64_t bytes = memory.copies * elementBytes(what.dtype);
  memory.stagedBytes = (bytes * all + lineBytes - 1) / lineBytes * lineBytes;
  if (isSummed)
    memory.receivedBytes = (processes - 1) * part * bytes;
  return memory;
}

} // namespace sinter::rt

#endif // SINTER_RUNTIME_COLLECTIVE_SPANNINGMEMORY_H
