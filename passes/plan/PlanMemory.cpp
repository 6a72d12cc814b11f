//===- PlanMemory.cpp - order, addresses, exec dialect --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Turns functions whose ops are fusions, reshapes and constants into
// `exec.program`s. Of several orders the one with the smallest arena is taken.
// A result takes the bytes of an operand that is read for the last time, if the
// kernel allows it. All other values share one arena. The steps are in this
// folder: CommandGraph (the commands, and which must come before which),
// GradientStream (which commands run beside the others), ConvChains (which run
// together),
// Schedule (orders), Arena (offsets), Events (waits between streams),
// KernelPool and ConstantPool (shared by programs), Contraction (library
// calls).
//
//===----------------------------------------------------------------------===//
#include "ir/Remarks.h"
#include "passes/Failure.h"
#include "passes/Passes.h"
#include "passes/fuse/FusionInfo.h"
#include "passes/plan/BufferReasons.h"
#include "passes/plan/Contraction.h"
#include "passes/plan/ConvChains.h"
#include "passes/plan/Events.h"
#include "passes/plan/GradientStream.h"
#include "passes/plan/KernelPool.h"
#include "passes/plan/ScanBody.h"

#include "llvm/ADT/StringMap.h"

#include <numeric>

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Passes.h.inc"

using namespace plan;

namespace {

/// Writes one program.
class ProgramWriter {
public:
  ProgramWriter(const CommandGraph &graph, const Plan &plan,
                const ProgramLayout &layout, KernelPool &kernels)
      : graph(graph), plan(plan), layout(layout), kernels(kernels),
        values(graph.buffers.size()) {}

  FailureOr<exec::ProgramOp> write(OpBuilder builder, func::FuncOp func,
                                   int64_t unsharedBytes) {
    auto program = builder.create<exec::ProgramOp>(
        func.getLoc(), func.getSymName(),
        builder.getArrayAttr(graph.inputNames),
        builder.getArrayAttr(graph.inputTypes),
        builder.getArrayAttr(graph.outputNames),
        builder.getArrayAttr(graph.outputTypes), layout.bytes.front(),
        unsharedBytes, plan.maxLiveBytes);
    if (graph.indexChecks)
      program->setAttr(exec::ExecDialect::kIndexChecksAttr, graph.indexChecks);
    if (layout.bytes.size() > 1)
      program->setAttr(exec::ExecDialect::kArenasAttr,
                       builder.getDenseI64ArrayAttr(layout.bytes));
    builder.setInsertionPointToEnd(&program.getBody().emplaceBlock());
    for (unsigned number : plan.order) {
      const Command &command = graph.commands[number];
      if (failed(writeCommand(builder, command)))
        return failure();
      links = plan.isChained[number] ? links + 1 : 0;
    }
    insertEvents(program, graph.devices.size());
    return program;
  }

private:
  Value bufferValue(OpBuilder &builder, unsigned number) {
    if (values[number])
      return values[number];
    const Buffer &buffer = graph.buffers[number];
    exec::SliceAttr slice = buffer.slice;
    if (!slice && buffer.writer != kNoCommand && plan.isChained[buffer.writer])
      slice = exec::SliceAttr::get(builder.getContext(), exec::Space::chain,
                                   links, 0, buffer.bytes());
    else if (!slice)
      slice = exec::SliceAttr::get(
          builder.getContext(), exec::Space::arena, buffer.device,
          layout.offsets[plan.placeOf[number]], buffer.bytes());
    return values[number] = builder.create<exec::BufferOp>(
               buffer.loc, exec::BufferType::get(builder.getContext()), slice,
               buffer.type);
  }

  LogicalResult writeCommand(OpBuilder &builder, const Command &command) {
    if (failed(writeUnplaced(builder, command)))
      return failure();
    setPlace(&builder.getInsertionBlock()->back(), command.place);
    return success();
  }

  Value ticket(OpBuilder &builder, Location loc, int64_t stream) {
    MLIRContext *context = builder.getContext();
    RankedTensorType type = exec::ticketType(context);
    return builder.create<exec::BufferOp>(
        loc, exec::BufferType::get(context),
        exec::SliceAttr::get(context, exec::Space::control, 0,
                             exec::ticketOffset(stream), exec::sizeBytes(type)),
        type);
  }

  /// Sets nothing for programs on one device.
  static void setPlace(Operation *op, const exec::CommandPlace &place) {
    OpBuilder builder(op->getContext());
    auto set = [&](StringRef name, int64_t value, int64_t otherwise) {
      if (value != otherwise)
        op->setAttr(name, builder.getI64IntegerAttr(value));
    };
    set(exec::ExecDialect::kPlaceAttr, place.place, 0);
    set(exec::ExecDialect::kStreamAttr, place.stream, exec::kCompute);
    set(exec::ExecDialect::kFromAttr, place.from, place.place);
    set(exec::ExecDialect::kToAttr, place.to, place.place);
  }

  /// Marks a kernel with its kind of device if there are several: kernels of
  /// different kinds are different.
  void nameKind(ir::FusionOpInterface fusion, int64_t device) {
    auto kindOf = [](StringRef name) { return name.split(':').first; };
    StringRef kind = kindOf(graph.devices[device]);
    if (llvm::any_of(graph.devices,
                     [&](StringRef other) { return kindOf(other) != kind; }))
      fusion->setAttr(exec::ExecDialect::kTargetAttr,
                      StringAttr::get(fusion->getContext(), kind));
  }

  LogicalResult writeUnplaced(OpBuilder &builder, const Command &command) {
    SmallVector<Value> reads, writes;
    for (unsigned read : command.reads)
      reads.push_back(bufferValue(builder, read));
    for (unsigned write : command.writes)
      writes.push_back(bufferValue(builder, write));
    if (ir::CollectiveOpInterface collective = command.collective) {
      unsigned &event =
          events.try_emplace(collective, events.size()).first->second;
      if (command.isCollective())
        builder.create<exec::CollectiveOp>(
            command.loc, kindOf(collective), collective.getAxis(),
            collective.getReplicas(), event, reads, writes);
      else
        builder.create<exec::AwaitOp>(command.loc, event);
      return success();
    }
    if (command.scan) {
      writeScan(builder, command, reads, writes);
      return success();
    }
    if (!command.fusion && reads.empty()) {
      builder.create<exec::FillOp>(command.loc, writes[0]);
      return success();
    }
    if (!command.fusion) {
      builder.create<exec::CopyOp>(command.loc, reads[0], writes[0]);
      return success();
    }
    ir::FusionOpInterface fusion = command.fusion;
    if (auto call = dyn_cast<ir::LibraryCallOp>(*fusion))
      return createCall(builder, call, reads, writes);
    nameKind(fusion, command.place.place);
    exec::KernelOp kernel = kernels.get(cast<ir::KernelOp>(*fusion));
    if (kernel.isStaged())
      reads.push_back(ticket(builder, command.loc, command.place.stream));
    builder.create<exec::LaunchOp>(command.loc, kernel.getSymName(), reads,
                                   writes);
    return success();
  }

  static exec::CollectiveKind kindOf(Operation *collective) {
    return isa<ir::AllReduceOp>(collective) ? exec::CollectiveKind::all_reduce
           : isa<ir::ReduceScatterOp>(collective)
               ? exec::CollectiveKind::reduce_scatter
               : exec::CollectiveKind::all_gather;
  }

  static void writeScan(OpBuilder &builder, const Command &command,
                        ArrayRef<Value> reads, ArrayRef<Value> writes) {
    ir::ScanCallOp scan = command.scan;
    builder.create<exec::ScanOp>(
        command.loc, scan.getBodyAttr(), scan.getTripsAttr(),
        scan.getReverseAttr(), reads, writes.drop_back(), writes.back(),
        command.body->scanInputs, command.body->scanOutputs);
  }

  const CommandGraph &graph;
  const Plan &plan;
  const ProgramLayout &layout;
  KernelPool &kernels;
  std::vector<Value> values; // by buffer
  int64_t links = 0;         // of the chain, before the command that is written
  llvm::DenseMap<Operation *, unsigned> events; // by collective
};

class PlanMemory : public impl::PlanMemoryBase<PlanMemory> {
public:
  using PlanMemoryBase::PlanMemoryBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::StringMap<unsigned> states;
    for (auto state : module.getOps<ir::StateOp>())
      states.insert({state.getSymName(), static_cast<unsigned>(states.size())});
    SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
    if (functions.empty())
      return;
    if (failed(checkGradientStream()))
      return signalPassFailure();
    SymbolTable symbols(module);
    ConstantPool constants;
    KernelPool kernels(OpBuilder(functions.front()), symbols);
    // Private functions are parts of other functions, or bodies of scans.
    for (func::FuncOp func : functions)
      if (!func.isPrivate() &&
          failed(planFunction(func, constants, kernels, states)))
        return signalPassFailure();
    for (auto state : module.getOps<ir::StateOp>())
      if (std::optional<ElementsAttr> init = state.getInit();
          init && !isAllZeros(*init))
        constants.offsetOf(*init);
    OpBuilder builder(functions.front());
    if (kernels.size() > 0)
      builder.setInsertionPoint(*module.getOps<exec::KernelOp>().begin());
    constants.emit(builder, module.getLoc());
    for (func::FuncOp func : functions)
      func.erase();
  }

private:
  LogicalResult planFunction(func::FuncOp func, ConstantPool &constants,
                             KernelPool &kernels,
                             const llvm::StringMap<unsigned> &states) {
    FailureOr<CommandGraph> graph =
        CommandGraph::build(func, constants, states);
    if (failed(graph))
      return failure();
    // Those of the CPU.
    graph->addsInPlace = hasStreams(graph->devices).flip();
    llvm::DenseMap<const PlannedBody *, exec::ProgramOp> bodies;
    for (const Command &command : graph->commands)
      if (command.scan) {
        FailureOr<exec::ProgramOp> body = writeBody(*command.body, kernels);
        if (failed(body))
          return failure();
        bodies[command.body.get()] = *body;
      }
    if (chains && graph->devices.size() == 1 &&
        hasStreams(graph->devices).none())
      chainConvolutions(*graph);
    unsigned moved = moveGradients(*graph);
    auto [plan, layout] = moved ? choosePlanWithSlack(*graph, growth)
                                : choosePlan(*graph, growth);
    FailureOr<exec::ProgramOp> program =
        writeProgram(func, *graph, plan, layout, kernels);
    if (failed(program))
      return failure();
    explainProgram({*program, *graph, plan, layout}, bodies);
    if (gradientStream != "off")
      ir::remark("plan-memory", "gradient-stream", func.getLoc(),
                 "@" + func.getSymName() + ": " + Twine(moved) +
                     " gradients of weights are computed beside the others, "
                     "which wait for them " +
                     Twine(countWaits(func->getBlock()->back())) + " times",
                 moved);
    return success();
  }

  /// The body of a scan becomes a private program.
  static FailureOr<exec::ProgramOp> writeBody(const PlannedBody &body,
                                              KernelPool &kernels) {
    FailureOr<exec::ProgramOp> program =
        writeProgram(body.function, body.graph, body.program.plan,
                     body.program.layout, kernels);
    if (succeeded(program))
      SymbolTable::setSymbolVisibility(*program,
                                       SymbolTable::Visibility::Private);
    return program;
  }

  /// Appends the program of `func` to the module.
  static FailureOr<exec::ProgramOp>
  writeProgram(func::FuncOp func, const CommandGraph &graph, const Plan &plan,
               const ProgramLayout &layout, KernelPool &kernels) {
    int64_t arenaBytes =
        std::accumulate(layout.bytes.begin(), layout.bytes.end(), int64_t(0));
    int64_t unshared = 0;
    for (const Buffer &buffer : graph.buffers)
      if (buffer.isInArena() && buffer.writer != kNoCommand)
        unshared += exec::alignedBytes(buffer.bytes());
    FailureOr<exec::ProgramOp> program =
        ProgramWriter(graph, plan, layout, kernels)
            .write(OpBuilder::atBlockEnd(func->getBlock()), func, unshared);
    if (failed(program))
      return failure();
    std::string tried;
    for (int64_t bytes : plan.triedBytes)
      tried += " " + std::to_string(bytes);
    ir::remark(
        "plan-memory", "planned", func.getLoc(),
        "@" + func.getSymName() + ": arena " + Twine(arenaBytes) + " bytes, " +
            Twine(plan.maxLiveBytes) + " live at most, " + Twine(unshared) +
            " without sharing, " + Twine(plan.inPlace) +
            " results in place; live at most in the orders tried:" + tried,
        graph.commands.size());
    return program;
  }

  /// Of the compute streams for gradient streams.
  static unsigned countWaits(Operation &program) {
    llvm::DenseSet<int64_t> gradients; // events
    unsigned waits = 0;
    for (Operation &op : cast<exec::ProgramOp>(program).getBody().front()) {
      bool isGradient = exec::placeOf(&op).stream == exec::kGradient;
      if (auto record = dyn_cast<exec::RecordOp>(op); record && isGradient)
        gradients.insert(record.getEvent());
      if (auto wait = dyn_cast<exec::WaitOp>(op); wait && !isGradient)
        waits += gradients.contains(wait.getEvent());
    }
    return waits;
  }

  LogicalResult checkGradientStream() {
    ModuleOp module = getOperation();
    if (gradientStream != "off" && gradientStream != "auto" &&
        gradientStream != "on")
      return emitFailure(module, kUsageFailure)
             << "sinter-plan-memory: gradient-stream=" << gradientStream
             << " is not off, auto or on";
    if (gradientStream == "on" && hasStreams(ir::deviceNames(module)).none())
      return emitFailure(module, kUsageFailure)
             << "--gradient-stream=on: the program is for the CPU, which has "
                "no streams";
    return success();
  }

  /// By device.
  llvm::BitVector hasStreams(ArrayRef<StringRef> devices) const {
    llvm::BitVector result(std::max<size_t>(devices.size(), 1), hasOwnMemory);
    for (auto [number, name] : llvm::enumerate(devices))
      if (!name.empty())
        result[number] = !ir::isHostDevice(name);
    return result;
  }

  /// Returns the number of gradients on a stream of their own.
  unsigned moveGradients(CommandGraph &graph) const {
    if (gradientStream == "off")
      return 0;
    // A product of fewer multiply-adds takes about as long as the wait of one
    // stream for the other and the launch after it.
    constexpr double kLeastMultiplyAdds = 1 << 24;
    return useGradientStream(graph, hasStreams(graph.devices),
                             gradientStream == "auto" ? kLeastMultiplyAdds : 0);
  }
};

} // namespace
} // namespace sinter::passes
