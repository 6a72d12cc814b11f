//===- GatherModuleTest.cpp - launching the kernel that gathers rows ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/device/GatherModule.h"
#include "backends/cuda/device/CudaDevice.h"
#include "test/runtime/FakeDriver.h"
#include "test/runtime/GatherOnHost.h"

#include <catch2/catch.hpp>

#include <numeric>

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::rt;
using sinter::test::FakeDriver;

TEST_CASE("cuda: rows are copied in the largest unit that fits", "[cuda]") {
  CHECK(gatherUnit(0x1000, 0x2000, 3136) == 16);
  CHECK(gatherUnit(0x1000, 0x2000, 8) == 8);
  CHECK(gatherUnit(0x1000, 0x2004, 3136) == 4);
  CHECK(gatherUnit(0x1002, 0x2000, 3136) == 2);
  CHECK(gatherUnit(0x1000, 0x2000, 3) == 1);
}

TEST_CASE("cuda: a device gathers rows by a launch", "[cuda]") {
  if (!gatherPtx())
    return; // built without clang
  FakeDriver fake;
  fake.kernels[gatherKernelName] = test::gatherRowsKernel;
  {
    auto made = createCudaDevice(fake.table(), 0, {});
    REQUIRE(made.ok());
    Device &device = **made;
    REQUIRE(device.prepareGather().ok());
    REQUIRE(device.prepareGather().ok());
    CHECK(fake.calls["moduleLoadDataEx"] == 1);
    auto stream = device.createStream();
    REQUIRE(stream.ok());
    auto allocate = [&](uint64_t bytes) {
      auto block = device.allocate(bytes, "a test");
      REQUIRE(block.ok());
      return static_cast<uint8_t *>(*block);
    };
    // Rows of 1000 floats, of which the last one pads, and of a byte.
    constexpr int64_t rows = 6, rowFloats = 1000;
    std::vector<float> x(rows * rowFloats);
    std::iota(x.begin(), x.end(), 0.0f);
    const uint8_t labels[] = {10, 11, 12, 13, 14};
    const int64_t chosen[] = {4, 0, 0, ~int64_t(2)};
    uint8_t *from = allocate(x.size() * 4), *bytes = allocate(5),
            *numbers = allocate(sizeof(chosen)), *to = allocate(4 * 4000 + 4);
    REQUIRE(device.upload(**stream, from, x.data(), x.size() * 4).ok());
    REQUIRE(device.upload(**stream, bytes, labels, sizeof(labels)).ok());
    REQUIRE(device.upload(**stream, numbers, chosen, sizeof(chosen)).ok());
    RowGather gather{reinterpret_cast<const int64_t *>(numbers), 4, {}, 2};
    gather.columns[0] = {from, to, 4 * rowFloats, 5};
    gather.columns[1] = {bytes, to + 4 * 4000, 1, -1};
    REQUIRE(device.gatherRows(**stream, gather).ok());
    gather = {}; // the driver has copied it
    std::vector<float> found(4 * rowFloats);
    uint8_t foundLabels[4];
    REQUIRE(device.download(**stream, found.data(), to, 4 * 4000).ok());
    REQUIRE(device.download(**stream, foundLabels, to + 4 * 4000, 4).ok());
    REQUIRE(device.synchronize(**stream).ok());
    CHECK(found[0] == 4000);
    CHECK(found[rowFloats] == 0);
    CHECK(found[2 * rowFloats + 999] == 999);
    CHECK(found[3 * rowFloats] == 5000);
    CHECK(foundLabels[0] == 14);
    CHECK(foundLabels[3] == 12);
    // 1000 units of 16 bytes, in blocks of 256.
    REQUIRE(fake.launches.size() == 1);
    CHECK(fake.launches[0].grid[0] == 4);
    CHECK(fake.launches[0].grid[1] == 2);
    CHECK(fake.launches[0].block[0] == gatherBlock);

    fake.failKernel(gatherKernelName, 1, result::illegalAddress);
    gather = {reinterpret_cast<const int64_t *>(numbers), 4, {}, 1};
    gather.columns[0] = {bytes, to, 1, -1};
    REQUIRE(device.gatherRows(**stream, gather).ok());
    CHECK(device.synchronize(**stream).message() ==
          "cuda:0 failed in kernel sinter_gather_rows (grid 1x1x1, block "
          "256x1x1, 0 bytes of shared memory): CUDA_ERROR_700 (meaning of "
          "700)");
  }
  CHECK(fake.violations.empty());
}

TEST_CASE("cuda: a kernel that gathers rows and does not load says why",
          "[cuda]") {
  FakeDriver fake;
  auto made = createCudaDevice(fake.table(), 0, {});
  REQUIRE(made.ok());
  if (!gatherPtx()) {
    CHECK((*made)->prepareGather().code() == SINTER_UNSUPPORTED);
    return;
  }
  fake.failCall("moduleLoadDataEx", 1, result::unsupportedPtxVersion);
  Status failed = (*made)->prepareGather();
  CHECK(failed.code() == SINTER_UNSUPPORTED);
  CHECK(failed.message().find("the kernel that gathers rows: the driver does "
                              "not load it: CUDA_ERROR_222") == 0);
  made->reset();
  CHECK(fake.violations.empty());
}

TEST_CASE("cuda: the kernel that gathers rows is PTX that old drivers read",
          "[cuda]") {
  if (!gatherPtx())
    return;
  std::string ptx = gatherPtx();
  CHECK(ptx.find(".version 8.1\n") != std::string::npos);
  CHECK(ptx.find(".target sm_80\n") != std::string::npos);
  CHECK(ptx.find("ld.v4.u32") != std::string::npos);
  CHECK(ptx.find("st.v4.u32") != std::string::npos);
  CHECK(ptx.find(".local") == std::string::npos);
}
