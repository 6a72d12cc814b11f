//===- GlooGroupTest.cpp - collectives over processes, by Gloo ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/library/GlooExchange.h"
#include "runtime/device/Stream.h"
#include "test/runtime/CollectiveArrays.h"
#include "test/runtime/GroupOfThreads.h"

#include <chrono>
#include <random>

using namespace sinter;
using namespace sinter::rt;
using test::CollectiveArrays, test::Layout;

namespace {

Status onProcesses(Layout layout, const test::Body &body) {
  return test::onProcesses(
      layout, [](uint32_t) { return cpu::makeGlooExchange; }, body);
}

} // namespace

TEST_CASE("gloo: sums over processes", "[gloo]") {
  Stream stream;
  for (Layout layout : {Layout{2, 1}, {2, 2}, {3, 1}}) {
    CAPTURE(layout.processes, layout.count);
    CollectiveArrays arrays(SINTER_ALL_REDUCE, SINTER_F32, layout.replicas(),
                            {5, 70000});
    const Status status = onProcesses(layout, [&](Communicator &group) {
      return group.run(stream, arrays.what(), arrays.buffers(group.rank()));
    });
    INFO(status.message());
    CHECK(status.ok());
    CHECK(arrays.areDone());
  }
}

TEST_CASE("gloo: an abort at any time ends all", "[gloo]") {
  using Clock = std::chrono::steady_clock;
  constexpr int rounds = 24, mostMessages = 100000;
  std::mt19937 random(7);
  Stream stream;
  for (int round = 0; round < rounds; ++round) {
    const Layout layout = round % 2 ? Layout{3, 1} : Layout{2, 2};
    const auto aborted = static_cast<uint32_t>(random() % layout.replicas());
    const std::chrono::microseconds delay(random() % 20000);
    CAPTURE(round, aborted, delay.count());
    CollectiveArrays arrays(SINTER_ALL_REDUCE, SINTER_F32, layout.replicas(),
                            {3000});
    const Clock::time_point begin = Clock::now();
    const Status status = onProcesses(layout, [&](Communicator &group) {
      std::thread aborts;
      if (group.rank() == aborted)
        aborts = std::thread([&] {
          std::this_thread::sleep_for(delay);
          group.abort();
        });
      Status last;
      for (int i = 0; i < mostMessages && last.ok(); ++i) {
        last = group.run(stream, arrays.what(), arrays.buffers(group.rank()));
        if (last.ok())
          last = group.await(group.numBegun());
      }
      if (aborts.joinable())
        aborts.join();
      return last;
    });
    INFO(status.message());
    CHECK(!status.ok());
    CHECK(Clock::now() - begin < std::chrono::seconds(10));
  }
}
