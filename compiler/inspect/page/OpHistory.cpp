//===- OpHistory.cpp - an op through the passes ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/page/OpHistory.h"

#include "llvm/ADT/StringMap.h"

#include <array>
#include <deque>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

// "sinter.add" of "sinter.add %, % : ...".
static StringRef kindOf(const OpText &op) {
  return StringRef(op.text).take_until([](char c) { return c == ' '; });
}

constexpr unsigned kSelf = ~0u, kNone = ~0u;

// What two ops must share to be one, from the strictest to the loosest. The
// first has a line for each operand. Uses of itself are not told by its number,
// which a new op does not have yet. Heads of blocks are alike; their op tells
// them apart.
static std::array<std::string, 3> keysOf(const TrackedOp &tracked) {
  const OpText &op = tracked.op;
  std::string nodes = "\n";
  if (StringRef(op.text).starts_with("^"))
    nodes = "\n" + std::to_string(tracked.parent) + "\n";
  for (const std::string &node : op.nodes)
    nodes += node + "\n";
  std::string text = op.text + nodes, all = text;
  for (ValueUse use : op.operands)
    all += (use.op == tracked.id ? "" : std::to_string(use.op)) + "#" +
           std::to_string(use.number) + "\n";
  return {std::move(all), std::move(text), kindOf(op).str() + nodes};
}

const std::vector<TrackedOp> &OpHistory::advance(StringRef text) {
  std::array<llvm::StringMap<std::deque<unsigned>>, 3> places; // in ops_
  for (unsigned i = 0; i < ops_.size(); ++i)
    for (auto [map, key] : llvm::zip(places, keysOf(ops_[i])))
      map[key].push_back(i);

  std::vector<bool> isTaken(ops_.size());
  std::vector<TrackedOp> after;
  auto take = [&](unsigned level, const std::string &key) {
    auto found = places[level].find(key);
    if (found == places[level].end())
      return kNone;
    for (std::deque<unsigned> &queue = found->second; !queue.empty();) {
      unsigned place = queue.front();
      queue.pop_front();
      if (!isTaken[place]) {
        isTaken[place] = true;
        return ops_[place].id;
      }
    }
    return kNone;
  };
  std::vector<unsigned> parents; // by depth
  for (OpText &op : readOps(text)) {
    unsigned self = after.size();
    // Operands come earlier in the list.
    for (ValueUse &use : op.operands)
      use.op = use.op == self ? kSelf : after[use.op].id;
    parents.resize(op.depth);
    TrackedOp tracked{kSelf, parents.empty() ? kNone : parents.back(),
                      std::move(op)};
    std::array<std::string, 3> keys = keysOf(tracked);
    // Ops without a node are too alike for the loosest key.
    unsigned levels = tracked.op.nodes.empty() ? 2 : 3;
    for (unsigned level = 0; level < levels && tracked.id == kNone; ++level)
      tracked.id = take(level, keys[level]);
    if (tracked.id == kNone)
      tracked.id = numIds_++;
    for (ValueUse &use : tracked.op.operands)
      if (use.op == kSelf)
        use.op = tracked.id;
    parents.push_back(tracked.id);
    after.push_back(std::move(tracked));
  }
  ops_ = std::move(after);
  return ops_;
}
