//===- TrainingSlots.h - states that training adds --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Used by the parts of the train phase (Training*.cpp) and by BuildTraining.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_TRAIN_TRAININGSLOTS_H
#define SINTER_PASSES_TRAIN_TRAININGSLOTS_H

#include "passes/train/Training.h"

namespace sinter::passes {

/// Adds states to the module and to the arguments of one function, @step, @grad
/// or @apply.
class SlotTable {
public:
  explicit SlotTable(mlir::func::FuncOp step)
      : step(step), module(step->getParentOfType<mlir::ModuleOp>()),
        symbols(module) {}

  /// Declares a new slot and returns it with its value before the step. `of` is
  /// the parameter, null for a slot of the whole program. `init` null: zeros.
  std::pair<ir::StateOp, mlir::Value> add(llvm::StringRef slot,
                                          mlir::RankedTensorType type,
                                          ir::StateOp of,
                                          mlir::ElementsAttr init = nullptr) {
    ir::StateOp state = declare(slot, type, of, init);
    return {state, argument(state)};
  }

  /// Declares a new state after the existing ones.
  ir::StateOp declare(llvm::StringRef slot, mlir::RankedTensorType type,
                      ir::StateOp of, mlir::ElementsAttr init = nullptr,
                      ir::StateRole role = ir::StateRole::slot) {
    using namespace mlir;
    using namespace ir;
    OpBuilder builder(module.getContext());
    StateOp last;
    for (auto state : module.getOps<StateOp>())
      last = state;
    if (last)
      builder.setInsertionPointAfter(last);
    else
      builder.setInsertionPointToStart(module.getBody());
    std::string name = slot.str() + (of ? "/" + of.getSymName().str() : "");
    while (symbols.lookup(name))
      name = "optimizer/" + name;
    auto state = builder.create<StateOp>(
        of ? of.getLoc() : step.getLoc(), name, type, role, init,
        /*trainable=*/false, builder.getStringAttr(slot),
        of ? FlatSymbolRefAttr::get(of) : nullptr,
        /*onnx=*/nullptr,
        /*reason=*/StringAttr(), /*aliases=*/ArrayAttr(),
        /*part_of=*/TypeAttr());
    symbols.insert(state, Block::iterator(state));
    return state;
  }

  /// The value of `state` before the step: a new argument, before the control
  /// fields.
  mlir::Value argument(ir::StateOp state) {
    using namespace mlir;
    using namespace ir;
    OpBuilder builder(module.getContext());
    unsigned index = 0;
    while (index < step.getNumArguments() &&
           !step.getArgAttr(index, SinterDialect::kControlAttr))
      ++index;
    auto attribute = builder.getNamedAttr(SinterDialect::kStateAttr,
                                          FlatSymbolRefAttr::get(state));
    step.insertArgument(index, state.getType(),
                        builder.getDictionaryAttr(attribute), state.getLoc());
    return step.getArgument(index);
  }

private:
  mlir::func::FuncOp step;
  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
};

} // namespace sinter::passes

#endif // SINTER_PASSES_TRAIN_TRAININGSLOTS_H
