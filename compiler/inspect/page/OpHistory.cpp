//===- OpHistory.cpp - an op through the passes ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/page/OpHistory.h"

#include "llvm/Support/xxhash.h"

#include <unordered_map>

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

constexpr unsigned kSelf = ~0u, kNone = ~0u;

// The strictest key has the operands. Uses of itself are not told by its
// number, which a new op does not have yet. The loosest has only the kind:
// "sinter.add" of "sinter.add %, % : ...". Heads of blocks are alike; their op
// tells them apart.
static std::array<uint64_t, 3> keysOf(const TrackedOp &tracked) {
  const OpText &op = tracked.op;
  std::string nodes = "\n";
  if (StringRef(op.text).starts_with("^"))
    nodes += std::to_string(tracked.parent) + "\n";
  for (const std::string &node : op.nodes)
    nodes += node + "\n";
  StringRef kind =
      StringRef(op.text).take_until([](char c) { return c == ' '; });
  const uint64_t ofKind = llvm::xxh3_64bits(kind.str() + nodes);
  std::string all = op.text + nodes;
  const uint64_t ofText = llvm::xxh3_64bits(all);
  for (ValueUse use : op.operands)
    all += (use.op == tracked.id ? "" : std::to_string(use.op)) + "#" +
           std::to_string(use.number) + "\n";
  return {llvm::xxh3_64bits(all), ofText, ofKind};
}

// Whether nothing of the op has changed.
static bool isSame(const TrackedOp &a, const TrackedOp &b) {
  return a.op.depth == b.op.depth && a.op.numResults == b.op.numResults &&
         a.op.text == b.op.text && a.op.nodes == b.op.nodes &&
         a.op.operands == b.op.operands;
}

namespace {

/// The places of ops with equal keys, in order. Each is taken once.
class Places {
public:
  explicit Places(size_t count) : next_(count) {}
  void addFront(uint64_t key, unsigned place) {
    auto [found, isNew] = first_.try_emplace(key, place);
    next_[place] = isNew ? kNone : found->second;
    found->second = place;
  }
  unsigned take(uint64_t key, std::vector<bool> &isTaken) {
    auto found = first_.find(key);
    if (found == first_.end())
      return kNone;
    unsigned place = found->second;
    while (place != kNone && isTaken[place])
      place = next_[place];
    found->second = place == kNone ? kNone : next_[place];
    if (place != kNone)
      isTaken[place] = true;
    return place;
  }

private:
  std::unordered_map<uint64_t, unsigned> first_;
  std::vector<unsigned> next_;
};

} // namespace

const std::vector<TrackedOp> &OpHistory::advance(StringRef text) {
  std::vector<Places> places(3, Places(ops_.size()));
  for (unsigned i = ops_.size(); i-- > 0;)
    for (auto [of, key] : llvm::zip_equal(places, keys_[i]))
      of.addFront(key, i);

  std::vector<bool> isTaken(ops_.size());
  std::vector<TrackedOp> after;
  std::vector<Keys> keysAfter;
  std::vector<unsigned> parents; // by depth
  for (OpText &op : readOps(text)) {
    unsigned self = after.size();
    // Operands come earlier in the list.
    for (ValueUse &use : op.operands)
      use.op = use.op == self ? kSelf : after[use.op].id;
    parents.resize(op.depth);
    TrackedOp tracked{kSelf, parents.empty() ? kNone : parents.back(),
                      std::move(op)};
    const Keys keys = keysOf(tracked);
    // Ops without a node are too alike for the loosest key.
    unsigned levels = tracked.op.nodes.empty() ? 2 : 3, place = kNone;
    for (unsigned level = 0; level < levels && place == kNone; ++level)
      place = places[level].take(keys[level], isTaken);
    tracked.id = place == kNone ? numIds_++ : ops_[place].id;
    for (ValueUse &use : tracked.op.operands)
      if (use.op == kSelf)
        use.op = tracked.id;
    if (place != kNone && isSame(tracked, ops_[place]))
      tracked.placeBefore = place;
    parents.push_back(tracked.id);
    after.push_back(std::move(tracked));
    keysAfter.push_back(keys);
  }
  ops_ = std::move(after);
  keys_ = std::move(keysAfter);
  return ops_;
}
