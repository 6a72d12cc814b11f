//===- CpuQuota.h - CPU time that a control group allows --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_CPUQUOTA_H
#define SINTER_RUNTIME_BASE_CPUQUOTA_H

#include <optional>
#include <string>

namespace sinter::rt {

/// CPUs' worth of time (1.5) that the process may use: the least that its
/// control groups and those above them allow, of version 1 or 2. Nothing where
/// none limits it or the files cannot be read. `membership` is its
/// /proc/PID/cgroup, `root` where control groups are mounted.
std::optional<double>
cpuQuota(const std::string &membership = "/proc/self/cgroup",
         const std::string &root = "/sys/fs/cgroup");

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_CPUQUOTA_H
