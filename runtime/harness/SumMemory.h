//===- SumMemory.h - what sums over processes hold --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_SUMMEMORY_H
#define SINTER_RUNTIME_HARNESS_SUMMEMORY_H

#include "sinter/abi.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace sinter::rt {

/// What sums over `processes` processes, a divisor of the replicas, hold in
/// each of them: the first replica of a process allocates it when the process
/// joins the others. 0 where a library sums.
uint64_t spanningBytes(const sinter_artifact &artifact, uint32_t processes);
/// The same for every number of processes that the replicas allow: pairs of it
/// and the bytes, if there are any.
std::vector<std::pair<uint32_t, uint64_t>>
spanningBytesByProcesses(const sinter_artifact &artifact);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_SUMMEMORY_H
