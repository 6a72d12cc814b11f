//===- Neighbours.cpp - moving nodes to save copies -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/place/Placement.h"

#include "ir/exec/Exec.h"

using namespace mlir;

namespace sinter::passes::place {

/// Rough times in microseconds; only comparisons of them matter. A copy has a
/// latency; everything else is proportional to the bytes.
static double transferUs(int64_t bytes) { return 10 + bytes / 25e3; }
static double computeUs(int64_t bytes, bool onCpu) {
  return bytes / (onCpu ? 20e3 : 1000e3);
}

/// The cost of the units in `moved`: computing them, and copying the values
/// that cross to or from them.
double Placement::cost(ArrayRef<unsigned> moved) const {
  double total = 0;
  llvm::SmallSetVector<unsigned, 16> touched;
  for (unsigned number : moved) {
    int64_t bytes = 0;
    for (Operation *op : all[number].ops)
      for (Value result : op->getResults())
        bytes += exec::sizeBytes(result.getType());
    total += computeUs(bytes, isCpu(all[number].device));
    touched.insert(edgesOf[number].begin(), edgesOf[number].end());
  }
  for (unsigned number : touched) {
    const Edge &edge = edges[number];
    llvm::SmallSetVector<unsigned, 4> others;
    for (unsigned to : edge.to)
      if (all[to].device != all[edge.from].device)
        others.insert(all[to].device);
    total += others.size() * transferUs(edge.bytes);
  }
  return total;
}

bool Placement::moveIfBetter(ArrayRef<unsigned> component) {
  unsigned before = all[component.front()].device;
  llvm::SmallSetVector<unsigned, 4> candidates;
  for (unsigned number : component)
    for (unsigned neighbour : all[number].neighbours)
      if (all[neighbour].device != before &&
          (!isCpu(all[neighbour].device) || isCpu(0)))
        candidates.insert(all[neighbour].device);
  auto put = [&](unsigned device) {
    for (unsigned number : component)
      all[number].device = device;
  };
  double best = cost(component);
  unsigned chosen = before;
  for (unsigned device : candidates) {
    put(device);
    double now = cost(component);
    if (now < best &&
        llvm::all_of(
            component,
            [&](unsigned number) {
              return whyUnsupported(all[number], *known[device].target).empty();
            })) {
      best = now;
      chosen = device;
    }
  }
  put(chosen);
  if (chosen == before)
    return false;
  for (unsigned number : component) {
    all[number].reason = chosen == 0 ? Reason::Default : Reason::Neighbours;
    all[number].why = "";
  }
  return true;
}

/// Moves nodes that compute little to the device of their neighbours if fewer
/// bytes are then copied: connected nodes together, then one by one.
void Placement::improve() {
  auto isMovable = [&](const Unit &unit) {
    return !unit.isHeavy && unit.states.empty() &&
           (options.memoryLimit <= 0 || unit.weightBytes == 0) &&
           (unit.reason == Reason::Default ||
            unit.reason == Reason::Neighbours);
  };
  constexpr int kMaxRounds = 4;
  for (int round = 0; round < kMaxRounds; ++round) {
    bool isChanged = false;
    std::vector<bool> visited(all.size(), false);
    for (unsigned first = 0; first < all.size(); ++first) {
      if (visited[first] || !isMovable(all[first]))
        continue;
      SmallVector<unsigned> component{first};
      visited[first] = true;
      for (size_t i = 0; i < component.size(); ++i)
        for (unsigned next : all[component[i]].neighbours)
          if (!visited[next] && isMovable(all[next]) &&
              all[next].device == all[first].device) {
            visited[next] = true;
            component.push_back(next);
          }
      isChanged |= moveIfBetter(component);
    }
    for (unsigned number = 0; number < all.size(); ++number)
      if (isMovable(all[number]))
        isChanged |= moveIfBetter(number);
    if (!isChanged)
      break;
  }
}

} // namespace sinter::passes::place
