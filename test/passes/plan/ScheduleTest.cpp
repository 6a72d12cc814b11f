//===- ScheduleTest.cpp - orders are topological and keep little alive ----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/Schedule.h"

#include <catch2/catch.hpp>
#include <random>

using namespace sinter::passes::plan;

namespace {

bool isTopological(const ScheduleGraph &graph, const Order &order) {
  std::vector<bool> done(graph.nodes.size(), false);
  for (unsigned node : order) {
    for (unsigned before : graph.nodes[node].after)
      if (!done[before])
        return false;
    done[node] = true;
  }
  return order.size() == graph.nodes.size();
}

int64_t mostLive(const ScheduleGraph &graph, const Order &order) {
  std::vector<unsigned> unread(graph.bufferBytes.size(), 0);
  for (const auto &node : graph.nodes)
    for (unsigned buffer : node.reads)
      ++unread[buffer];
  int64_t live = 0, most = 0;
  for (unsigned number : order) {
    for (unsigned buffer : graph.nodes[number].writes)
      live += graph.bufferBytes[buffer];
    most = std::max(most, live);
    for (unsigned buffer : graph.nodes[number].reads)
      if (--unread[buffer] == 0)
        live -= graph.bufferBytes[buffer];
    for (unsigned buffer : graph.nodes[number].writes)
      if (unread[buffer] == 0)
        live -= graph.bufferBytes[buffer];
  }
  return most;
}

} // namespace

TEST_CASE("branches are finished one by one") {
  // Eight branches of a large and a small value each, then a sum of the small
  // ones. In the order of the numbers all large values are live at once.
  ScheduleGraph graph;
  for (unsigned i = 0; i < 8; ++i) {
    graph.bufferBytes.push_back(1000);
    graph.nodes.push_back({{}, {i}, {}});
  }
  ScheduleGraph::Node sum;
  for (unsigned i = 0; i < 8; ++i) {
    graph.bufferBytes.push_back(10);
    graph.nodes.push_back({{i}, {8 + i}, {i}});
    sum.reads.push_back(8 + i);
    sum.after.push_back(8 + i);
  }
  graph.nodes.push_back(sum);
  std::vector<Order> orders = candidateOrders(graph);
  int64_t best = mostLive(graph, orders[0]);
  CHECK(best == 8010);
  for (const Order &order : orders) {
    CHECK(isTopological(graph, order));
    best = std::min(best, mostLive(graph, order));
  }
  CHECK(best == 1080);
}

TEST_CASE("random graphs: every order is topological") {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    ScheduleGraph graph;
    unsigned count = random() % 40;
    for (unsigned number = 0; number < count; ++number) {
      auto &node = graph.nodes.emplace_back();
      node.writes.push_back(number);
      graph.bufferBytes.push_back(random() % 1000);
      for (unsigned before = 0; before < number; ++before)
        if (random() % 8 == 0) {
          node.after.push_back(before);
          if (random() % 2)
            node.reads.push_back(before);
        }
    }
    for (const Order &order : candidateOrders(graph))
      CHECK(isTopological(graph, order));
  }
}

TEST_CASE("a dynamic order takes edges until they close a cycle") {
  DynamicOrder order;
  for (int i = 0; i < 4; ++i)
    order.addNode();
  order.addEdge(3, 0);
  order.addEdge(0, 2);
  CHECK(order.canAddEdge(3, 2));
  CHECK_FALSE(order.canAddEdge(2, 3));
  CHECK(order.canAddEdge(2, 1));
  order.addEdge(2, 1);
  CHECK_FALSE(order.canAddEdge(1, 3));
  CHECK(order.order() == Order{3, 0, 2, 1});
}

TEST_CASE("a dynamic order agrees with a search for cycles") {
  std::mt19937 random(4);
  for (int round = 0; round < 100; ++round) {
    unsigned count = 2 + random() % 20;
    DynamicOrder order;
    std::vector<std::vector<bool>> reaches(count,
                                           std::vector<bool>(count, false));
    for (unsigned i = 0; i < count; ++i) {
      order.addNode();
      reaches[i][i] = true;
    }
    for (int edge = 0; edge < 60; ++edge) {
      unsigned from = random() % count, to = random() % count;
      if (from == to)
        continue;
      REQUIRE(order.canAddEdge(from, to) == !reaches[to][from]);
      if (reaches[to][from])
        continue;
      order.addEdge(from, to);
      for (unsigned a = 0; a < count; ++a)
        for (unsigned b = 0; b < count; ++b)
          if (reaches[a][from] && reaches[to][b])
            reaches[a][b] = true;
    }
    Order sequence = order.order();
    for (size_t late = 0; late < sequence.size(); ++late)
      for (size_t early = 0; early < late; ++early)
        CHECK_FALSE(reaches[sequence[late]][sequence[early]]);
  }
}
