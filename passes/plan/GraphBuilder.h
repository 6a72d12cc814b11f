//===- GraphBuilder.h - a fused function becomes commands -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Internal to CommandGraph::build.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLAN_GRAPHBUILDER_H
#define SINTER_PASSES_PLAN_GRAPHBUILDER_H

#include "passes/plan/ScanBody.h"

#include "llvm/ADT/StringMap.h"

namespace sinter::passes::plan {

/// Builds the graph of one function.
class GraphBuilder {
public:
  GraphBuilder(mlir::func::FuncOp func, ConstantPool &pool,
               const llvm::StringMap<unsigned> &states, ir::ScanCallOp caller)
      : func(func), context(func.getContext()), pool(pool), states(states),
        caller(caller) {
    auto module = func->getParentOfType<mlir::ModuleOp>();
    for (auto state : module.getOps<ir::StateOp>())
      deviceOfState.push_back(ir::deviceNumber(state));
    for (llvm::StringRef name : ir::deviceNames(module))
      graph.devices.push_back(name);
    if (graph.devices.empty())
      graph.devices.push_back("");
  }

  mlir::LogicalResult run();
  Order possibleOrder() const;
  CommandGraph take();

private:
  struct StateUpdate {
    unsigned state, value; // number; buffer with the new value
    mlir::RankedTensorType type;
    mlir::Location loc;
  };

  mlir::LogicalResult addArgument(unsigned number);
  mlir::LogicalResult addOp(mlir::Operation &op);
  void addAlias(mlir::Operation &op);
  void addCollective(ir::CollectiveOpInterface op);
  mlir::LogicalResult addCall(mlir::func::CallOp call);
  mlir::LogicalResult addScan(ir::ScanCallOp scan);
  void addTransfer(ir::CopyOp copy);
  void addOutput(mlir::StringAttr name, unsigned buffer,
                 mlir::RankedTensorType type, mlir::Location loc,
                 bool isAligned = true);
  mlir::LogicalResult addResults();
  void addBodyResults();

  unsigned addBuffer(mlir::RankedTensorType type, mlir::Location loc,
                     exec::SliceAttr slice = {}) {
    graph.buffers.push_back(
        {type, loc, slice, {}, kNoCommand, kNoCommand, {}, device});
    return graph.buffers.size() - 1;
  }
  /// Adds the buffer of a state, on the device of the state.
  unsigned addStateBuffer(const StateUpdate &update) {
    unsigned buffer = addBuffer(update.type, update.loc, stateSlice(update));
    graph.buffers[buffer].device = deviceOfState[update.state];
    return buffer;
  }
  unsigned addCommand(Command command);
  unsigned addCopy(unsigned from, unsigned to, mlir::Location loc);
  bool isHost(int64_t device) const {
    return ir::isHostDevice(graph.devices[device]);
  }
  exec::SliceAttr slice(exec::Space space, int64_t index, int64_t offset,
                        mlir::Type type) {
    return exec::SliceAttr::get(context, space, index, offset,
                                exec::sizeBytes(type));
  }
  exec::SliceAttr stateSlice(const StateUpdate &update) {
    return slice(exec::Space::state, update.state, 0, update.type);
  }
  /// The commands that read the value that `state` has when the program starts.
  llvm::ArrayRef<unsigned> oldReaders(unsigned state) const {
    auto it = oldValue.find(state);
    return it == oldValue.end() ? llvm::ArrayRef<unsigned>()
                                : graph.buffers[it->second].readers;
  }
  void addUpdates();
  /// An output is written on the device of its value.
  void addOutputCopy(unsigned buffer, mlir::RankedTensorType type,
                     mlir::Location loc, exec::SliceAttr output) {
    unsigned to = addBuffer(type, loc, output);
    if (!graph.buffers[buffer].isEverywhere())
      graph.buffers[to].device = graph.buffers[buffer].device;
    addCopy(buffer, to, loc);
  }
  bool updateInPlace(const StateUpdate &update);
  unsigned addUpdateCopy(const StateUpdate &update) {
    return addCopy(update.value, addStateBuffer(update), update.loc);
  }
  void orderCopy(const StateUpdate &update, unsigned copy);

  mlir::func::FuncOp func;
  mlir::MLIRContext *context;
  ConstantPool &pool;
  const llvm::StringMap<unsigned> &states;
  ir::ScanCallOp caller; // whose body this is; null for other functions
  CommandGraph graph;
  DynamicOrder order;
  llvm::DenseMap<mlir::Value, unsigned> bufferOf;
  /// Commands that the readers of a value wait for, besides its own.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned, 4>> mustPrecede;
  llvm::DenseMap<unsigned, unsigned> oldValue; // state -> buffer
  llvm::SmallVector<StateUpdate> updates;
  llvm::SmallVector<unsigned> deviceOfState;
  unsigned device = 0; // that of the ops being added
};

} // namespace sinter::passes::plan

#endif // SINTER_PASSES_PLAN_GRAPHBUILDER_H
