//===- WarpTest.cpp - shuffles, votes, matches, sums of a warp ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/backends/sim/SimKernel.h"

#include <catch2/catch.hpp>

#include <array>
#include <functional>

using namespace sinter;
using namespace sinter::sim;
using namespace sinter::test;

namespace {

constexpr uint32_t numThreads = 64;

uint32_t input(uint32_t thread) { return thread * 2654435761u >> 24; }

/// y[thread] = `body` of %value = x[thread], %tid and %lane, as %result; the
/// value is the same under every policy.
std::array<uint32_t, numThreads> run(const std::string &body,
                                     const std::string &declaration) {
  std::string text = R"(
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @warp(ptr %x, ptr %y) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %from = getelementptr inbounds i32, ptr %x, i32 %tid
  %value = load i32, ptr %from, align 4
  %to = getelementptr inbounds i32, ptr %y, i32 %tid
)" + body + R"(
  store i32 %result, ptr %to, align 4
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
)" + declaration;
  auto kernel = SimKernel::fromText(text, "warp", {2, true, false, false, ""});
  INFO(kernel->error());
  REQUIRE(kernel->code());
  std::vector<uint32_t> x(numThreads), y;
  for (uint32_t i = 0; i < numThreads; ++i)
    x[i] = input(i);
  for (uint64_t seed = 0; seed < 5; ++seed) {
    std::vector<uint32_t> now(numThreads, 0xdeadbeef);
    EngineOptions options;
    options.seed = seed;
    Engine engine(options);
    rt::Status status = engine.launch(
        kernel->launch({rangeOf(x), rangeOf(now)}, 1, numThreads), nullptr);
    INFO(status.message());
    REQUIRE(status.ok());
    if (seed > 0)
      CHECK(now == y);
    y = now;
  }
  std::array<uint32_t, numThreads> result;
  std::copy(y.begin(), y.end(), result.begin());
  return result;
}

void check(const std::array<uint32_t, numThreads> &found,
           const std::function<uint32_t(uint32_t thread)> &expected) {
  for (uint32_t thread = 0; thread < numThreads; ++thread) {
    INFO("thread " << thread);
    CHECK(found[thread] == expected(thread));
  }
}

} // namespace

TEST_CASE("shuffles keep a lane's own value beyond the clamp") {
  auto shuffle = [](const std::string &mode, int offset, int clamp) {
    std::string name = "@llvm.nvvm.shfl.sync." + mode + ".i32p";
    return run("%pair = call {i32, i1} " + name + "(i32 -1, i32 %value, i32 " +
                   std::to_string(offset) + ", i32 " + std::to_string(clamp) +
                   ")\n"
                   "%v = extractvalue {i32, i1} %pair, 0\n"
                   "%p = extractvalue {i32, i1} %pair, 1\n"
                   "%flag = select i1 %p, i32 1000, i32 0\n"
                   "%result = add i32 %v, %flag\n",
               "declare {i32, i1} " + name + "(i32, i32, i32, i32)");
  };
  auto expect = [](auto sourceOf) {
    return [=](uint32_t thread) {
      int lane = int(thread % 32), source = sourceOf(lane);
      uint32_t first = thread - thread % 32;
      return source >= 0 ? input(first + uint32_t(source)) + 1000
                         : input(thread);
    };
  };
  check(shuffle("up", 3, 0),
        expect([](int lane) { return lane >= 3 ? lane - 3 : -1; }));
  check(shuffle("down", 5, 31),
        expect([](int lane) { return lane + 5 < 32 ? lane + 5 : -1; }));
  check(shuffle("bfly", 9, 31), expect([](int lane) { return lane ^ 9; }));
  check(shuffle("idx", 7, 31), expect([](int) { return 7; }));
  // Segments of 8 lanes: mask 24 in bits 8 to 12.
  check(shuffle("down", 2, 0x1807),
        expect([](int lane) { return lane % 8 + 2 < 8 ? lane + 2 : -1; }));
  check(shuffle("up", 2, 0x1800),
        expect([](int lane) { return lane % 8 >= 2 ? lane - 2 : -1; }));
  check(shuffle("idx", 3, 0x1807),
        expect([](int lane) { return lane / 8 * 8 + 3; }));
  check(shuffle("bfly", 16, 15),
        expect([](int lane) { return lane >= 16 ? lane ^ 16 : -1; }));
}

TEST_CASE("floats go through shuffles unchanged") {
  check(
      run("%f = bitcast i32 %value to float\n"
          "%s = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %f, "
          "i32 1, i32 31)\n"
          "%result = bitcast float %s to i32\n",
          "declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)"),
      [](uint32_t thread) { return input(thread ^ 1); });
}

TEST_CASE("votes") {
  auto vote = [](const std::string &kind, const std::string &type,
                 const std::string &test) {
    std::string name = "@llvm.nvvm.vote." + kind + ".sync";
    return run("%p = icmp " + test + "\n%v = call " + type + " " + name +
                   "(i32 -1, i1 %p)\n%result = " +
                   (type == "i1" ? "zext i1 %v to i32\n" : "add i32 %v, 0\n"),
               "declare " + type + " " + name + "(i32, i1)");
  };
  check(vote("all", "i1", "ult i32 %tid, 32"),
        [](uint32_t thread) { return uint32_t(thread < 32); });
  check(vote("any", "i1", "eq i32 %tid, 40"),
        [](uint32_t thread) { return uint32_t(thread >= 32); });
  check(vote("uni", "i1", "ugt i32 %tid, 31"), [](uint32_t) { return 1u; });
  check(vote("ballot", "i32", "uge i32 %tid, 33"),
        [](uint32_t thread) { return thread < 32 ? 0u : 0xfffffffeu; });
}

TEST_CASE("redux, over whole warps and halves") {
  auto redux = [](const std::string &op, const std::string &mask) {
    std::string name = "@llvm.nvvm.redux.sync." + op;
    return run("%upper = icmp uge i32 %lane, 16\n"
               "%half = select i1 %upper, i32 -65536, i32 65535\n"
               "%signed = sub i32 %value, 128\n"
               "%result = call i32 " +
                   name + "(i32 %signed, i32 " + mask + ")\n",
               "declare i32 " + name + "(i32, i32)");
  };
  auto expect = [](uint32_t width, auto combine) {
    return [=](uint32_t thread) {
      uint32_t first = thread / width * width;
      uint32_t result = input(first) - 128;
      for (uint32_t i = 1; i < width; ++i)
        result = combine(result, input(first + i) - 128);
      return result;
    };
  };
  check(redux("add", "-1"),
        expect(32, [](uint32_t a, uint32_t b) { return a + b; }));
  check(redux("min", "-1"), expect(32, [](uint32_t a, uint32_t b) {
          return int32_t(a) < int32_t(b) ? a : b;
        }));
  check(redux("umax", "%half"),
        expect(16, [](uint32_t a, uint32_t b) { return a > b ? a : b; }));
  check(redux("xor", "%half"),
        expect(16, [](uint32_t a, uint32_t b) { return a ^ b; }));
}

TEST_CASE("match") {
  check(run("%low = and i32 %value, 3\n"
            "%result = call i32 @llvm.nvvm.match.any.sync.i32(i32 -1, i32 "
            "%low)\n",
            "declare i32 @llvm.nvvm.match.any.sync.i32(i32, i32)"),
        [](uint32_t thread) {
          uint32_t equal = 0;
          for (uint32_t lane = 0; lane < 32; ++lane)
            if ((input(thread / 32 * 32 + lane) & 3) == (input(thread) & 3))
              equal |= 1u << lane;
          return equal;
        });
  check(run("%half = lshr i32 %tid, 5\n"
            "%odd = icmp eq i32 %tid, 40\n"
            "%v = select i1 %odd, i32 7, i32 %half\n"
            "%pair = call {i32, i1} @llvm.nvvm.match.all.sync.i32p(i32 -1, i32 "
            "%v)\n"
            "%result = extractvalue {i32, i1} %pair, 0\n",
            "declare {i32, i1} @llvm.nvvm.match.all.sync.i32p(i32, i32)"),
        [](uint32_t thread) { return thread < 32 ? ~0u : 0u; });
}

TEST_CASE("barriers that count") {
  check(run("%isOdd = and i32 %value, 1\n"
            "%result = call i32 @llvm.nvvm.barrier0.popc(i32 %isOdd)\n",
            "declare i32 @llvm.nvvm.barrier0.popc(i32)"),
        [](uint32_t) {
          uint32_t count = 0;
          for (uint32_t i = 0; i < numThreads; ++i)
            count += input(i) & 1;
          return count;
        });
  check(run("%result = call i32 @llvm.nvvm.barrier0.and(i32 %tid)\n",
            "declare i32 @llvm.nvvm.barrier0.and(i32)"),
        [](uint32_t) { return 0u; });
  check(run("%result = call i32 @llvm.nvvm.barrier0.or(i32 %tid)\n",
            "declare i32 @llvm.nvvm.barrier0.or(i32)"),
        [](uint32_t) { return 1u; });
}

TEST_CASE("atomic sums of one address are those of all threads") {
  check(run("%old = atomicrmw add ptr %to, i32 0 seq_cst\n"
            "%one = atomicrmw add ptr %y, i32 1 seq_cst\n"
            "call void @llvm.nvvm.barrier0()\n"
            "%sum = load i32, ptr %y, align 4\n"
            "call void @llvm.nvvm.barrier0()\n"
            "%result = sub i32 %sum, -559038737\n",
            "declare void @llvm.nvvm.barrier0()"),
        [](uint32_t) { return numThreads; });
}
