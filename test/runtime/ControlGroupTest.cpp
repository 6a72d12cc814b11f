//===- ControlGroupTest.cpp - what control groups allow a process ---------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/ControlGroup.h"
#include "runtime/base/ThreadPool.h"
#include "test/runtime/TestFiles.h"

#include <catch2/catch.hpp>

#include <filesystem>

using namespace sinter::rt;

namespace {

void write(const std::string &path, const std::string &text) {
  std::filesystem::create_directories(
      std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

} // namespace

TEST_CASE("cpu quota: version 2, the least of a group and those above") {
  testfiles::TempFolder folder;
  std::string self = folder / "cgroup", root = folder / "fs";
  write(self, "0::/a/b\n");
  CHECK_FALSE(cpuQuota(self, root));
  write(root + "/a/b/cpu.max", "max 100000\n");
  CHECK_FALSE(cpuQuota(self, root));
  write(root + "/a/cpu.max", "150000 100000\n"); // docker --cpus=1.5
  CHECK(cpuQuota(self, root) == 1.5);
  write(root + "/a/b/cpu.max", "400000 100000\n");
  CHECK(cpuQuota(self, root) == 1.5);
  write(root + "/cpu.max", "50000 100000\n");
  CHECK(cpuQuota(self, root) == 0.5);
}

TEST_CASE("cpu quota: version 1, and a path of the host") {
  testfiles::TempFolder folder;
  std::string self = folder / "cgroup", root = folder / "fs";
  write(self, "5:memory:/x\n4:cpu,cpuacct:/docker/1234\n0::/\n");
  std::string group = root + "/cpu,cpuacct";
  write(group + "/cpu.cfs_quota_us", "-1\n");
  write(group + "/cpu.cfs_period_us", "100000\n");
  CHECK_FALSE(cpuQuota(self, root));
  write(group + "/cpu.cfs_quota_us", "250000\n");
  CHECK(cpuQuota(self, root) == 2.5);
  write(group + "/docker/1234/cpu.cfs_quota_us", "100000\n");
  write(group + "/docker/1234/cpu.cfs_period_us", "50000\n");
  CHECK(cpuQuota(self, root) == 2);
}

TEST_CASE("cpu quota: files that say nothing") {
  testfiles::TempFolder folder;
  std::string self = folder / "cgroup", root = folder / "fs";
  CHECK_FALSE(cpuQuota(self, root));
  for (const char *text : {"", ":", "::", "0::", "no colons", "1:cpu"}) {
    write(self, text);
    CHECK_FALSE(cpuQuota(self, root));
  }
  write(self, "0::/\n");
  for (const char *text : {"", "max", "0 100000", "100000 0", "x y"}) {
    write(root + "/cpu.max", text);
    CHECK_FALSE(cpuQuota(self, root));
  }
}

TEST_CASE("memory limit: the least of a group and those above") {
  testfiles::TempFolder folder;
  std::string self = folder / "cgroup", root = folder / "fs";
  write(self, "0::/a/b\n");
  CHECK_FALSE(memoryLimitBytes(self, root));
  write(root + "/a/b/memory.max", "max\n");
  CHECK_FALSE(memoryLimitBytes(self, root));
  write(root + "/a/memory.max", "83886080\n");
  CHECK(memoryLimitBytes(self, root) == 83886080);
  write(self, "9:memory:/x\n");
  CHECK_FALSE(memoryLimitBytes(self, root));
  write(root + "/memory/x/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK_FALSE(memoryLimitBytes(self, root));
  write(root + "/memory/memory.limit_in_bytes", "1048576\n");
  CHECK(memoryLimitBytes(self, root) == 1048576);
  CHECK(usableMemoryBytes() > 0);
}

TEST_CASE("threads beyond the CPUs are said") {
  CHECK(availableCpus() >= 1);
  CHECK(threadsNote(availableCpus()).empty());
  CHECK(threadsNote(0).empty());
  CHECK(threadsNote(availableCpus() + 1).find("exceeds the number of CPUs") !=
        std::string::npos);
}
