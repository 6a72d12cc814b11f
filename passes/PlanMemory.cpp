//===- PlanMemory.cpp - order, places, exec dialect -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Turns functions whose ops are fusions, reshapes and constants into `exec.program`s. Of
// several orders the one with least live memory is taken; a result takes the place of an operand
// that is read for the last time where the kernel allows it; what is left shares one arena.
// The steps are in plan/: CommandGraph (what is done, and what must come before what),
// Schedule (orders), Arena (offsets), KernelPool and ConstantPool (what is shared by
// programs), Contraction (library calls).
//
//===----------------------------------------------------------------------===//
#include "ir/Remarks.h"
#include "passes/Passes.h"
#include "passes/plan/Arena.h"
#include "passes/plan/CommandGraph.h"
#include "passes/plan/Contraction.h"
#include "passes/plan/KernelPool.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Passes.h.inc"

using namespace plan;

namespace {

/// An order of the commands with the lifetimes that follow from it.
struct Plan {
  Order order;
  std::vector<unsigned> placeOf;   // buffer -> number in `places`; kNoPlace outside of the arena
  std::vector<Lifetime> places;    // what needs bytes of the arena
  int64_t maxLiveBytes = 0;
  unsigned inPlace = 0; // results that took the place of an operand
};
constexpr unsigned kNoPlace = ~0u;

class Planner {
public:
  explicit Planner(const CommandGraph &graph) : graph(graph) {}

  /// The best of the candidate orders; the first of equal ones.
  Plan best() {
    Plan best;
    for (Order &order : candidateOrders(scheduleGraph())) {
      Plan plan = evaluate(std::move(order));
      if (best.order.empty() || plan.maxLiveBytes < best.maxLiveBytes)
        best = std::move(plan);
    }
    return best;
  }

private:
  ScheduleGraph scheduleGraph() const {
    ScheduleGraph result;
    for (const Buffer &buffer : graph.buffers)
      result.bufferBytes.push_back(footprint(buffer));
    for (auto [command, before] : llvm::zip_equal(graph.commands, graph.before)) {
      auto &node = result.nodes.emplace_back();
      for (unsigned read : command.reads)
        if (graph.buffers[read].isInArena() && !llvm::is_contained(node.reads, read))
          node.reads.push_back(read);
      for (unsigned write : command.writes)
        if (graph.buffers[write].isInArena())
          node.writes.push_back(write);
      node.after = before;
    }
    return result;
  }

  static int64_t footprint(const Buffer &buffer) { return exec::alignedBytes(buffer.bytes()); }

  Plan evaluate(Order order);
  bool mayRunInPlace(unsigned command, unsigned output, unsigned buffer);

  const CommandGraph &graph;
  llvm::DenseMap<std::tuple<unsigned, unsigned, unsigned>, bool> inPlaceAnswers;
};

bool Planner::mayRunInPlace(unsigned command, unsigned output, unsigned buffer) {
  auto [it, isNew] = inPlaceAnswers.try_emplace({command, output, buffer}, false);
  if (isNew)
    it->second = graph.mayRunInPlace(graph.commands[command], output, buffer);
  return it->second;
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
  std::vector<bool> given(graph.buffers.size(), false); // its place was taken over
  for (auto [at, number] : llvm::enumerate(order)) {
    const Command &command = graph.commands[number];
    for (auto [output, write] : llvm::enumerate(command.writes)) {
      const Buffer &result = graph.buffers[write];
      if (!result.isInArena())
        continue;
      for (unsigned read : command.reads) {
        const Buffer &operand = graph.buffers[read];
        if (!operand.isInArena() || given[read] || lastUse[read] != at ||
            operand.bytes() != result.bytes() || operand.bytes() == 0 ||
            !mayRunInPlace(number, output, read))
          continue;
        given[read] = true;
        plan.placeOf[write] = plan.placeOf[read];
        plan.places[plan.placeOf[write]].last = lastUse[write];
        ++plan.inPlace;
        break;
      }
      if (plan.placeOf[write] == kNoPlace) {
        plan.placeOf[write] = plan.places.size();
        plan.places.push_back({footprint(result), static_cast<unsigned>(at), lastUse[write]});
      }
    }
  }
  plan.order = std::move(order);
  plan.maxLiveBytes = maxLiveBytes(plan.places);
  return plan;
}

/// Writes one program.
class ProgramWriter {
public:
  ProgramWriter(const CommandGraph &graph, const Plan &plan, const ArenaLayout &layout,
                KernelPool &kernels)
      : graph(graph), plan(plan), layout(layout), kernels(kernels), values(graph.buffers.size()) {}

  LogicalResult write(OpBuilder builder, func::FuncOp func, int64_t unsharedBytes) {
    auto program = builder.create<exec::ProgramOp>(
        func.getLoc(), func.getSymName(), builder.getArrayAttr(graph.inputNames),
        builder.getArrayAttr(graph.inputTypes), builder.getArrayAttr(graph.outputNames),
        builder.getArrayAttr(graph.outputTypes), layout.bytes, unsharedBytes, plan.maxLiveBytes);
    builder.setInsertionPointToEnd(&program.getBody().emplaceBlock());
    for (unsigned number : plan.order)
      if (failed(writeCommand(builder, graph.commands[number])))
        return failure();
    return success();
  }

private:
  Value bufferValue(OpBuilder &builder, unsigned number) {
    if (values[number])
      return values[number];
    const Buffer &buffer = graph.buffers[number];
    exec::SliceAttr slice = buffer.slice;
    if (!slice)
      slice = exec::SliceAttr::get(builder.getContext(), exec::Space::arena, 0,
                                   layout.offsets[plan.placeOf[number]], buffer.bytes());
    return values[number] = builder.create<exec::BufferOp>(
               buffer.loc, exec::BufferType::get(builder.getContext()), slice, buffer.type);
  }

  LogicalResult writeCommand(OpBuilder &builder, const Command &command) {
    SmallVector<Value> reads, writes;
    for (unsigned read : command.reads)
      reads.push_back(bufferValue(builder, read));
    for (unsigned write : command.writes)
      writes.push_back(bufferValue(builder, write));
    if (!command.fusion) {
      builder.create<exec::CopyOp>(command.loc, reads[0], writes[0]);
      return success();
    }
    if (isContraction(command.fusion)) {
      if (writes.size() != 1)
        return mlir::emitError(command.loc) << "a library call has one result";
      return createCall(builder, command.fusion, reads, writes[0]);
    }
    builder.create<exec::LaunchOp>(command.loc, kernels.get(command.fusion).getSymName(), reads,
                                   writes);
    return success();
  }

  const CommandGraph &graph;
  const Plan &plan;
  const ArenaLayout &layout;
  KernelPool &kernels;
  std::vector<Value> values; // by buffer
};

class PlanMemory : public impl::PlanMemoryBase<PlanMemory> {
public:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::StringMap<unsigned> states;
    for (auto state : module.getOps<ir::StateOp>())
      states.insert({state.getSymName(), static_cast<unsigned>(states.size())});
    SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
    if (functions.empty())
      return;
    SymbolTable symbols(module);
    ConstantPool constants;
    KernelPool kernels(OpBuilder(functions.front()), symbols);
    for (func::FuncOp func : functions)
      if (failed(planFunction(func, constants, kernels, states)))
        return signalPassFailure();
    for (auto state : module.getOps<ir::StateOp>())
      if (std::optional<ElementsAttr> init = state.getInit(); init && !isAllZeros(*init))
        constants.offsetOf(*init);
    OpBuilder builder(functions.front());
    if (kernels.size() > 0)
      builder.setInsertionPoint(*module.getOps<exec::KernelOp>().begin());
    constants.emit(builder, module.getLoc());
    for (func::FuncOp func : functions)
      func.erase();
  }

private:
  LogicalResult planFunction(func::FuncOp func, ConstantPool &constants, KernelPool &kernels,
                             const llvm::StringMap<unsigned> &states) {
    FailureOr<CommandGraph> graph = CommandGraph::build(func, constants, states);
    if (failed(graph))
      return failure();
    Plan plan = Planner(*graph).best();
    ArenaLayout layout = layOutArena(plan.places);
    int64_t unshared = 0;
    for (const Buffer &buffer : graph->buffers)
      if (buffer.isInArena() && buffer.writer != kNoCommand)
        unshared += exec::alignedBytes(buffer.bytes());
    if (failed(ProgramWriter(*graph, plan, layout, kernels)
                   .write(OpBuilder::atBlockEnd(func->getBlock()), func, unshared)))
      return failure();
    ir::remark("plan-memory", "planned", func.getLoc(),
               "@" + func.getSymName() + ": arena " + Twine(layout.bytes) + " bytes, " +
                   Twine(plan.maxLiveBytes) + " live at most, " + Twine(unshared) +
                   " without sharing, " + Twine(plan.inPlace) + " results in place",
               graph->commands.size());
    return success();
  }
};

} // namespace
} // namespace sinter::passes
