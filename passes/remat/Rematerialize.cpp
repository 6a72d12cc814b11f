//===- Rematerialize.cpp - recomputes values to save memory ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Makes functions of fusions fit into a limit of memory. A value that is kept
// over the command during which most memory is live is computed again, by a
// clone of its fusion right before the value is read. States are updated as
// soon as their gradients are known, rather than in one kernel at the end. Ops
// are put in the order in which the plan was found to fit. This is legal for
// every program and changes no bit, since the results of a kernel depend on its
// operands alone. Recompute, RecomputeSearch and Segments decide which values
// are recomputed. If nothing fits, the smallest arena found is used; the driver
// then refuses the program. Training steps may also spend a share of their time
// on saving memory without a limit.
//
//===----------------------------------------------------------------------===//
#include "ir/Remarks.h"
#include "passes/Passes.h"
#include "passes/fuse/Fusion.h"
#include "passes/plan/EagerOrder.h"
#include "passes/plan/Footprint.h"
#include "passes/plan/UpdateBuckets.h"
#include "passes/remat/Cost.h"
#include "passes/remat/RecomputeSearch.h"

#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_REMATERIALIZE
#include "passes/Passes.h.inc"

using namespace plan;

namespace {

/// The number of kernels into which the updates of all states are divided.
constexpr unsigned kUpdateBuckets = 16;

/// Recomputation without a limit must save at least this share of the arena, or
/// the program stays as it is.
constexpr double kLeastSaved = 0.1;

/// The position at which most memory is live.
unsigned turnOf(const Plan &plan) {
  std::vector<int64_t> live = liveBytes(plan.places);
  return std::max_element(live.begin(), live.end()) - live.begin();
}

/// Puts the ops of a function in the order of a plan and inserts its clones.
class Rewriter {
public:
  Rewriter(func::FuncOp func, const CommandGraph &before,
           const Recompute::Outcome &outcome)
      : body(func.getBody().front()), before(before), outcome(outcome) {}

  void run() {
    // Ops that are not commands are moved right before their first user.
    for (unsigned number : outcome.order) {
      if (number < before.commands.size()) {
        const Command &command = outcome.graph.commands[number];
        if (Operation *op = opOf(command)) {
          if (!llvm::equal(command.reads, before.commands[number].reads))
            redirect(op, before.commands[number].reads, command.reads);
          moveToEnd(op);
        }
        continue;
      }
      const Recompute::Clone &clone =
          outcome.clones[number - before.commands.size()];
      insert(clone, outcome.graph.commands[number]);
    }
    Operation *terminator = body.getTerminator();
    for (Value result : terminator->getOperands())
      moveViews(result, terminator);
    // Erase unused views. A view of a view comes after it.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (op.hasTrait<ir::Alias>() && op.use_empty())
        op.erase();
  }

private:
  /// The op of a command; a wait has none.
  static Operation *opOf(const Command &command) {
    if (command.fusion)
      return command.fusion;
    if (command.scan)
      return ir::ScanCallOp(command.scan).getOperation();
    return command.isCollective()
               ? ir::CollectiveOpInterface(command.collective).getOperation()
               : nullptr;
  }

  void moveToEnd(Operation *op) {
    op->moveBefore(body.getTerminator());
    for (OpOperand &operand : op->getOpOperands())
      moveViews(operand.get(), op);
  }
  /// Moves aliases and constants that `op` reads right before it.
  void moveViews(Value value, Operation *op) {
    Operation *view = value.getDefiningOp();
    if (!view || !(view->hasTrait<ir::Alias>() || isa<ir::ConstantOp>(view)) ||
        !placed.insert(view).second)
      return;
    view->moveBefore(op);
    for (Value operand : view->getOperands())
      moveViews(operand, view);
  }

  /// Replaces the operands whose read changed by results of clones.
  void redirect(Operation *op, ArrayRef<unsigned> old, ArrayRef<unsigned> now) {
    for (auto [number, read] : llvm::enumerate(now))
      if (read != old[number])
        op->setOperand(number, again(op->getOperand(number), read, op));
  }
  /// `value`, a view of an original result, as the same view of buffer `read`.
  Value again(Value value, unsigned read, Operation *user) {
    if (auto reshape = value.getDefiningOp<ir::ReshapeOp>()) {
      if (Value view = views.lookup({value, read}))
        return view;
      // The source may be a view, too, and then also enters the table.
      Value source = again(reshape.getX(), read, user);
      return views[{value, read}] = OpBuilder(user).create<ir::ReshapeOp>(
                 reshape.getLoc(), reshape.getType(), source);
    }
    // The clone that is read instead comes later than what was waited for.
    if (auto after = value.getDefiningOp<ir::AfterOp>())
      return again(after.getX(), read, user);
    return valueOf.lookup(read);
  }

  void insert(const Recompute::Clone &clone, const Command &command) {
    auto fusion = cast<ir::FusionOpInterface>(
        ir::FusionOpInterface(clone.fusion)->clone());
    OpBuilder builder(body.getTerminator());
    builder.insert(fusion);
    const Command &original = before.commands[clone.original];
    auto inputs = ir::FusionOpInterface(original.fusion).getInputs();
    for (auto [number, read] : llvm::enumerate(command.reads)) {
      Value operand = fusion->getOperand(number);
      if (read != original.reads[llvm::find(inputs, operand) - inputs.begin()])
        fusion->setOperand(number, again(operand, read, fusion));
      moveViews(fusion->getOperand(number), fusion);
    }
    for (auto [result, write] :
         llvm::zip_equal(fusion.getOutputs(), command.writes))
      valueOf[write] = result;
  }

  Block &body;
  const CommandGraph &before;
  const Recompute::Outcome &outcome;
  llvm::DenseSet<Operation *> placed;
  llvm::DenseMap<unsigned, Value> valueOf; // results of clones, by buffer
  llvm::DenseMap<std::pair<Value, unsigned>, Value> views;
};

class RematerializePass : public impl::RematerializeBase<RematerializePass> {
public:
  using RematerializeBase::RematerializeBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (ir::numDevices(module) > 1)
      return; // a limit for several devices is only checked
    if (isElsewhere(module)) {
      hasOwnMemory = !hasOwnMemory;
      spareTime = 0;
    }
    if (memoryLimit > 0) {
      Footprint needs =
          footprintOf(module, /*place=*/0, workspaceBytes, hasOwnMemory);
      needs.workspaces *= workspaces;
      arenaLimit = memoryLimit - needs.fixed();
    }
    llvm::StringMap<unsigned> states;
    for (auto state : module.getOps<ir::StateOp>())
      states.insert({state.getSymName(), static_cast<unsigned>(states.size())});
    for (auto func : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (!func.isPrivate() && failed(fit(func, states)))
        return signalPassFailure();
  }

private:
  using States = llvm::StringMap<unsigned>;

  /// True when all nodes are placed on the CPU and the options are those of a
  /// GPU, or the other way round.
  bool isElsewhere(ModuleOp module) const {
    SmallVector<StringRef> names = ir::deviceNames(module);
    return !names.empty() && ir::isHostDevice(names.front()) == hasOwnMemory;
  }
  LogicalResult fit(func::FuncOp func, const States &states);
  LogicalResult spend(func::FuncOp func, const States &states);
  FailureOr<int64_t> search(func::FuncOp func, const States &states,
                            int64_t enoughBytes, bool isLast);
  bool divideUpdates(func::FuncOp func);

  int64_t arenaLimit = std::numeric_limits<int64_t>::max();
  llvm::SmallPtrSet<Operation *, 4> divided;
};

/// The orders from which the search starts: the best one, and the one with the
/// earliest turn if that is much earlier. An order with few live bytes may
/// leave the gradients of weights, with everything that they read, to the end
/// of the program. Most memory is then live there, where little can be computed
/// again.
std::vector<Plan> plansToSearch(const CommandGraph &graph) {
  std::vector<Plan> plans = allPlans(graph);
  auto earliest = std::min_element(
      plans.begin(), plans.end(),
      [](const Plan &a, const Plan &b) { return turnOf(a) < turnOf(b); });
  constexpr unsigned kMuch = 16; // a sixteenth of the program
  bool isMuch =
      turnOf(*earliest) + graph.commands.size() / kMuch < turnOf(plans.front());
  std::vector<Plan> result{choosePlan(graph).plan};
  if (isMuch)
    result.push_back(std::move(*earliest));
  return result;
}

/// A function of fusions with a turn, and the recomputation over that turn.
struct Subject {
  /// `graph` outlives this object. `order` is an order of it.
  Subject(const CommandGraph &graph, const Order &order, unsigned turn)
      : graph(graph), order(eagerAfter(graph, order, turn)),
        recompute(graph, this->order, turn) {}

  const CommandGraph &graph;
  Order order;
  Recompute recompute;
};

/// A choice, with the subject that owns its clones.
struct Found {
  std::unique_ptr<Subject> subject;
  RecomputeChoice choice;
};

/// Searches several orders. Returns the choice with the smallest arena, or the
/// first that takes at most `enoughBytes`.
Found searchOrders(const CommandGraph &graph, int64_t enoughBytes,
                   llvm::function_ref<RecomputeChoice(Recompute &)> search) {
  Found best;
  for (const Plan &plan : plansToSearch(graph)) {
    auto subject = std::make_unique<Subject>(graph, plan.order, turnOf(plan));
    RecomputeChoice choice = search(subject->recompute);
    if (best.subject && choice.bytes >= best.choice.bytes)
      continue;
    best.choice = std::move(choice); // before its old subject is destroyed
    best.subject = std::move(subject);
    if (best.choice.bytes <= enoughBytes)
      break;
  }
  return best;
}

void rewrite(func::FuncOp func, const CommandGraph &graph,
             const RecomputeChoice &choice, StringRef event) {
  double all = 0;
  for (const Command &command : graph.commands)
    if (command.fusion)
      all += flopsOf(command.fusion);
  std::string share;
  llvm::raw_string_ostream(share)
      << llvm::format("%.2f", all > 0 ? 100 * choice.outcome.flops / all : 0.0);
  ir::remark("rematerialize", event, func.getLoc(),
             "@" + func.getSymName() + ": arena " + Twine(choice.bytes) +
                 " bytes with " + Twine(choice.outcome.clones.size()) +
                 " kernels run again, " + share + " % more operations",
             choice.outcome.clones.size());
  size_t copies = 0;
  auto bytesOf = [&](const Recompute::Clone &clone) {
    int64_t bytes = 0;
    for (unsigned output : clone.outputs)
      bytes +=
          graph.buffers[graph.commands[clone.original].writes[output]].bytes();
    return bytes;
  };
  for (const Recompute::Clone &clone : choice.outcome.clones)
    ir::explain("rematerialize", "recomputed",
                graph.commands[clone.original].loc,
                "@" + func.getSymName() + ": copy " + Twine(++copies) + " of " +
                    Twine(choice.outcome.clones.size()) + ", of " +
                    Twine(bytesOf(clone)) +
                    " bytes, is computed a second time, so that its result "
                    "need not be kept over the peak (" +
                    event + ")");
  Rewriter(func, graph, choice.outcome).run();
  // A kernel whose readers all use copies of it is dead.
  IRRewriter rewriter(func.getContext());
  (void)runRegionDCE(rewriter, func->getRegions());
}

bool isTrainingStep(func::FuncOp func) {
  return llvm::any_of(func.getBody().front(), [](Operation &op) {
    return llvm::any_of(op.getUses(), isNewState);
  });
}

/// The share of the memory live at the turn that is only kept for updates of
/// states.
double shareForUpdates(const CommandGraph &graph, const Order &order) {
  Plan plan = planInOrder(graph, order);
  unsigned turn = turnOf(plan);
  int64_t bytes = 0;
  for (auto [number, buffer] : llvm::enumerate(graph.buffers)) {
    unsigned place = plan.placeOf[number];
    if (place == kNoPlace || plan.places[place].first > turn ||
        plan.places[place].last < turn || buffer.readers.empty())
      continue;
    if (llvm::all_of(buffer.readers, [&](unsigned reader) {
          ir::FusionOpInterface fusion = graph.commands[reader].fusion;
          auto kernel = dyn_cast_or_null<ir::KernelOp>(fusion.getOperation());
          return kernel && isUpdate(kernel);
        }))
      bytes += plan.places[place].bytes;
  }
  return static_cast<double>(bytes) /
         static_cast<double>(std::max<int64_t>(1, plan.maxLiveBytes));
}

} // namespace

/// Divides the kernel of all updates, which keeps all gradients until it runs.
/// Does so once for each function. Returns whether the function changed.
bool RematerializePass::divideUpdates(func::FuncOp func) {
  if (!divided.insert(func).second)
    return false;
  std::optional<unsigned> more = splitUpdates(func, kUpdateBuckets);
  if (more.value_or(0) > 0)
    ir::remark("rematerialize", "updates divided", func.getLoc(),
               "@" + func.getSymName() + ": " + Twine(*more) +
                   " additional kernels",
               *more);
  return more.has_value();
}

/// Lets gradients be freed early, and computes values again for which there is
/// time, if that saves enough and the function then fits.
LogicalResult RematerializePass::spend(func::FuncOp func,
                                       const States &states) {
  for (bool isDivided : {false, true}) {
    ConstantPool constants;
    FailureOr<CommandGraph> graph =
        CommandGraph::build(func, constants, states);
    if (failed(graph))
      return failure();
    PlannedProgram planned = choosePlan(*graph);
    auto dividesUpdates = [&](const CommandGraph &graph, const Order &order) {
      return !isDivided && shareForUpdates(graph, order) > kLeastSaved &&
             divideUpdates(func);
    };
    // The search takes long: first see whether updates must be divided anyway.
    if (dividesUpdates(*graph, planned.plan.order))
      continue;
    Found found =
        searchOrders(*graph, /*enoughBytes=*/0, [&](Recompute &recompute) {
          return searchCheapRecompute(recompute, spareTime);
        });
    const RecomputeChoice &choice = found.choice;
    if (dividesUpdates(choice.outcome.graph, choice.outcome.order))
      continue;
    if (choice.bytes <= arenaLimit &&
        choice.bytes < (1 - kLeastSaved) * planned.layout.bytes.front())
      rewrite(func, *graph, choice, "in spare time");
    break;
  }
  return success();
}

/// Searches for an arena of at most `enoughBytes`, otherwise for the smallest,
/// and returns its bytes. Rewrites `func` if that fits or if `isLast`.
FailureOr<int64_t> RematerializePass::search(func::FuncOp func,
                                             const States &states,
                                             int64_t enoughBytes, bool isLast) {
  ConstantPool constants;
  FailureOr<CommandGraph> graph = CommandGraph::build(func, constants, states);
  if (failed(graph))
    return failure();
  Found found = searchOrders(*graph, enoughBytes, [&](Recompute &recompute) {
    return searchRecompute(recompute, enoughBytes);
  });
  if (found.choice.bytes <= arenaLimit || isLast)
    // --remat=all sets no limit: the result is as small as possible.
    rewrite(func, *graph, found.choice,
            found.choice.bytes <= arenaLimit ? "fits"
            : arenaLimit <= 0                ? "as small as possible"
                                             : "does not fit");
  return found.choice.bytes;
}

LogicalResult RematerializePass::fit(func::FuncOp func, const States &states) {
  if (spareTime > 0 && isTrainingStep(func) && failed(spend(func, states)))
    return failure();
  if (memoryLimit == 0)
    return success();
  ConstantPool constants;
  FailureOr<CommandGraph> graph = CommandGraph::build(func, constants, states);
  if (failed(graph))
    return failure();
  if (choosePlan(*graph).layout.bytes.front() <= arenaLimit)
    return success();
  // The search for what fits tries fewer ways than the one for the smallest
  // arena, which does not depend on the limit: so a limit that was named as the
  // smallest is met.
  OwningOpRef<func::FuncOp> undivided;
  for (bool isDivided : {false, true}) {
    if (isDivided) {
      OwningOpRef<func::FuncOp> before = func.clone();
      if (!divideUpdates(func))
        break;
      undivided = std::move(before);
    }
    FailureOr<int64_t> bytes =
        search(func, states, arenaLimit, /*isLast=*/false);
    if (failed(bytes) || *bytes <= arenaLimit)
      return success(succeeded(bytes));
  }
  FailureOr<int64_t> smallest = search(func, states, 0, /*isLast=*/false);
  if (failed(smallest) || *smallest <= arenaLimit)
    return success(succeeded(smallest));
  if (undivided) {
    OwningOpRef<func::FuncOp> inParts = func.clone();
    func.getBody().takeBody(undivided->getBody());
    FailureOr<int64_t> whole = search(func, states, 0, /*isLast=*/false);
    if (failed(whole) || *whole <= arenaLimit)
      return success(succeeded(whole));
    if (*smallest <= *whole)
      func.getBody().takeBody(inParts->getBody());
  }
  return success(succeeded(search(func, states, 0, /*isLast=*/true)));
}

} // namespace sinter::passes
