//===- ControlGroup.cpp - what control groups allow a process -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The kernel's Documentation/admin-guide/cgroup-v2.rst (cpu.max, memory.max),
// Documentation/scheduler/sched-bwc.rst (cpu.cfs_quota_us) and
// Documentation/admin-guide/cgroup-v1/memory.rst (memory.limit_in_bytes).
//
//===----------------------------------------------------------------------===//

#include "runtime/base/ControlGroup.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace sinter::rt {

static std::optional<double> readNumber(const std::string &path) {
  double value = 0;
  std::ifstream file(path);
  return file >> value ? std::optional(value) : std::nullopt;
}

/// The quota of the group in `folder` alone; "max 100000" and -1 mean no limit.
static std::optional<double> quotaOf(const std::string &folder,
                                     bool isVersion2) {
  std::optional<double> quota, period;
  if (isVersion2) {
    std::ifstream file(folder + "/cpu.max");
    double a = 0, b = 0;
    if (file >> a >> b)
      quota = a, period = b;
  } else {
    quota = readNumber(folder + "/cpu.cfs_quota_us");
    period = readNumber(folder + "/cpu.cfs_period_us");
  }
  if (!quota || !period || *quota <= 0 || *period <= 0)
    return std::nullopt;
  return *quota / *period;
}

/// The memory limit of the group in `folder` alone, in bytes; "max" means none,
/// and in version 1 a number near 2^63 does.
static std::optional<double> memoryOf(const std::string &folder,
                                      bool isVersion2) {
  std::optional<double> limit = readNumber(
      folder + (isVersion2 ? "/memory.max" : "/memory.limit_in_bytes"));
  return limit && *limit > 0 && *limit < 0x1p60 ? limit : std::nullopt;
}

using LimitOf = std::optional<double> (*)(const std::string &folder,
                                          bool isVersion2);

/// The smallest limit of the group at `path` and those above it. In a container
/// the path may be one of the host that is not mounted; the root is then the
/// container's own group.
static std::optional<double> leastAbove(LimitOf limitOf,
                                        const std::string &mount,
                                        std::string path, bool isVersion2) {
  std::optional<double> least;
  for (;;) {
    if (std::optional<double> limit = limitOf(mount + path, isVersion2))
      least = std::min(least.value_or(*limit), *limit);
    if (path.empty() || path == "/")
      return least;
    path.erase(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

/// The smallest limit of all groups that have the version 1 `controller`, and
/// of the one of version 2.
static std::optional<double> leastLimit(LimitOf limitOf, const char *controller,
                                        const std::string &membership,
                                        const std::string &root) {
  std::optional<double> least;
  std::ifstream file(membership);
  // "0::/path" of version 2, "4:cpu,cpuacct:/path" of version 1.
  for (std::string line; std::getline(file, line);) {
    size_t first = line.find(':');
    size_t second =
        first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos)
      continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    bool isVersion2 = controllers.empty();
    bool isWanted = isVersion2;
    std::istringstream names(controllers);
    for (std::string name; std::getline(names, name, ',');)
      isWanted |= name == controller;
    if (!isWanted)
      continue;
    std::string mount = isVersion2 ? root : root + "/" + controllers;
    if (std::optional<double> limit =
            leastAbove(limitOf, mount, path, isVersion2))
      least = std::min(least.value_or(*limit), *limit);
  }
  return least;
}

std::optional<double> cpuQuota(const std::string &membership,
                               const std::string &root) {
  return leastLimit(quotaOf, "cpu", membership, root);
}

std::optional<uint64_t> memoryLimitBytes(const std::string &membership,
                                         const std::string &root) {
  std::optional<double> limit =
      leastLimit(memoryOf, "memory", membership, root);
  return limit ? std::optional(static_cast<uint64_t>(*limit)) : std::nullopt;
}

uint64_t usableMemoryBytes() {
  const uint64_t machine = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                           static_cast<uint64_t>(::sysconf(_SC_PAGE_SIZE));
  return std::min(machine, memoryLimitBytes().value_or(machine));
}

} // namespace sinter::rt
