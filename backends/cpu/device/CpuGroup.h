//===- CpuGroup.h - replicas that are threads of one process ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_CPUGROUP_H
#define SINTER_BACKENDS_CPU_DEVICE_CPUGROUP_H

#include "runtime/collective/Communicator.h"

#include <memory>

namespace sinter::cpu {

/// Waits for the other replicas, each of which calls this on its own thread.
rt::Result<std::unique_ptr<rt::Communicator>>
joinCpuGroup(const sinter_rank &rank);

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_CPUGROUP_H
