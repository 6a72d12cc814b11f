//===- RecordedCpus.h - CPUs that code is compiled for by name --*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Code for another machine cannot be compared with what this machine measures
// (CpuRates.h). For each name of a CPU, this table has the rates of one part
// that was sold: operations and bytes of a cycle, as its maker documents them,
// times the part's base clock.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_RECORDEDCPUS_H
#define SINTER_RUNTIME_BASE_RECORDEDCPUS_H

#include "runtime/base/CpuRates.h"

#include <span>
#include <string_view>

namespace sinter::rt {

struct RecordedCpu {
  const char *name;  // LLVM's and GCC's: "znver4"
  const char *level; // of the x86-64 psABI that it supports: "x86-64-v4"
  const char *part;  // whose rates these are
  int cores;
  double clockGHz; // base clock
  /// Operations of a core in a cycle; 0: it has no such instruction. A
  /// multiply-add is two.
  int fp32, bf16, bf16Tiles, fp16, int8, int8Tiles;
  int l1Bytes, l2Bytes; // read by a core in a cycle
  double memoryGBps;    // of the socket, shared by its cores
  double l3MiB;         // of the socket

  /// Of one core. Reads of memory are a core's share of the socket.
  CpuRates rates() const;
};

/// All of them, ordered by maker and age.
std::span<const RecordedCpu> recordedCpus();
/// Null if no CPU of that name is recorded.
const RecordedCpu *recordedCpu(std::string_view name);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_RECORDEDCPUS_H
