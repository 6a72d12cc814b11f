//===- LoaderTest.cpp - the vendor's libraries, installed or not ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/Loader.h"
#include "backends/cuda/library/NcclGroup.h"

#include <catch2/catch.hpp>

using namespace sinter::cuda;

TEST_CASE("libraries that are not there are one line", "[loader]") {
  auto missing = openLibrary({"libsinter-none.so.7", "libsinter-none.so.6"},
                             "none 7 (package none-7)");
  REQUIRE_FALSE(missing.ok());
  REQUIRE(missing.status().message() ==
          "libsinter-none.so.7 or libsinter-none.so.6 was not found: install "
          "none 7 (package none-7)");
  // Installed or not, the line begins with the name; then comes a version or
  // what
  // to install.
  const std::tuple<uint32_t, const char *, const char *> names[] = {
      {SINTER_CMD_MATMUL, "cuBLASLt 1", "libcublasLt.so.13"},
      {SINTER_CMD_CONV, "cuDNN 9.", "libcudnn.so.9"},
      {SINTER_CMD_ATTENTION, "cuDNN 9.", "libcudnn.so.9"},
      {SINTER_CMD_COLLECTIVE, "NCCL 2.", "libnccl.so.2"}};
  for (auto [command, version, library] : names) {
    sinter::rt::Result<std::string> found = libraryFor(command);
    std::string line = found.ok() ? *found : found.status().message();
    CAPTURE(line);
    REQUIRE(line.find('\n') == std::string::npos);
    if (found.ok()) {
      REQUIRE(line.find(version) == 0);
    } else {
      REQUIRE(line.find(library) == 0);
      REQUIRE(line.find("install") != std::string::npos);
    }
  }
  REQUIRE(libraryFor(SINTER_CMD_LAUNCH).ok());
  REQUIRE(libraryFor(SINTER_CMD_LAUNCH)->empty());
}

TEST_CASE("the installed NCCL names groups, and joins them where it can",
          "[loader]") {
  auto nccl = loadNccl();
  if (!nccl.ok()) {
    WARN(nccl.status().message());
    return;
  }
  sinter_rank alone = {};
  alone.replicas = 1;
  REQUIRE(nameNcclGroup(**nccl, alone.group).ok());
  auto group = joinNcclGroup(**nccl, alone);
  if (group.ok())
    return; // there is a GPU
  CHECK(group.status().code() == SINTER_DEVICE_FAILED);
  CHECK(group.status().message().find("NCCL: joining a group: ") == 0);
  CHECK(group.status().message().find('\n') == std::string::npos);
}
