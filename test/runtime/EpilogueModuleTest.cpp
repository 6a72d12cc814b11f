//===- EpilogueModuleTest.cpp - launching the kernels for epilogues -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/device/EpilogueModule.h"
#include "backends/cuda/device/CudaContext.h"
#include "backends/cuda/device/EpilogueKernel.h"
#include "test/runtime/FakeDriver.h"

#include <catch2/catch.hpp>

#include <string>

using namespace sinter;
using namespace sinter::cuda;
using sinter::test::FakeDriver;

namespace {

/// A context and a stream on the checking driver.
struct Gpu {
  FakeDriver fake;
  std::unique_ptr<CudaContext> context =
      std::move(*CudaContext::create(fake.table(), 0));
  CurrentContext current{fake.table(), context->handle()};
  StreamHandle stream = nullptr;

  Gpu() { fake.table().streamCreate(&stream, streamNonBlocking); }
  ~Gpu() { fake.table().streamDestroy(stream); }
  void wait() { fake.table().streamSynchronize(stream); }
};

} // namespace

TEST_CASE("cuda: kernels for epilogues get their arguments", "[cuda]") {
  if (!epiloguePtx())
    return; // built without clang
  Gpu gpu;
  LtEpilogueArgs seen{};
  LtSumArgs summed{};
  gpu.fake.kernels[epilogueKernelName] = [&](void **parameters) {
    seen = *static_cast<LtEpilogueArgs *>(parameters[0]);
  };
  gpu.fake.kernels[sumKernelName] = [&](void **parameters) {
    summed = *static_cast<LtSumArgs *>(parameters[0]);
  };
  auto kernels = loadEpilogueKernels(gpu.fake.table());
  INFO(kernels.status().message());
  REQUIRE(kernels.ok());

  LtEpilogueArgs args{};
  args.m = 70;
  args.n = 130;
  args.batch = 5;
  args.beta = 0.5f;
  args.keepsResults = 1; // the last field
  REQUIRE((*kernels)->apply(args, gpu.stream).ok());
  LtSumArgs sum{};
  sum.lines = 70;
  sum.isFirst = 1;
  REQUIRE((*kernels)->sum(sum, gpu.stream).ok());
  args = {}; // the driver has copied it
  gpu.wait();
  CHECK(seen.m == 70);
  CHECK(seen.beta == 0.5f);
  CHECK(seen.keepsResults == 1);
  CHECK(summed.lines == 70);
  CHECK(summed.isFirst == 1);
  REQUIRE(gpu.fake.launches.size() == 2);
  // 3 x 3 tiles for each product, blocks of whole warps.
  CHECK(gpu.fake.launches[0].grid[0] == 45);
  CHECK(gpu.fake.launches[0].block[0] == 32);
  CHECK(gpu.fake.launches[0].block[1] == epilogueBlockRows);
  CHECK(gpu.fake.launches[1].grid[0] == 3);
  CHECK(gpu.fake.launches[1].block[0] == 512);

  // More tiles than a grid has blocks.
  args.m = args.n = int64_t(1) << 31;
  args.batch = 4;
  REQUIRE((*kernels)->apply(args, gpu.stream).ok());
  gpu.wait();
  CHECK(gpu.fake.launches[2].grid[0] == 2147483647u);
  kernels->reset();
  CHECK(gpu.fake.violations.empty());
}

TEST_CASE("cuda: kernels for epilogues that do not load say why", "[cuda]") {
  Gpu gpu;
  if (!epiloguePtx()) {
    CHECK(loadEpilogueKernels(gpu.fake.table()).status().code() ==
          SINTER_UNSUPPORTED);
    return;
  }
  gpu.fake.failCall("moduleLoadDataEx", 1, result::unsupportedPtxVersion);
  auto kernels = loadEpilogueKernels(gpu.fake.table());
  REQUIRE(!kernels.ok());
  CHECK(kernels.status().code() == SINTER_DEVICE_FAILED);
  CHECK(kernels.status().message().find(
            "kernels for epilogues: the driver does not load them: "
            "CUDA_ERROR_222") == 0);
  gpu.fake.failCall("launchKernel", 1, result::launchFailed);
  auto loaded = loadEpilogueKernels(gpu.fake.table());
  REQUIRE(loaded.ok());
  LtSumArgs sum{};
  sum.lines = 1;
  CHECK((*loaded)->sum(sum, gpu.stream).message().find("a launch") !=
        std::string::npos);
  loaded->reset();
  CHECK(gpu.fake.violations.empty());
}

TEST_CASE("cuda: kernels for epilogues are PTX that old drivers read",
          "[cuda]") {
  if (!epiloguePtx())
    return;
  std::string ptx = epiloguePtx();
  CHECK(ptx.find(".version 8.1\n") != std::string::npos);
  CHECK(ptx.find(".target sm_80\n") != std::string::npos);
  CHECK(ptx.find("fma.") == std::string::npos);
  CHECK(ptx.find("tanh.approx") == std::string::npos);
}
