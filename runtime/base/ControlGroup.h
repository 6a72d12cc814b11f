//===- ControlGroup.h - what control groups allow a process -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The smallest limit of the process's control groups, of version 1 or 2, and of
// those above them. Nothing if no group limits it or the files cannot be read.
// `membership` is the process's /proc/PID/cgroup; `root` is where control
// groups are mounted.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_CONTROLGROUP_H
#define SINTER_RUNTIME_BASE_CONTROLGROUP_H

#include <cstdint>
#include <optional>
#include <string>

namespace sinter::rt {

/// How many CPUs' time (1.5) the process may use.
std::optional<double>
cpuQuota(const std::string &membership = "/proc/self/cgroup",
         const std::string &root = "/sys/fs/cgroup");

/// How many bytes of memory the process's groups may use, without swap.
std::optional<uint64_t>
memoryLimitBytes(const std::string &membership = "/proc/self/cgroup",
                 const std::string &root = "/sys/fs/cgroup");

/// The machine's memory, or the limit if that is less.
uint64_t usableMemoryBytes();

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_CONTROLGROUP_H
