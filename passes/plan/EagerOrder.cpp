//===- EagerOrder.cpp - last in, first out --------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/EagerOrder.h"

#include <set>

using namespace mlir;

namespace sinter::passes::plan {
namespace {

/// Values this many times smaller than the largest operand are ignored:
/// statistics, keys of random numbers.
constexpr int64_t kSmallPart = 64;

} // namespace

Order eagerAfter(const CommandGraph &graph, const Order &order, unsigned turn) {
  std::vector<unsigned> position(order.size());
  for (auto [at, command] : llvm::enumerate(order))
    position[command] = at;
  // The position at which the newest value from before the turn that the
  // command reads was written; later than all if there is none.
  auto newest = [&](unsigned command) {
    int64_t largest = 0;
    for (unsigned read : graph.commands[command].reads)
      if (graph.buffers[read].isInArena())
        largest = std::max(largest, graph.buffers[read].bytes());
    unsigned result = 0;
    bool waited = false;
    for (unsigned read : graph.commands[command].reads) {
      const Buffer &buffer = graph.buffers[read];
      if (!buffer.isInArena() || buffer.writer == kNoCommand ||
          position[buffer.writer] > turn ||
          buffer.bytes() * kSmallPart < largest)
        continue;
      waited = true;
      result = std::max(result, position[buffer.writer]);
    }
    return waited ? result : ~0u;
  };
  Order result(order.begin(), order.begin() + turn + 1);
  std::vector<unsigned> waiting(order.size());
  std::vector<SmallVector<unsigned, 4>> next(order.size());
  // By the newest value, then by the time at which it became ready.
  std::set<std::tuple<unsigned, unsigned, unsigned>> ready;
  unsigned arrived = 0;
  auto put = [&](unsigned command) {
    ready.insert({~newest(command), arrived++, command});
  };
  for (unsigned command : ArrayRef(order).drop_front(turn + 1)) {
    for (unsigned before : graph.before[command])
      if (position[before] > turn) {
        ++waiting[command];
        next[before].push_back(command);
      }
    if (waiting[command] == 0)
      put(command);
  }
  while (!ready.empty()) {
    unsigned command = std::get<2>(*ready.begin());
    ready.erase(ready.begin());
    result.push_back(command);
    for (unsigned after : next[command])
      if (--waiting[after] == 0)
        put(after);
  }
  return graph.overlapped(result);
}

} // namespace sinter::passes::plan
