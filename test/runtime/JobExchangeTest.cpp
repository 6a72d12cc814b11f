//===- JobExchangeTest.cpp - collectives over processes -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/library/JobExchange.h"
#include "runtime/device/Stream.h"
#include "test/runtime/CollectiveArrays.h"
#include "test/runtime/GroupOfThreads.h"

#include <chrono>
#include <iterator>
#include <random>

using namespace sinter;
using namespace sinter::rt;
using test::CollectiveArrays, test::Layout;

namespace {

/// Which processes share memory; the others are reached by Gloo.
enum class Sharing { None, All, AllButLast };

struct Case {
  Sharing sharing;
  Layout layout;
};

Status onProcesses(const Case &each, const test::Body &body) {
  return test::onProcesses(
      each.layout, [](uint32_t) { return cpu::makeJobExchange; }, body,
      [&](uint32_t process) {
        Meeting::Options options;
        options.sharesMemory = each.sharing == Sharing::All ||
                               (each.sharing == Sharing::AllButLast &&
                                process + 1 < each.layout.processes);
        return options;
      });
}

const Case cases[] = {
    {Sharing::None, {2, 1}},       {Sharing::None, {2, 2}},
    {Sharing::None, {3, 1}},       {Sharing::All, {2, 1}},
    {Sharing::All, {2, 2}},        {Sharing::All, {3, 1}},
    {Sharing::AllButLast, {3, 1}}, {Sharing::AllButLast, {4, 2}}};

} // namespace

TEST_CASE("job: sums over processes", "[gloo]") {
  Stream stream;
  for (const Case &each : cases) {
    CAPTURE(each.sharing, each.layout.processes, each.layout.count);
    CollectiveArrays arrays(SINTER_ALL_REDUCE, SINTER_F32,
                            each.layout.replicas(), {5, 70000});
    const Status status = onProcesses(each, [&](Communicator &group) {
      return group.run(stream, arrays.what(), arrays.buffers(group.rank()));
    });
    INFO(status.message());
    CHECK(status.ok());
    CHECK(arrays.areDone());
  }
}

TEST_CASE("job: an abort at any time ends all", "[gloo]") {
  using Clock = std::chrono::steady_clock;
  constexpr int rounds = 48, mostMessages = 100000;
  std::mt19937 random(7);
  Stream stream;
  for (int round = 0; round < rounds; ++round) {
    const Case &each = cases[static_cast<size_t>(round) % std::size(cases)];
    const Layout layout = each.layout;
    const auto aborted = static_cast<uint32_t>(random() % layout.replicas());
    const std::chrono::microseconds delay(random() % 20000);
    CAPTURE(round, each.sharing, aborted, delay.count());
    CollectiveArrays arrays(SINTER_ALL_REDUCE, SINTER_F32, layout.replicas(),
                            {3000});
    const Clock::time_point begin = Clock::now();
    const Status status = onProcesses(each, [&](Communicator &group) {
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
