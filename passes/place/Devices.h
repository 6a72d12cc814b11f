//===- Devices.h - on which device a value is -------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Only `sinter.copy` and the devices of states record the placement in the
// program: an op runs where its operands are. So rewrites need not know of the
// placement, and cannot undo it. Used by every pass after placement that needs
// the device of an op.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLACE_DEVICES_H
#define SINTER_PASSES_PLACE_DEVICES_H

#include "ir/Dialect.h"

#include "mlir/IR/SymbolTable.h"

#include <optional>

namespace sinter::passes {

/// The devices of the values of one placed function. Inputs count as being on
/// device 0. Constants, control fields, and values that are computed from these
/// alone are on every device. The body of an op is on the device of the op.
class DeviceMap {
public:
  explicit DeviceMap(mlir::func::FuncOp func) : func(func) {}

  /// Nothing for a value or op that is on every device.
  std::optional<int64_t> of(mlir::Value value);
  std::optional<int64_t> of(mlir::Operation *op);
  /// Sets the device of an op that was added to the function.
  void set(mlir::Operation *op, std::optional<int64_t> device) {
    ops[op] = device;
  }

private:
  mlir::func::FuncOp func;
  llvm::DenseMap<mlir::Operation *, std::optional<int64_t>> ops;
};

/// The device of argument `number`: that of its state; nothing for a control
/// field, 0 for an input.
std::optional<int64_t> deviceOfArgument(mlir::func::FuncOp func,
                                        unsigned number);
/// The device that result `number` must be computed on: that of its state;
/// nothing for an output.
std::optional<int64_t> deviceOfResult(mlir::func::FuncOp func, unsigned number);
/// The state of which result `number` of `func` is the new value, or argument
/// `number` the old one; null for other results and arguments.
ir::StateOp stateOfResult(mlir::func::FuncOp func, unsigned number);
ir::StateOp stateOfArgument(mlir::func::FuncOp func, unsigned number);

} // namespace sinter::passes

#endif // SINTER_PASSES_PLACE_DEVICES_H
