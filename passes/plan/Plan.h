//===- Plan.h - an order of commands and lifetimes --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_PLAN_H
#define SINTER_PASSES_PLAN_PLAN_H

#include "passes/plan/Arena.h"
#include "passes/plan/CommandGraph.h"

namespace sinter::passes::plan {

inline constexpr unsigned kNoPlace = ~0u;

/// An order of the commands with the lifetimes that follow from it.
struct Plan {
  Order order;
  std::vector<unsigned>
      placeOf; // buffer -> number in `places`; kNoPlace outside of the arena
  std::vector<Lifetime>
      places; // lifetimes in the arenas, by positions in `order`
  std::vector<unsigned> deviceOf;  // place -> device of its arena
  int64_t maxLiveBytes = 0;        // of all arenas together
  std::vector<int64_t> triedBytes; // maxLiveBytes of every order tried
  unsigned inPlace = 0;            // results that take the bytes of an operand
  std::vector<bool> isChained;     // by command: its result is only in a chain
};

/// Which results may take the bytes of which operands, by fusion, operand and
/// result. Shared by plans of graphs with the same fusions, which must outlive
/// it.
using InPlaceAnswers =
    llvm::DenseMap<std::tuple<mlir::Operation *, unsigned, unsigned>, bool>;

/// The lifetimes when the commands run in this order, an order of the graph.
Plan planInOrder(const CommandGraph &graph, Order order);
Plan planInOrder(const CommandGraph &graph, Order order,
                 InPlaceAnswers &answers);

/// The layout of the arena of every device.
struct ProgramLayout {
  std::vector<int64_t> offsets; // by place, in its device's arena
  std::vector<int64_t> bytes;   // by device
};
ProgramLayout layOut(const Plan &plan, size_t numDevices);

/// The order with the smallest arenas of several; of equal ones the one with
/// the least live memory, then the first. A result takes the bytes of an
/// operand that is read for the last time, if its kernel allows that.
struct PlannedProgram {
  Plan plan;
  ProgramLayout layout;
};
/// Waits for messages come after what needs none, if no arena gets larger by
/// more than the share `growth`.
PlannedProgram choosePlan(const CommandGraph &graph, double growth = 0);

/// The same for a graph with a gradient stream. What that stream uses is kept
/// for as long as possible, so that the compute stream does not wait for it
/// only to take its bytes; no arena gets larger than that of `choosePlan` by
/// more than the share `growth`.
PlannedProgram choosePlanWithSlack(const CommandGraph &graph, double growth);

/// Every order that `choosePlan` tries, least live bytes first.
std::vector<Plan> allPlans(const CommandGraph &graph);

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_PLAN_PLAN_H
