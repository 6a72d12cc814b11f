//===- GraphMatch.cpp - which node of one graph is which of another -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/GraphMatch.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <map>

using namespace sinter;
using namespace sinter::compiler;

namespace {

// How much of a node its label has.
enum class Level { Exact, WithoutValues, WithoutTypes, OpOnly };
constexpr Level kLevels[] = {Level::Exact, Level::WithoutValues,
                             Level::WithoutTypes, Level::OpOnly};

// Which neighbours a hash covers: all ancestors, all descendants or both.
enum class Reach { Both, Ancestors, Descendants };

using Hashes = std::vector<uint64_t>;

// Ties that are broken one at a time, each followed by refinement. A graph with
// more of them has nodes without neighbours, which are equal in any order.
constexpr unsigned kMostTies = 64;

} // namespace

static uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t pair[] = {a, b};
  return llvm::xxh3_64bits(
      llvm::ArrayRef(reinterpret_cast<const uint8_t *>(pair), sizeof(pair)));
}

static uint64_t labelOf(const MatchNode &node, Level level) {
  uint64_t hash = llvm::xxh3_64bits(node.op);
  if (level <= Level::WithoutTypes)
    hash = mix(hash, llvm::xxh3_64bits(node.attributes));
  if (level <= Level::WithoutValues)
    hash = mix(hash, llvm::xxh3_64bits(node.type));
  if (level == Level::Exact)
    hash = mix(hash, node.value);
  return hash;
}

namespace {

// One of the two graphs.
class Side {
public:
  explicit Side(const MatchGraph &graph)
      : nodes(graph.nodes), partner(nodes.size(), kUnmatched),
        users_(nodes.size()), isConstant_(nodes.size()) {
    for (auto [i, node] : llvm::enumerate(nodes))
      isConstant_[i] =
          !node.isBoundary &&
          llvm::all_of(node.operands, [&](const MatchNode::Use &use) {
            return isConstant_[use.node];
          });
    for (auto [i, node] : llvm::enumerate(nodes))
      for (auto [k, use] : llvm::enumerate(node.operands))
        users_[use.node].push_back(
            {static_cast<unsigned>(i), static_cast<unsigned>(k), use.result});
  }

  struct User {
    unsigned node, operand, result;
  };
  llvm::ArrayRef<User> users(unsigned node) const { return users_[node]; }

  /// Whether nothing but constants comes before the node. Its ancestors then do
  /// not tell where it is: two weights may have been exchanged.
  bool isConstant(unsigned node) const { return isConstant_[node]; }

  void setLevel(Level level) {
    labels_.clear();
    for (const MatchNode &node : nodes)
      labels_.push_back(labelOf(node, level));
  }

  Hashes hashes(Reach reach) const {
    if (reach == Reach::Ancestors)
      return ancestors();
    if (reach == Reach::Descendants)
      return descendants();
    Hashes in = ancestors(), out = descendants();
    for (auto [a, b] : llvm::zip(in, out))
      a = mix(a, b);
    return in;
  }

  // Covers the neighbours up to `hops` edges away, in both directions.
  Hashes around(unsigned hops) const {
    Hashes hashes(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i)
      hashes[i] = partner[i] == kUnmatched ? labels_[i] : mix(partner[i], 3);
    std::vector<uint64_t> readers;
    for (; hops > 0; --hops) {
      Hashes next(nodes.size());
      for (size_t i = 0; i < nodes.size(); ++i) {
        next[i] = hashes[i];
        for (const MatchNode::Use &use : nodes[i].operands)
          next[i] = mix(next[i], mix(hashes[use.node], use.result));
        readers.clear();
        for (const User &user : users_[i])
          readers.push_back(mix(hashes[user.node], user.operand));
        llvm::sort(readers);
        for (uint64_t reader : readers)
          next[i] = mix(next[i], mix(reader, 4));
      }
      hashes = std::move(next);
    }
    return hashes;
  }

  // The unmatched nodes that read others, by their depth: the longest path
  // from an input. Equally deep ones are in an order of their neighbours, not
  // of the file.
  std::vector<unsigned> sequence() const {
    std::vector<unsigned> depth(nodes.size()), order;
    Hashes near = around(2);
    for (size_t i = 0; i < nodes.size(); ++i) {
      for (const MatchNode::Use &use : nodes[i].operands)
        depth[i] = std::max(depth[i], depth[use.node] + 1);
      if (partner[i] == kUnmatched && !nodes[i].operands.empty())
        order.push_back(i);
    }
    llvm::stable_sort(order, [&](unsigned a, unsigned b) {
      return std::pair(depth[a], near[a]) < std::pair(depth[b], near[b]);
    });
    return order;
  }

  const std::vector<MatchNode> &nodes;
  // A number that both nodes of a match have; kUnmatched: none.
  std::vector<unsigned> partner;

private:
  Hashes ancestors() const {
    Hashes hashes(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      hashes[i] = labels_[i];
      for (const MatchNode::Use &use : nodes[i].operands)
        hashes[i] = mix(hashes[i], mix(hashes[use.node], use.result));
      if (partner[i] != kUnmatched)
        hashes[i] = mix(partner[i], 1);
    }
    return hashes;
  }

  Hashes descendants() const {
    Hashes hashes(nodes.size());
    std::vector<uint64_t> own;
    for (size_t i = nodes.size(); i-- > 0;) {
      own.clear();
      for (const User &user : users_[i])
        own.push_back(mix(hashes[user.node], mix(user.operand, user.result)));
      llvm::sort(own);
      hashes[i] = labels_[i];
      for (uint64_t user : own)
        hashes[i] = mix(hashes[i], user);
      if (partner[i] != kUnmatched)
        hashes[i] = mix(partner[i], 2);
    }
    return hashes;
  }

  std::vector<std::vector<User>> users_;
  std::vector<bool> isConstant_;
  Hashes labels_;
};

// The unmatched nodes of both graphs with one hash.
struct Group {
  std::vector<unsigned> a, b;
};

class Matcher {
public:
  Matcher(const MatchGraph &a, const MatchGraph &b) : a_(a), b_(b) {}

  GraphMatch run() {
    matchBoundary();
    for (Level level : kLevels) {
      a_.setLevel(level);
      b_.setLevel(level);
      // A name says more than an op without its attributes.
      if (level == Level::OpOnly)
        matchNamesOfAll();
      refine(/*evenCountsOnly=*/true);
      if (level == Level::WithoutTypes)
        matchParts();
    }
    for (Level level : kLevels) {
      a_.setLevel(level);
      b_.setLevel(level);
      refine(/*evenCountsOnly=*/false);
    }
    while (matchReplaced())
      refine(/*evenCountsOnly=*/false);
    GraphMatch result{{}, std::vector<unsigned>(b_.nodes.size(), kUnmatched)};
    for (unsigned pair : a_.partner)
      result.ofA.push_back(pair == kUnmatched ? kUnmatched : pairs_[pair]);
    for (auto [i, other] : llvm::enumerate(result.ofA))
      if (other != kUnmatched)
        result.ofB[other] = i;
    return result;
  }

private:
  void match(unsigned a, unsigned b) {
    a_.partner[a] = b_.partner[b] = pairs_.size();
    pairs_.push_back(b);
  }

  bool isFreeA(unsigned node) const { return a_.partner[node] == kUnmatched; }
  bool isFreeB(unsigned node) const { return b_.partner[node] == kUnmatched; }

  // Inputs and outputs with the same name.
  void matchBoundary() {
    std::map<std::pair<std::string, std::string>, unsigned> named;
    for (auto [i, node] : llvm::enumerate(b_.nodes))
      if (node.isBoundary && !node.name.empty())
        named.emplace(std::pair(node.op, node.name), i);
    for (auto [i, node] : llvm::enumerate(a_.nodes))
      if (node.isBoundary)
        if (auto found = named.find({node.op, node.name}); found != named.end())
          if (isFreeB(found->second))
            match(i, found->second);
  }

  llvm::MapVector<uint64_t, Group> groups(Reach reach) const {
    return groupsOf(a_.hashes(reach), b_.hashes(reach),
                    reach == Reach::Ancestors);
  }

  // `skipsSources`: nothing comes before a source, and only values before what
  // is computed from constants, so their ancestors say nothing.
  llvm::MapVector<uint64_t, Group> groupsOf(const Hashes &a, const Hashes &b,
                                            bool skipsSources = false) const {
    llvm::MapVector<uint64_t, Group> result;
    auto isTold = [&](const Side &side, size_t node) {
      return !skipsSources ||
             (!side.nodes[node].operands.empty() && !side.isConstant(node));
    };
    for (size_t i = 0; i < a.size(); ++i)
      if (isFreeA(i) && isTold(a_, i))
        result[a[i]].a.push_back(i);
    for (size_t i = 0; i < b.size(); ++i)
      if (isFreeB(i) && isTold(b_, i))
        if (auto found = result.find(b[i]); found != result.end())
          found->second.b.push_back(i);
    return result;
  }

  // The two nodes of a group that have the same name, which no other has.
  void matchNames(const Group &group) {
    std::map<std::string, std::pair<unsigned, unsigned>> counts;
    std::map<std::string, unsigned> ofB;
    for (unsigned i : group.a)
      ++counts[a_.nodes[i].name].first;
    for (unsigned i : group.b) {
      ++counts[b_.nodes[i].name].second;
      ofB[b_.nodes[i].name] = i;
    }
    for (unsigned i : group.a)
      if (const std::string &name = a_.nodes[i].name;
          !name.empty() && counts[name] == std::pair(1u, 1u))
        match(i, ofB[name]);
  }

  // Matches what is alone in its group. Returns whether there was any.
  bool matchUnique(Reach reach) {
    size_t before = pairs_.size();
    for (auto &[hash, group] : groups(reach))
      if (group.a.size() == 1 && group.b.size() == 1)
        match(group.a[0], group.b[0]);
      else if (!group.b.empty())
        matchNames(group);
    return pairs_.size() > before;
  }

  // Of nodes that are equal in all, matches the first ones; in groups of
  // unequal size only if wanted.
  bool breakTie(bool evenCountsOnly) {
    size_t before = pairs_.size();
    for (auto &[hash, group] : groups(Reach::Both)) {
      if (group.b.empty() ||
          (evenCountsOnly && group.a.size() != group.b.size()))
        continue;
      size_t count =
          ++ties_ <= kMostTies ? 1 : std::min(group.a.size(), group.b.size());
      for (size_t i = 0; i < count; ++i)
        match(group.a[i], group.b[i]);
      if (ties_ <= kMostTies)
        break;
    }
    return pairs_.size() > before;
  }

  void refine(bool evenCountsOnly) {
    do {
      while (matchUnique(Reach::Both) || matchUnique(Reach::Ancestors) ||
             matchUnique(Reach::Descendants) || matchNeighbours())
        continue;
    } while (breakTie(evenCountsOnly));
  }

  // What is left with one op and one name, which only one node of each graph
  // has.
  void matchNamesOfAll() {
    std::map<std::string, Group> byOp;
    for (size_t i = 0; i < a_.nodes.size(); ++i)
      if (isFreeA(i))
        byOp[a_.nodes[i].op].a.push_back(i);
    for (size_t i = 0; i < b_.nodes.size(); ++i)
      if (isFreeB(i))
        byOp[b_.nodes[i].op].b.push_back(i);
    for (auto &[op, group] : byOp)
      matchNames(group);
  }

  // What lies between changes: nodes with the same neighbours, as many of them
  // as possible, then those in the same order from the inputs on.
  void matchParts() {
    for (Level level : {Level::WithoutValues, Level::WithoutTypes}) {
      a_.setLevel(level);
      b_.setLevel(level);
      do {
        while (matchAround())
          continue;
        refine(/*evenCountsOnly=*/true);
      } while (matchSequence() || matchReplaced());
    }
  }

  bool matchAround() {
    size_t before = pairs_.size();
    for (unsigned hops : {16, 8, 4, 2, 1}) {
      for (auto &[hash, group] : groupsOf(a_.around(hops), b_.around(hops)))
        if (group.a.size() == 1 && group.b.size() == 1)
          match(group.a[0], group.b[0]);
        else if (!group.b.empty())
          matchNames(group);
      if (pairs_.size() > before)
        return true;
    }
    return false;
  }

  // Matches a longest common subsequence of what is left.
  bool matchSequence() {
    std::vector<unsigned> x = a_.sequence(), y = b_.sequence();
    constexpr size_t kMost = 4000; // the table has the square of it
    x.resize(std::min(x.size(), kMost));
    y.resize(std::min(y.size(), kMost));
    Hashes ofA = a_.around(0), ofB = b_.around(0);
    std::vector<std::vector<uint16_t>> length(
        x.size() + 1, std::vector<uint16_t>(y.size() + 1));
    for (size_t i = x.size(); i-- > 0;)
      for (size_t j = y.size(); j-- > 0;)
        length[i][j] = ofA[x[i]] == ofB[y[j]]
                           ? length[i + 1][j + 1] + 1
                           : std::max(length[i + 1][j], length[i][j + 1]);
    size_t before = pairs_.size();
    for (size_t i = 0, j = 0; i < x.size() && j < y.size();)
      if (ofA[x[i]] == ofB[y[j]])
        match(x[i++], y[j++]);
      else if (length[i + 1][j] >= length[i][j + 1])
        ++i;
      else
        ++j;
    return pairs_.size() > before;
  }

  // Operands of matched nodes, in the same position.
  bool matchNeighbours() {
    size_t before = pairs_.size();
    for (size_t i = 0; i < a_.nodes.size(); ++i) {
      if (isFreeA(i))
        continue;
      const MatchNode &own = a_.nodes[i];
      const MatchNode &other = b_.nodes[pairs_[a_.partner[i]]];
      if (own.operands.size() != other.operands.size())
        continue;
      for (auto [x, y] : llvm::zip(own.operands, other.operands))
        if (x.result == y.result && isFreeA(x.node) && isFreeB(y.node) &&
            isOwned(x.node, y.node))
          match(x.node, y.node);
    }
    return pairs_.size() > before;
  }

  // True if sources `a` and `b` have no other readers. They then belong to the
  // node that reads them: a weight whose shape changed.
  bool isOwned(unsigned a, unsigned b) const {
    return a_.nodes[a].operands.empty() && b_.nodes[b].operands.empty() &&
           a_.nodes[a].op == b_.nodes[b].op && a_.users(a).size() == 1 &&
           b_.users(b).size() == 1;
  }

  bool areMatched(unsigned a, unsigned b) const {
    return !isFreeA(a) && a_.partner[a] == b_.partner[b];
  }

  // Whether `b` stands where `a` stood: it reads the same, and a node that
  // reads `a` in one position reads `b` there.
  bool isInPlaceOf(unsigned a, unsigned b) const {
    const auto &x = a_.nodes[a].operands, &y = b_.nodes[b].operands;
    if (x.size() != y.size() || x.empty())
      return false;
    for (auto [own, other] : llvm::zip(x, y))
      if (!areMatched(own.node, other.node) || own.result != other.result)
        return false;
    return llvm::any_of(a_.users(a), [&](const Side::User &own) {
      return llvm::any_of(b_.users(b), [&](const Side::User &other) {
        return own.operand == other.operand && areMatched(own.node, other.node);
      });
    });
  }

  bool matchReplaced() {
    size_t before = pairs_.size();
    for (size_t a = 0; a < a_.nodes.size(); ++a) {
      if (!isFreeA(a) || a_.nodes[a].operands.empty())
        continue;
      unsigned first = a_.nodes[a].operands[0].node;
      if (isFreeA(first))
        continue;
      for (const Side::User &user : b_.users(pairs_[a_.partner[first]]))
        if (isFreeB(user.node) && isInPlaceOf(a, user.node)) {
          match(a, user.node);
          break;
        }
    }
    return pairs_.size() > before;
  }

  Side a_, b_;
  std::vector<unsigned> pairs_; // the node of b of each match
  unsigned ties_ = 0;
};

} // namespace

GraphMatch compiler::matchGraphs(const MatchGraph &a, const MatchGraph &b) {
  GraphMatch match = Matcher(a, b).run();
  straighten(a, b, match);
  return match;
}
