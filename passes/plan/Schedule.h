//===- Schedule.h - orders of commands that keep little alive ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Works on numbers only: the plan phase makes a graph of its commands, asks for
// some orders, and takes the one with the least live memory.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_SCHEDULE_H
#define SINTER_PASSES_PLAN_SCHEDULE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace sinter::passes::plan {

/// Commands as nodes, numbered in an order in which they could run, and the
/// buffers that live from one node to others.
struct ScheduleGraph {
  struct Node {
    llvm::SmallVector<unsigned, 4> reads,
        writes;                           // buffers; each at most once per list
    llvm::SmallVector<unsigned, 4> after; // nodes that must run before this one
  };
  std::vector<Node> nodes;
  std::vector<int64_t> bufferBytes;
};

/// Node numbers in the order they run.
using Order = std::vector<unsigned>;

/// The orders that are tried: that of the numbers, greedy by live bytes from
/// the front and from the back, and depth-first from the last nodes, by operand
/// and by need. All are topological; the same graph gives the same orders.
std::vector<Order> candidateOrders(const ScheduleGraph &graph);

/// A topological order that accepts new edges as long as there is no cycle
/// (Pearce and Kelly, "A dynamic topological sort algorithm for directed
/// acyclic graphs", 2006): only what lies between the two ends is reordered.
class DynamicOrder {
public:
  /// Adds a node, last in the order, and returns its number.
  unsigned addNode();
  /// True when an edge from `from` to `to` makes no cycle; `from` != `to`.
  bool canAddEdge(unsigned from, unsigned to) const;
  /// The edge must be possible (canAddEdge); it may exist already.
  void addEdge(unsigned from, unsigned to);

  size_t size() const { return position.size(); }
  llvm::ArrayRef<unsigned> before(unsigned node) const { return sources[node]; }
  /// Nodes in order.
  Order order() const;

private:
  /// Collects the nodes that are reached from `from` over `edges` without
  /// passing the limit; false if `avoid` is among them.
  bool reach(unsigned from,
             const std::vector<llvm::SmallVector<unsigned, 4>> &edges,
             bool forward, unsigned limit, unsigned avoid,
             llvm::SmallVectorImpl<unsigned> &found) const;

  std::vector<llvm::SmallVector<unsigned, 4>> targets, sources;
  std::vector<unsigned> position;
};

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_PLAN_SCHEDULE_H
