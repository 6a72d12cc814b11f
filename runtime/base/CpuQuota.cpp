//===- CpuQuota.cpp - CPU time that a control group allows ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The kernel's Documentation/admin-guide/cgroup-v2.rst (cpu.max) and
// Documentation/scheduler/sched-bwc.rst (cpu.cfs_quota_us).
//
//===----------------------------------------------------------------------===//

#include "runtime/base/CpuQuota.h"

#include <algorithm>
#include <fstream>
#include <sstream>

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

/// The smallest quota of the group at `path` and those above it. In a container
/// the path may be one of the host that is not mounted; the root is then the
/// container's own group.
static std::optional<double> leastQuota(const std::string &mount,
                                        std::string path, bool isVersion2) {
  std::optional<double> least;
  for (;;) {
    if (std::optional<double> quota = quotaOf(mount + path, isVersion2))
      least = std::min(least.value_or(*quota), *quota);
    if (path.empty() || path == "/")
      return least;
    path.erase(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

std::optional<double> cpuQuota(const std::string &membership,
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
    bool hasCpu = false;
    std::istringstream names(controllers);
    for (std::string name; std::getline(names, name, ',');)
      hasCpu |= name == "cpu";
    if (!isVersion2 && !hasCpu)
      continue;
    std::string mount = isVersion2 ? root : root + "/" + controllers;
    if (std::optional<double> quota = leastQuota(mount, path, isVersion2))
      least = std::min(least.value_or(*quota), *quota);
  }
  return least;
}

} // namespace sinter::rt
