//===- Schedule.cpp - orders of commands that keep little alive -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/Schedule.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

using namespace llvm;

namespace sinter::passes::plan {
namespace {

/// The reverse of the graph: the readers of a buffer, and the nodes that run
/// after a node.
struct Backwards {
  explicit Backwards(const ScheduleGraph &graph)
      : readers(graph.bufferBytes.size()),
        writer(graph.bufferBytes.size(), ~0u), next(graph.nodes.size()) {
    for (auto [number, node] : enumerate(graph.nodes)) {
      for (unsigned buffer : node.reads)
        readers[buffer].push_back(number);
      for (unsigned buffer : node.writes)
        writer[buffer] = number;
      for (unsigned before : node.after)
        next[before].push_back(number);
    }
  }
  std::vector<SmallVector<unsigned, 4>> readers;
  std::vector<unsigned> writer;
  std::vector<SmallVector<unsigned, 4>> next;
};

/// Nodes that can run next, by bytes, then by `tie`, lowest first.
class ReadyQueue {
public:
  explicit ReadyQueue(size_t nodes) : keys(nodes) {}
  bool empty() const { return queue.empty(); }
  bool contains(unsigned node) const { return keys[node].has_value(); }
  void put(unsigned node, int64_t bytes, int64_t tie) {
    if (keys[node])
      queue.erase({keys[node]->first, keys[node]->second, node});
    keys[node] = {bytes, tie};
    queue.insert({bytes, tie, node});
  }
  unsigned pop() {
    unsigned node = std::get<2>(*queue.begin());
    queue.erase(queue.begin());
    keys[node].reset();
    return node;
  }

private:
  std::vector<std::optional<std::pair<int64_t, int64_t>>> keys;
  std::set<std::tuple<int64_t, int64_t, unsigned>> queue;
};

/// Always runs the node that makes live memory grow least.
Order greedyForward(const ScheduleGraph &graph, const Backwards &backwards) {
  size_t count = graph.nodes.size();
  std::vector<unsigned> waiting(count), unread(graph.bufferBytes.size());
  for (size_t buffer = 0; buffer < unread.size(); ++buffer)
    unread[buffer] = backwards.readers[buffer].size();
  auto growth = [&](unsigned number) {
    int64_t bytes = 0;
    for (unsigned buffer : graph.nodes[number].writes)
      bytes += graph.bufferBytes[buffer];
    for (unsigned buffer : graph.nodes[number].reads)
      if (unread[buffer] == 1)
        bytes -= graph.bufferBytes[buffer];
    return bytes;
  };
  ReadyQueue ready(count);
  std::vector<bool> done(count, false);
  for (unsigned number = 0; number < count; ++number)
    if ((waiting[number] = graph.nodes[number].after.size()) == 0)
      ready.put(number, growth(number), number);
  Order order;
  while (!ready.empty()) {
    unsigned number = ready.pop();
    order.push_back(number);
    done[number] = true;
    for (unsigned buffer : graph.nodes[number].reads)
      if (--unread[buffer] == 1) // its last reader now frees it
        for (unsigned reader : backwards.readers[buffer])
          if (!done[reader] && ready.contains(reader))
            ready.put(reader, growth(reader), reader);
    for (unsigned next : backwards.next[number])
      if (--waiting[next] == 0)
        ready.put(next, growth(next), next);
  }
  return order;
}

/// The same from the last command on: reading a buffer makes it live, and
/// writing it ends that.
Order greedyBackward(const ScheduleGraph &graph, const Backwards &backwards) {
  size_t count = graph.nodes.size();
  std::vector<unsigned> waiting(count);
  std::vector<bool> live(graph.bufferBytes.size(), false);
  auto growth = [&](unsigned number) {
    int64_t bytes = 0;
    for (unsigned buffer : graph.nodes[number].reads)
      if (!live[buffer])
        bytes += graph.bufferBytes[buffer];
    for (unsigned buffer : graph.nodes[number].writes)
      if (live[buffer])
        bytes -= graph.bufferBytes[buffer];
    return bytes;
  };
  ReadyQueue ready(count);
  auto put = [&](unsigned number) {
    ready.put(number, growth(number), -int64_t(number));
  };
  for (unsigned number = 0; number < count; ++number)
    if ((waiting[number] = backwards.next[number].size()) == 0)
      put(number);
  Order order;
  while (!ready.empty()) {
    unsigned number = ready.pop();
    order.push_back(number);
    for (unsigned buffer : graph.nodes[number].reads) {
      if (live[buffer])
        continue;
      live[buffer] = true;
      for (unsigned reader : backwards.readers[buffer])
        if (ready.contains(reader))
          put(reader);
    }
    for (unsigned before : graph.nodes[number].after)
      if (--waiting[before] == 0)
        put(before);
  }
  std::reverse(order.begin(), order.end());
  return order;
}

/// Post-order over the nodes that each node runs after, in the order of
/// `children`, starting from the nodes that nothing runs after.
Order depthFirst(const ScheduleGraph &graph, const Backwards &backwards,
                 const std::vector<SmallVector<unsigned, 4>> &children) {
  Order order;
  std::vector<bool> seen(graph.nodes.size(), false);
  SmallVector<std::pair<unsigned, unsigned>> stack; // node, children visited
  for (unsigned sink = 0; sink < graph.nodes.size(); ++sink) {
    if (!backwards.next[sink].empty())
      continue;
    stack.push_back({sink, 0});
    seen[sink] = true;
    while (!stack.empty()) {
      auto &[number, visited] = stack.back();
      if (visited == children[number].size()) {
        order.push_back(number);
        stack.pop_back();
        continue;
      }
      unsigned child = children[number][visited++];
      if (!seen[child]) {
        seen[child] = true;
        stack.push_back({child, 0});
      }
    }
  }
  return order;
}

/// Children with the largest need beyond what they leave come first (Sethi and
/// Ullman 1970, exact on trees).
std::vector<SmallVector<unsigned, 4>>
childrenByNeed(const ScheduleGraph &graph) {
  size_t count = graph.nodes.size();
  std::vector<SmallVector<unsigned, 4>> children(count);
  std::vector<int64_t> need(count), leaves(count);
  for (unsigned number = 0; number < count;
       ++number) { // numbers are a topological order
    const ScheduleGraph::Node &node = graph.nodes[number];
    for (unsigned buffer : node.writes)
      leaves[number] += graph.bufferBytes[buffer];
    children[number] = node.after;
    sort(children[number], [&](unsigned x, unsigned y) {
      int64_t a = need[x] - leaves[x], b = need[y] - leaves[y];
      return a != b ? a > b : x < y;
    });
    int64_t kept = 0;
    for (unsigned child : children[number]) {
      need[number] = std::max(need[number], kept + need[child]);
      kept += leaves[child];
    }
    need[number] = std::max(need[number], kept + leaves[number]);
  }
  return children;
}

} // namespace

std::vector<Order> candidateOrders(const ScheduleGraph &graph) {
  Backwards backwards(graph);
  Order numbers(graph.nodes.size());
  std::iota(numbers.begin(), numbers.end(), 0u);
  std::vector<SmallVector<unsigned, 4>> children;
  for (const ScheduleGraph::Node &node : graph.nodes)
    children.push_back(node.after);
  return {numbers, greedyForward(graph, backwards),
          greedyBackward(graph, backwards),
          depthFirst(graph, backwards, children),
          depthFirst(graph, backwards, childrenByNeed(graph))};
}

//===----------------------------------------------------------------------===//
// DynamicOrder
//===----------------------------------------------------------------------===//

unsigned DynamicOrder::addNode() {
  position.push_back(position.size());
  targets.emplace_back();
  sources.emplace_back();
  return position.size() - 1;
}

bool DynamicOrder::reach(unsigned from,
                         const std::vector<SmallVector<unsigned, 4>> &edges,
                         bool forward, unsigned limit, unsigned avoid,
                         SmallVectorImpl<unsigned> &found) const {
  SmallVector<unsigned> work{from};
  DenseSet<unsigned> seen{from};
  while (!work.empty()) {
    unsigned node = work.pop_back_val();
    if (node == avoid)
      return false;
    found.push_back(node);
    for (unsigned next : edges[node])
      if ((forward ? position[next] <= limit : position[next] >= limit) &&
          seen.insert(next).second)
        work.push_back(next);
  }
  return true;
}

bool DynamicOrder::canAddEdge(unsigned from, unsigned to) const {
  if (position[from] < position[to])
    return true;
  SmallVector<unsigned> found;
  return reach(to, targets, /*forward=*/true, position[from], from, found);
}

void DynamicOrder::addEdge(unsigned from, unsigned to) {
  if (is_contained(sources[to], from))
    return;
  if (position[from] > position[to]) {
    SmallVector<unsigned> ahead, behind;
    reach(to, targets, /*forward=*/true, position[from], ~0u, ahead);
    reach(from, sources, /*forward=*/false, position[to], ~0u, behind);
    auto byPosition = [&](unsigned x, unsigned y) {
      return position[x] < position[y];
    };
    sort(ahead, byPosition);
    sort(behind, byPosition);
    SmallVector<unsigned> moved(behind);
    moved.append(ahead);
    SmallVector<unsigned> free;
    for (unsigned node : moved)
      free.push_back(position[node]);
    sort(free);
    for (auto [node, place] : zip_equal(moved, free))
      position[node] = place;
  }
  targets[from].push_back(to);
  sources[to].push_back(from);
}

Order DynamicOrder::order() const {
  Order order(position.size());
  for (auto [node, place] : enumerate(position))
    order[place] = node;
  return order;
}

} // namespace sinter::passes::plan
