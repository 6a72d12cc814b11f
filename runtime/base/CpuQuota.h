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

/// How many CPUs' time (1.5) the process may use: the smallest quota of its
/// control groups, of version 1 or 2, and those above them. Nothing if no group
/// limits it or the files cannot be read. `membership` is the process's
/// /proc/PID/cgroup; `root` is where control groups are mounted.
std::optional<double>
cpuQuota(const std::string &membership = "/proc/self/cgroup",
         const std::string &root = "/sys/fs/cgroup");

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_CPUQUOTA_H
