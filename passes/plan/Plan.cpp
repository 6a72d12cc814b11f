//===- Plan.cpp - an order of commands and lifetimes ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/Plan.h"

#include <numeric>

using namespace mlir;

namespace sinter::passes::plan {
namespace {

std::vector<Lifetime> placesOf(const Plan &plan, unsigned device) {
  std::vector<Lifetime> places;
  for (auto [place, of] : llvm::zip_equal(plan.places, plan.deviceOf))
    if (of == device)
      places.push_back(place);
  return places;
}

class Planner {
public:
  Planner(const CommandGraph &graph, InPlaceAnswers &answers)
      : graph(graph), inPlaceAnswers(answers) {}
  PlannedProgram best();
  std::vector<Plan> all(std::vector<int64_t> &tried);
  Plan evaluate(Order order);

private:
  ScheduleGraph scheduleGraph() const;
  void placeResult(Plan &plan, unsigned command, unsigned output,
                   unsigned position, ArrayRef<unsigned> lastUse,
                   ArrayRef<unsigned> positions, std::vector<bool> &given);
  bool mayRunInPlace(unsigned command, unsigned output, unsigned buffer);

  static int64_t footprint(const Buffer &buffer) {
    return exec::alignedBytes(buffer.bytes());
  }

  const CommandGraph &graph;
  InPlaceAnswers &inPlaceAnswers;
};

} // namespace

/// Plans with the least live bytes come first; `tried` gets the live bytes in
/// the order in which the orders were tried.
std::vector<Plan> Planner::all(std::vector<int64_t> &tried) {
  std::vector<Plan> plans;
  for (Order &order : candidateOrders(scheduleGraph())) {
    plans.push_back(evaluate(graph.overlapped(order)));
    tried.push_back(plans.back().maxLiveBytes);
  }
  llvm::stable_sort(plans, [](const Plan &a, const Plan &b) {
    return a.maxLiveBytes < b.maxLiveBytes;
  });
  return plans;
}

PlannedProgram Planner::best() {
  std::vector<int64_t> tried;
  std::vector<Plan> plans = all(tried);
  PlannedProgram best;
  int64_t bestBytes = 0;
  for (Plan &plan : plans) {
    // No layout is smaller than the live bytes.
    bool isFirst = best.plan.order.empty();
    if (!isFirst && plan.maxLiveBytes >= bestBytes)
      break;
    ProgramLayout layout = layOut(plan, graph.devices.size());
    int64_t bytes =
        std::accumulate(layout.bytes.begin(), layout.bytes.end(), int64_t(0));
    if (!isFirst && bytes >= bestBytes)
      continue;
    best = {std::move(plan), std::move(layout)};
    bestBytes = bytes;
  }
  best.plan.triedBytes = std::move(tried);
  return best;
}

ScheduleGraph Planner::scheduleGraph() const {
  ScheduleGraph result;
  for (const Buffer &buffer : graph.buffers)
    result.bufferBytes.push_back(footprint(buffer));
  for (auto [command, before] : llvm::zip_equal(graph.commands, graph.before)) {
    auto &node = result.nodes.emplace_back();
    for (unsigned read : command.reads)
      if (graph.buffers[read].isInArena() &&
          !llvm::is_contained(node.reads, read))
        node.reads.push_back(read);
    for (unsigned write : command.writes)
      if (graph.buffers[write].isInArena())
        node.writes.push_back(write);
    node.after = before;
  }
  return result;
}

bool Planner::mayRunInPlace(unsigned command, unsigned output,
                            unsigned buffer) {
  const Command &asked = graph.commands[command];
  ir::FusionOpInterface fusion = asked.fusion;
  if (!fusion)
    return graph.mayRunInPlace(asked, output, buffer);
  unsigned input = llvm::find(asked.reads, buffer) - asked.reads.begin();
  auto [it, isNew] =
      inPlaceAnswers.try_emplace({fusion.getOperation(), input, output}, false);
  if (isNew)
    it->second = graph.mayRunInPlace(asked, output, buffer);
  return it->second;
}

/// Gives the result the bytes of an operand that ends here, or new ones.
/// `given` marks buffers whose bytes were taken over.
void Planner::placeResult(Plan &plan, unsigned command, unsigned output,
                          unsigned position, ArrayRef<unsigned> lastUse,
                          ArrayRef<unsigned> positions,
                          std::vector<bool> &given) {
  unsigned write = graph.commands[command].writes[output];
  const Buffer &result = graph.buffers[write];
  const Command &writer = graph.commands[command];
  // A wait for an all_reduce in place counts as a use of the result, not of the
  // operand.
  auto endsHere = [&](unsigned read) {
    return writer.isAllReduce()
               ? llvm::all_of(graph.buffers[read].readers,
                              [&](unsigned reader) {
                                return reader == command ||
                                       reader == writer.await ||
                                       positions[reader] < position;
                              })
               : lastUse[read] == position;
  };
  for (unsigned read : writer.reads) {
    const Buffer &operand = graph.buffers[read];
    if (!operand.isInArena() || given[read] || !endsHere(read) ||
        operand.bytes() != result.bytes() || operand.bytes() == 0 ||
        !mayRunInPlace(command, output, read))
      continue;
    given[read] = true;
    plan.placeOf[write] = plan.placeOf[read];
    plan.places[plan.placeOf[write]].last = lastUse[write];
    ++plan.inPlace;
    return;
  }
  plan.placeOf[write] = plan.places.size();
  plan.places.push_back({footprint(result), position, lastUse[write]});
  plan.deviceOf.push_back(result.device);
}

Plan Planner::evaluate(Order order) {
  Plan plan;
  std::vector<unsigned> position(order.size());
  for (auto [at, command] : llvm::enumerate(order))
    position[command] = at;
  std::vector<unsigned> lastUse(graph.buffers.size(), 0);
  for (auto [number, buffer] : llvm::enumerate(graph.buffers)) {
    if (buffer.writer != kNoCommand)
      lastUse[number] = position[buffer.writer];
    for (unsigned reader : buffer.readers)
      lastUse[number] = std::max(lastUse[number], position[reader]);
  }
  plan.placeOf.assign(graph.buffers.size(), kNoPlace);
  std::vector<bool> given(graph.buffers.size(), false);
  for (auto [at, command] : llvm::enumerate(order))
    for (auto [output, write] : llvm::enumerate(graph.commands[command].writes))
      if (graph.buffers[write].isInArena())
        placeResult(plan, command, output, at, lastUse, position, given);
  plan.order = std::move(order);
  for (unsigned device = 0; device < graph.devices.size(); ++device)
    plan.maxLiveBytes += maxLiveBytes(placesOf(plan, device));
  return plan;
}

PlannedProgram choosePlan(const CommandGraph &graph) {
  InPlaceAnswers answers;
  return Planner(graph, answers).best();
}

std::vector<Plan> allPlans(const CommandGraph &graph) {
  InPlaceAnswers answers;
  std::vector<int64_t> tried;
  return Planner(graph, answers).all(tried);
}

Plan planInOrder(const CommandGraph &graph, Order order) {
  InPlaceAnswers answers;
  return planInOrder(graph, std::move(order), answers);
}

Plan planInOrder(const CommandGraph &graph, Order order,
                 InPlaceAnswers &answers) {
  return Planner(graph, answers).evaluate(std::move(order));
}

ProgramLayout layOut(const Plan &plan, size_t numDevices) {
  ProgramLayout layout;
  layout.offsets.resize(plan.places.size());
  for (unsigned device = 0; device < numDevices; ++device) {
    ArenaLayout arena = layOutArena(placesOf(plan, device));
    layout.bytes.push_back(arena.bytes);
    size_t next = 0;
    for (auto [place, of] : llvm::enumerate(plan.deviceOf))
      if (of == device)
        layout.offsets[place] = arena.offsets[next++];
  }
  return layout;
}

} // namespace sinter::passes::plan
