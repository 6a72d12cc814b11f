//===- Plan.cpp - an order of commands and lifetimes ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/Plan.h"

#include "llvm/ADT/SetVector.h"

#include <numeric>
#include <optional>

using namespace mlir;

namespace sinter::passes::plan {
namespace {

bool isOnGradientStream(const Command &command) {
  return command.place.stream == exec::kGradient;
}

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
  PlannedProgram best(double growth);
  std::vector<Plan> all(std::vector<int64_t> &tried);
  Plan evaluate(Order order);
  PlannedProgram withSlack(PlannedProgram best, double growth);

private:
  ScheduleGraph scheduleGraph() const;
  /// When commands run, by command.
  struct Times {
    std::vector<unsigned> position; // in the order
    /// The last position of the compute stream at which the command may still
    /// run: its bytes are not free before. Its own position if it is a command
    /// of the compute stream.
    std::vector<unsigned> end;
    /// Whether the compute stream may overwrite in place what the gradient
    /// stream reads earlier in the order.
    bool mayOverwrite = true;
  };
  static Times inOrder(const Order &order);
  void addSlack(const Plan &plan, ArrayRef<int64_t> mostLive,
                Times &times) const;
  Plan evaluate(Order order, const Times &times);
  Order gradientsEarly(const Order &order) const;
  std::optional<PlannedProgram> withSlack(const Order &order,
                                          ArrayRef<int64_t> most);
  /// How long bytes are used, by buffer.
  struct Uses {
    std::vector<unsigned> last;      // position of the last command
    std::vector<unsigned> keptUntil; // that of the last one of a chain; 0: none
    std::vector<bool> isGiven;       // a result took the bytes over
  };
  void keepForChains(Plan &plan, const Order &order, Uses &uses) const;
  void placeResult(Plan &plan, unsigned command, unsigned output,
                   const Times &times, Uses &uses);
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

PlannedProgram Planner::best(double growth) {
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
  // More can run while messages travel.
  Plan late = evaluate(graph.waitingLast(best.plan.order));
  if (late.order != best.plan.order) {
    ProgramLayout layout = layOut(late, graph.devices.size());
    if (llvm::all_of(llvm::zip_equal(layout.bytes, best.layout.bytes),
                     [&](auto pair) {
                       auto [bytes, least] = pair;
                       return double(bytes) <= (1 + growth) * double(least);
                     }))
      best = {std::move(late), std::move(layout)};
  }
  best.plan.triedBytes = std::move(tried);
  return best;
}

/// `order` with the commands of the gradient stream as early as the others
/// allow, so that they run beside as many as possible. A wait for a collective
/// stays where it is: it would stop the stream.
Order Planner::gradientsEarly(const Order &order) const {
  Order result;
  std::vector<bool> done(order.size(), false);
  std::vector<unsigned> early; // in order
  for (unsigned command : order)
    if (const Command &what = graph.commands[command];
        isOnGradientStream(what) && !what.isAwait())
      early.push_back(command);
  auto put = [&](unsigned command) {
    done[command] = true;
    result.push_back(command);
  };
  for (unsigned command : order) {
    if (done[command])
      continue;
    put(command);
    llvm::erase_if(early, [&](unsigned other) {
      if (!done[other] &&
          llvm::all_of(graph.before[other],
                       [&](unsigned before) { return done[before]; }))
        put(other);
      return done[other];
    });
  }
  return result;
}

/// A plan with bytes that are free only when the gradient stream has had some
/// time, in an order that lets it run early, if there is memory for that.
PlannedProgram Planner::withSlack(PlannedProgram best, double growth) {
  SmallVector<int64_t> most;
  for (int64_t bytes : best.layout.bytes)
    most.push_back(static_cast<int64_t>((1 + growth) * double(bytes)));
  for (const Order &order : {gradientsEarly(best.plan.order), best.plan.order})
    if (std::optional<PlannedProgram> found = withSlack(order, most)) {
      found->plan.triedBytes = std::move(best.plan.triedBytes);
      return std::move(*found);
    }
  return best;
}

/// The plan for this order; nothing if an arena needs more than `most`.
std::optional<PlannedProgram> Planner::withSlack(const Order &order,
                                                 ArrayRef<int64_t> most) {
  Times none = inOrder(order);
  none.mayOverwrite = false;
  Plan apart = evaluate(order, none);
  // An arena may have to be larger than what is live.
  for (double share : {1.0, 0.75, 0.5, 0.25, 0.0}) {
    SmallVector<int64_t> mostLive;
    for (auto [device, bytes] : llvm::enumerate(most)) {
      int64_t least = maxLiveBytes(placesOf(apart, device));
      if (least > bytes)
        return std::nullopt;
      mostLive.push_back(least + int64_t(share * double(bytes - least)));
    }
    Times times = none;
    addSlack(apart, mostLive, times);
    Plan plan = evaluate(order, times);
    ProgramLayout layout = layOut(plan, graph.devices.size());
    if (llvm::all_of(llvm::zip_equal(layout.bytes, most), [](auto pair) {
          return std::get<0>(pair) <= std::get<1>(pair);
        }))
      return PlannedProgram{std::move(plan), std::move(layout)};
  }
  return std::nullopt;
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

Planner::Times Planner::inOrder(const Order &order) {
  Times times;
  times.position.resize(order.size());
  for (auto [at, command] : llvm::enumerate(order))
    times.position[command] = at;
  times.end = times.position;
  return times;
}

/// Lets commands of the gradient stream end later, as long as no device has
/// more than `mostLive` bytes live: first each until the next gradient, then
/// until the second one after it, and so on to the end of the program. `plan`
/// has lifetimes without that.
void Planner::addSlack(const Plan &plan, ArrayRef<int64_t> mostLive,
                       Times &times) const {
  const auto last = static_cast<unsigned>(plan.order.size() - 1);
  std::vector<std::vector<int64_t>> live; // by device and position
  for (size_t device = 0; device < graph.devices.size(); ++device) {
    live.push_back(liveBytes(placesOf(plan, device)));
    live.back().resize(plan.order.size());
  }
  std::vector<unsigned> end; // by place
  for (const Lifetime &place : plan.places)
    end.push_back(place.last);
  SmallVector<unsigned> commands, gradients; // gradients: positions
  for (unsigned command : plan.order) {
    if (!isOnGradientStream(graph.commands[command]))
      continue;
    commands.push_back(command);
    if (graph.commands[command].isGradient)
      gradients.push_back(times.position[command]);
  }
  auto extend = [&](unsigned command, unsigned until) {
    const Command &what = graph.commands[command];
    llvm::SmallSetVector<unsigned, 8> places;
    for (ArrayRef<unsigned> buffers :
         {ArrayRef(what.reads), ArrayRef(what.writes)})
      for (unsigned buffer : buffers)
        if (graph.buffers[buffer].isInArena() &&
            end[plan.placeOf[buffer]] < until)
          places.insert(plan.placeOf[buffer]);
    llvm::DenseMap<unsigned, int64_t> added; // by device, at the position
    auto visit =
        [&](llvm::function_ref<bool(int64_t &, unsigned, int64_t)> visitor) {
          for (unsigned at = times.position[command] + 1; at <= until; ++at) {
            added.clear();
            for (unsigned place : places)
              if (end[place] < at)
                added[plan.deviceOf[place]] += plan.places[place].bytes;
            for (auto [device, bytes] : added)
              if (!visitor(live[device][at], device, bytes))
                return false;
          }
          return true;
        };
    if (!visit([&](int64_t &bytes, unsigned device, int64_t more) {
          return bytes + more <= mostLive[device];
        }))
      return;
    visit([](int64_t &bytes, unsigned, int64_t more) {
      bytes += more;
      return true;
    });
    for (unsigned place : places)
      end[place] = until;
    times.end[command] = until;
  };
  for (size_t slack : {1, 2, 4, 8, 16, 32, 64, 0})
    for (unsigned command : commands) {
      size_t next = llvm::upper_bound(gradients, times.position[command]) -
                    gradients.begin();
      bool isBefore = slack && next + slack <= gradients.size();
      extend(command, isBefore ? gradients[next + slack - 1] : last);
    }
}

/// Gives the result the bytes of an operand that ends here, or new ones.
void Planner::placeResult(Plan &plan, unsigned command, unsigned output,
                          const Times &times, Uses &uses) {
  unsigned write = graph.commands[command].writes[output];
  const Buffer &result = graph.buffers[write];
  const Command &writer = graph.commands[command];
  unsigned position = times.position[command];
  // A command of the gradient stream comes after the others of its stream, and
  // most commands of the compute stream have ended before it anyway.
  auto isOver = [&](unsigned reader) {
    if (isOnGradientStream(writer) ||
        !isOnGradientStream(graph.commands[reader]))
      return times.position[reader] < position;
    return times.mayOverwrite && times.end[reader] < position;
  };
  // A wait for a collective in place counts as a use of the result, not of the
  // operand.
  auto endsHere = [&](unsigned read) {
    bool isKept = uses.keptUntil[read] && uses.keptUntil[read] >= position;
    return !isKept &&
           llvm::all_of(graph.buffers[read].readers, [&](unsigned reader) {
             return reader == command || reader == writer.await ||
                    isOver(reader);
           });
  };
  for (unsigned read : writer.reads) {
    const Buffer &operand = graph.buffers[read];
    if (plan.placeOf[read] == kNoPlace || uses.isGiven[read] ||
        !endsHere(read) || operand.bytes() != result.bytes() ||
        operand.bytes() == 0 || !mayRunInPlace(command, output, read))
      continue;
    uses.isGiven[read] = true;
    plan.placeOf[write] = plan.placeOf[read];
    plan.places[plan.placeOf[write]].last = uses.last[write];
    ++plan.inPlace;
    return;
  }
  plan.placeOf[write] = plan.places.size();
  plan.places.push_back({footprint(result), position, uses.last[write]});
  plan.deviceOf.push_back(result.device);
}

Plan Planner::evaluate(Order order) {
  Times times = inOrder(order);
  return evaluate(std::move(order), times);
}

/// What convolutions of a chain read from the arena is used until the last of
/// them.
void Planner::keepForChains(Plan &plan, const Order &order, Uses &uses) const {
  plan.isChained.assign(order.size(), false);
  llvm::SmallSetVector<unsigned, 8> kept;
  for (unsigned at = 0; at + 1 < order.size(); ++at) {
    const Command &command = graph.commands[order[at]];
    if (command.chained != order[at + 1]) {
      kept.clear();
      continue;
    }
    plan.isChained[order[at]] = true;
    // The input of all but the first is the result before it.
    kept.insert(command.reads.begin() + !kept.empty(), command.reads.end());
    for (unsigned buffer : kept) {
      uses.last[buffer] = std::max(uses.last[buffer], at + 1);
      uses.keptUntil[buffer] = at + 1;
    }
  }
}

Plan Planner::evaluate(Order order, const Times &times) {
  Plan plan;
  const size_t count = graph.buffers.size();
  Uses uses = {std::vector<unsigned>(count, 0), std::vector<unsigned>(count, 0),
               std::vector<bool>(count, false)};
  for (auto [number, buffer] : llvm::enumerate(graph.buffers)) {
    if (buffer.writer != kNoCommand)
      uses.last[number] = times.end[buffer.writer];
    for (unsigned reader : buffer.readers)
      uses.last[number] = std::max(uses.last[number], times.end[reader]);
  }
  keepForChains(plan, order, uses);
  plan.placeOf.assign(count, kNoPlace);
  for (unsigned command : order)
    for (auto [output, write] : llvm::enumerate(graph.commands[command].writes))
      if (graph.buffers[write].isInArena() && !plan.isChained[command])
        placeResult(plan, command, output, times, uses);
  plan.order = std::move(order);
  for (unsigned device = 0; device < graph.devices.size(); ++device)
    plan.maxLiveBytes += maxLiveBytes(placesOf(plan, device));
  return plan;
}

PlannedProgram choosePlan(const CommandGraph &graph, double growth) {
  InPlaceAnswers answers;
  return Planner(graph, answers).best(growth);
}

PlannedProgram choosePlanWithSlack(const CommandGraph &graph, double growth) {
  InPlaceAnswers answers;
  Planner planner(graph, answers);
  return planner.withSlack(planner.best(/*growth=*/0), growth);
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
