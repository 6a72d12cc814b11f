//===- GraphNames.cpp - matches that exchange names -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Two branches that read each other's operands look like branches of exchanged
// names that are read crosswise. Which of the two happened, the names tell.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/GraphMatch.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace sinter;
using namespace sinter::compiler;

namespace {

/// The node of each op and name that only one node has.
std::map<std::pair<std::string, std::string>, unsigned>
uniqueNames(const MatchGraph &graph) {
  std::map<std::pair<std::string, std::string>, unsigned> nodes;
  for (auto [i, node] : llvm::enumerate(graph.nodes))
    if (!node.name.empty()) {
      auto [found, isNew] = nodes.try_emplace({node.op, node.name}, i);
      if (!isNew)
        found->second = kUnmatched;
    }
  return nodes;
}

class Straightener {
public:
  Straightener(const MatchGraph &a, const MatchGraph &b, GraphMatch &match)
      : a_(a), b_(b), match_(match), namedB_(uniqueNames(b)) {
    namedA_ = uniqueNames(a);
    users_.resize(a.nodes.size());
    for (auto [i, node] : llvm::enumerate(a.nodes))
      for (const MatchNode::Use &use : node.operands)
        users_[use.node].push_back(i);
  }

  void run() {
    findCycles();
    llvm::MapVector<unsigned, std::vector<unsigned>> components;
    for (auto &[node, other] : straight_)
      components[classes_.getLeaderValue(node)].push_back(node);
    for (auto &[leader, nodes] : components)
      settle(nodes);
  }

private:
  // The node of b that has the name of `node`, does the same, and may stand for
  // it; kUnmatched if there is none.
  unsigned namesake(unsigned node) const {
    const MatchNode &own = a_.nodes[node];
    auto isUnique = namedA_.find({own.op, own.name});
    auto found = namedB_.find({own.op, own.name});
    if (own.isBoundary || own.operands.empty() || isUnique == namedA_.end() ||
        isUnique->second != node || found == namedB_.end() ||
        found->second == kUnmatched)
      return kUnmatched;
    const MatchNode &other = b_.nodes[found->second];
    return other.attributes == own.attributes &&
                   other.operands.size() == own.operands.size()
               ? found->second
               : kUnmatched;
  }

  // Finds the nodes that are matched with namesakes of each other, and joins
  // those of them that read each other.
  void findCycles() {
    for (unsigned first = 0; first < a_.nodes.size(); ++first) {
      std::vector<std::pair<unsigned, unsigned>> cycle;
      unsigned node = first;
      do {
        unsigned other = match_.ofA[node] == kUnmatched || straight_.count(node)
                             ? kUnmatched
                             : namesake(node);
        if (other == kUnmatched || other == match_.ofA[node] ||
            match_.ofB[other] == kUnmatched) {
          cycle.clear();
          break;
        }
        cycle.push_back({node, other});
        node = match_.ofB[other];
      } while (node != first && cycle.size() < a_.nodes.size());
      if (node != first)
        continue;
      for (auto [own, other] : cycle) {
        straight_[own] = other;
        classes_.unionSets(first, own);
      }
    }
    for (auto &[node, other] : straight_)
      for (const MatchNode::Use &use : a_.nodes[node].operands)
        if (straight_.count(use.node))
          classes_.unionSets(node, use.node);
  }

  // How many operands of `nodes` are other ones.
  size_t otherOperands(llvm::ArrayRef<unsigned> nodes) const {
    size_t count = 0;
    for (unsigned node : nodes) {
      if (match_.ofA[node] == kUnmatched)
        continue;
      const MatchNode &own = a_.nodes[node],
                      &other = b_.nodes[match_.ofA[node]];
      if (own.operands.size() != other.operands.size())
        continue;
      for (auto [x, y] : llvm::zip(own.operands, other.operands))
        count += match_.ofA[x.node] != y.node || x.result != y.result;
    }
    return count;
  }

  void rematch(llvm::ArrayRef<std::pair<unsigned, unsigned>> pairs) {
    for (auto [node, other] : pairs) {
      match_.ofA[node] = other;
      match_.ofB[other] = node;
    }
  }

  // Matches `nodes` by their names if that leaves fewer differences: operands
  // that are other ones, and names. A graph in which only names differ stays
  // the same graph.
  void settle(llvm::ArrayRef<unsigned> nodes) {
    llvm::SetVector<unsigned> concerned(nodes.begin(), nodes.end());
    std::vector<std::pair<unsigned, unsigned>> crosswise, straight;
    for (unsigned node : nodes) {
      concerned.insert(users_[node].begin(), users_[node].end());
      crosswise.push_back({node, match_.ofA[node]});
      straight.push_back({node, straight_[node]});
    }
    const size_t before = otherOperands(concerned.getArrayRef());
    rematch(straight);
    if (before == 0 ||
        otherOperands(concerned.getArrayRef()) >= before + nodes.size())
      rematch(crosswise);
  }

  const MatchGraph &a_, &b_;
  GraphMatch &match_;
  std::map<std::pair<std::string, std::string>, unsigned> namedA_, namedB_;
  std::vector<std::vector<unsigned>> users_;
  llvm::MapVector<unsigned, unsigned> straight_; // of a: its namesake
  llvm::EquivalenceClasses<unsigned> classes_;
};

} // namespace

void compiler::straighten(const MatchGraph &a, const MatchGraph &b,
                          GraphMatch &match) {
  Straightener(a, b, match).run();
}
