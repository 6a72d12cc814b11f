//===- FaultTest.cpp - wrong kernels are found, in one line ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/backends/sim/SimKernel.h"

#include <catch2/catch.hpp>

using namespace sinter;
using namespace sinter::sim;
using namespace sinter::test;

namespace {

const SimOptions plain = {2, false, false, false, ""};
const SimOptions checked = {2, true, false, false, ""};

/// The error of a launch of `name` on x and y of 64 ints; "" if it succeeds.
struct Attempt {
  std::vector<int32_t> x, y;
  std::string error;
  LaunchReport report;

  Attempt(const std::string &name, const SimOptions &build, uint64_t seed = 0,
          uint32_t grid = 1, uint32_t block = 64, bool failsOnRaces = true)
      : x(68), y(68) {
    for (int i = 0; i < 68; ++i)
      x[size_t(i)] = 100 + i;
    SimKernel kernel("faulty.ll", name, build);
    INFO(kernel.error());
    REQUIRE(kernel.code());
    EngineOptions options;
    options.seed = seed;
    options.failsOnRaces = failsOnRaces;
    Engine engine(options);
    // No slice contains the last four elements.
    MemoryRange ofX{x.data(), 64 * 4, true}, ofY{y.data(), 64 * 4, true};
    error = engine.launch(kernel.launch({ofX, ofY}, grid, block), &report)
                .message();
    CHECK(error.find('\n') == std::string::npos);
  }
};

/// The error of a launch that may begin before the launches before it have
/// ended. `isDropped`: its first wait is left out.
std::string earlyError(const std::string &name, const SimOptions &build,
                       bool isDropped = false) {
  std::vector<int32_t> x(64, 1), y(64);
  SimKernel kernel("faulty.ll", name, build);
  INFO(kernel.error());
  REQUIRE(kernel.code());
  EngineOptions options;
  if (isDropped)
    options.drop = {Drop::Barrier, "", 0};
  Engine engine(options);
  Launch launch = kernel.launch({rangeOf(x), rangeOf(y)}, 1, 64);
  launch.isEarly = true;
  std::string error = engine.launch(launch, nullptr).message();
  CHECK((!error.empty() || x == y));
  return error;
}

std::string whyNotCompiled(const std::string &name) {
  return SimKernel("faulty.ll", name).error();
}

} // namespace

TEST_CASE("a missing barrier gives poison under every schedule") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Attempt attempt("missing_barrier", plain, seed);
    CHECK(attempt.error == "");
    bool isRight = true;
    for (size_t i = 0; i < 64; ++i)
      isRight = isRight && attempt.y[i] == attempt.x[63 - i];
    CHECK(!isRight);
  }
}

TEST_CASE("a missing barrier is a race") {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    Attempt attempt("missing_barrier", checked, seed);
    INFO(attempt.error);
    CHECK(attempt.error.find("race: ") != std::string::npos);
    CHECK(attempt.error.find("of shared memory at ") != std::string::npos);
  }
  Attempt counted("missing_barrier", checked, 0, 1, 64,
                  /*failsOnRaces=*/false);
  CHECK(counted.error == "");
  CHECK(counted.report.races == 64);
}

TEST_CASE("a launch that begins early waits before it uses memory") {
  for (const char *kernel : {"waits", "waits_and_meets"}) {
    const std::string place =
        "kernel " + std::string(kernel) + ", block (0,0,0), thread (0,0,0): ";
    for (const SimOptions &build : {plain, checked})
      CHECK(earlyError(kernel, build) == "");
    // Checked kernels name the access; others are found out at the end.
    CHECK(earlyError(kernel, checked, /*isDropped=*/true)
              .find(place + "reads 4 bytes of global memory before it waits "
                            "for the launches before it, at '%value = load") ==
          0);
    CHECK(earlyError(kernel, plain, /*isDropped=*/true)
              .find(": ended without a wait for the launches before it") !=
          std::string::npos);
  }
  CHECK(earlyError("waits_late", checked)
            .find("writes 4 bytes of global memory before it waits") !=
        std::string::npos);
  CHECK(earlyError("waits_once", checked) ==
        "kernel waits_once, block (0,0,0), thread (1,0,0): ended without a "
        "wait for the launches before it");
  // A launch that begins after the others needs no wait.
  CHECK(Attempt("waits_once", checked).error == "");
}

TEST_CASE("a barrier that not all threads reach") {
  CHECK(Attempt("divergent_exit", plain).error ==
        "kernel divergent_exit, block (0,0,0), thread (32,0,0): ended while "
        "thread (0,0,0) waits for the whole block, at 'call void "
        "@llvm.nvvm.barrier0()'");
  CHECK(Attempt("divergent_exit", plain, 1).error ==
        "kernel divergent_exit, block (0,0,0), thread (31,0,0): waits for the "
        "whole block, of which 32 threads have ended, at 'call void "
        "@llvm.nvvm.barrier0()'");
  CHECK(Attempt("divergent_sites", plain).error ==
        "kernel divergent_sites, block (0,0,0), thread (32,0,0): meets barrier "
        "0 while thread (0,0,0) waits at 'call void @llvm.nvvm.barrier0()', at "
        "'call void @llvm.nvvm.barrier0()'");
  CHECK(Attempt("deadlock", plain).error ==
        "kernel deadlock, block (0,0,0): no thread can continue: 0 of 64 have "
        "ended, 32 from thread (0,0,0) on wait at 'call void "
        "@llvm.nvvm.barrier(i32 1, i32 64)'; 32 from thread (32,0,0) on wait "
        "at 'call void @llvm.nvvm.barrier(i32 2, i32 64)'");
}

TEST_CASE("accesses outside the buffers") {
  CHECK(Attempt("out_of_bounds", checked).error ==
        "kernel out_of_bounds, block (0,0,0), thread (63,0,0): writes 4 bytes "
        "0 bytes after a buffer of 256 bytes, at 'store i32 %tid, ptr %to, "
        "align 4'");
  CHECK(Attempt("misaligned", checked, 0, 1, 1).error ==
        "kernel misaligned, block (0,0,0), thread (0,0,0): reads 16 bytes at "
        "an address that is not a multiple of 16, at '%value = load <4 x i32>, "
        "ptr %from, align 16'");
  CHECK(Attempt("misaligned", plain, 0, 1, 1).error ==
        "kernel misaligned, block (0,0,0), thread (0,0,0): accesses memory at "
        "an address that is not aligned, at '%value = load <4 x i32>, ptr "
        "%from, align 16'");
}

TEST_CASE("accesses to another buffer than the address is for") {
  SimKernel kernel("faulty.ll", "into_neighbour", checked);
  REQUIRE(kernel.code());
  std::vector<int32_t> both(128);
  Engine engine({});
  auto messageOf = [&](size_t numOfX) {
    MemoryRange x{both.data(), numOfX * 4, true},
        y{both.data() + 64, 64 * 4, true};
    return engine.launch(kernel.launch({x, y}, 1, 32), nullptr).message();
  };
  CHECK(messageOf(33) == "");
  both.assign(128, 0);
  MemoryRange x{both.data() + 32, 32 * 4, true},
      y{both.data() + 64, 32 * 4, true};
  CHECK(engine.launch(kernel.launch({x, y}, 1, 32), nullptr).message() ==
        "kernel into_neighbour, block (0,0,0), thread (31,0,0): reads 4 bytes "
        "0 bytes after the buffer of 128 bytes that it computes addresses "
        "from, at '%value = load i32, ptr %from, align 4'");
}

TEST_CASE("accesses behind shared memory") {
  std::vector<int32_t> x(1), y(1);
  for (bool isChecked : {false, true}) {
    SimKernel kernel("faulty.ll", "shared_overrun",
                     {2, isChecked, false, false, ""});
    INFO(kernel.error());
    REQUIRE(kernel.code());
    Engine engine({});
    auto run = [&](uint32_t sharedBytes) {
      return engine
          .launch(kernel.launch({rangeOf(x), rangeOf(y)}, 1, 64, sharedBytes),
                  nullptr)
          .message();
    };
    CHECK(run(260) == "");
    CHECK(run(256) == (isChecked ? "kernel shared_overrun, block (0,0,0), "
                                   "thread (63,0,0): writes 4 bytes at 256 of "
                                   "256 bytes of shared memory, at 'store i32 "
                                   "%tid, ptr addrspace(3) %to, align 4'"
                                 : "kernel shared_overrun, block (0,0,0): "
                                   "wrote past its 256 bytes of shared "
                                   "memory"));
  }
}

TEST_CASE("races in global memory") {
  CHECK(Attempt("global_race", checked, 0, 2).error ==
        "kernel global_race, block (1,0,0), thread (0,0,0): race: writes 4 "
        "bytes of global memory that thread (0,0,0) of block (0,0,0) wrote "
        "with nothing that orders the two, at 'store i32 %tid, ptr %to, align "
        "4'");
  CHECK(Attempt("global_race", checked, 0, 1).error == "");
  Attempt atomic("global_atomic", checked, 3, 2);
  CHECK(atomic.error == "");
  CHECK(atomic.y[63] == 126);
  CHECK(Attempt("constant_written", checked).error ==
        "kernel constant_written, block (0,0,0), thread (0,0,0): race: writes "
        "4 bytes of global memory that thread (0,0,0) of block (0,0,0) read as "
        "constant data in this launch, at 'store i32 %more, ptr %from, align "
        "4'");
}

TEST_CASE("addresses of buffers that a kernel does not have") {
  CHECK(Attempt("past_parameters", checked, 0, 1, 1).error == "");
  CHECK(Attempt("past_parameters", checked, 0, 1, 2)
            .error.find("kernel past_parameters, block (0,0,0), thread "
                        "(1,0,0): reads parameter number 2, counted from 0, "
                        "of 2, at '%to = load ptr") == 0);
}

TEST_CASE("what several blocks read is written by the last of them") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    CHECK(Attempt("last_block_writes", checked, seed, 4, 1).error == "");
    for (const char *kernel : {"reads_after_ticket", "no_fence_before_ticket",
                               "no_fence_after_ticket"})
      CHECK(Attempt(kernel, checked, seed, 4, 1)
                .error.find("with nothing that orders the two") !=
            std::string::npos);
  }
}

TEST_CASE("shuffles of lanes that are elsewhere") {
  CHECK(Attempt("divergent_shuffle", plain, 0, 1, 32).error ==
        "kernel divergent_shuffle, block (0,0,0), thread (16,0,0): lanes 0-15 "
        "of its warp wait at '%a = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 "
        "-1, i32 %tid, i32 0, i32 31)', at '%b = call i32 "
        "@llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %tid, i32 1, i32 31)'");
  CHECK(Attempt("shuffle_outside_mask", plain, 0, 1, 32).error ==
        "kernel shuffle_outside_mask, block (0,0,0), thread (15,0,0): lane 0 "
        "reads from a lane outside the mask, at '%a = call i32 "
        "@llvm.nvvm.shfl.sync.idx.i32(i32 65535, i32 %tid, i32 20, i32 31)'");
  // Half a warp does not fill the mask.
  CHECK(Attempt("divergent_shuffle", plain, 0, 1, 16).error ==
        "kernel divergent_shuffle, block (0,0,0), thread (0,0,0): the mask "
        "names lanes 16-31, which have ended or do not exist, at '%a = call "
        "i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %tid, i32 0, i32 31)'");
}

TEST_CASE("traps, divisions, endless waiting") {
  CHECK(Attempt("traps", plain).error ==
        "kernel traps, block (0,0,0), thread (3,0,0): traps, at 'call void "
        "@llvm.trap()'");
  CHECK(Attempt("divides", plain).error ==
        "kernel divides, block (0,0,0), thread (5,0,0): divides by zero, or "
        "overflows in a division, at '%ratio = udiv i32 100, %less'");
  SimKernel kernel("faulty.ll", "spins");
  REQUIRE(kernel.code());
  std::vector<int32_t> x(1), y(1);
  Engine engine({});
  CHECK(engine.launch(kernel.launch({rangeOf(x), rangeOf(y)}, 1, 2), nullptr)
            .message() == "kernel spins, block (0,0,0), thread (0,0,0): waits "
                          "for memory that no other thread of its block "
                          "writes");
}

TEST_CASE("what the simulated device lacks is named") {
  CHECK(whyNotCompiled("unknown_intrinsic") ==
        "kernel unknown_intrinsic: the simulated device does not have "
        "llvm.nvvm.setmaxnreg.inc.sync.aligned.u32");
  CHECK(whyNotCompiled("unknown_ptx") ==
        "kernel unknown_ptx: inline PTX that the simulated device does not "
        "know: wgmma.fence.sync.aligned;");
}
