//===- Devices.h - on which device a value is -------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Placement is written into the program by `sinter.copy` and by the devices of
// states alone: an op runs where its operands are. So rewrites need not know of
// it, and cannot undo it.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_PASSES_PLACE_DEVICES_H
#define SINTER_PASSES_PLACE_DEVICES_H

#include "ir/Dialect.h"

#include "mlir/IR/SymbolTable.h"

#include <optional>

namespace sinter::passes {

/// The devices of the values of one placed function. Inputs count as those of
/// device 0; constants, control fields, and what is computed from them alone
/// are on every device. What is in the body of an op is where that op is.
class DeviceMap {
public:
  explicit DeviceMap(mlir::func::FuncOp func) : func(func) {}

  /// Nothing for what is on every device.
  std::optional<int64_t> of(mlir::Value value);
  std::optional<int64_t> of(mlir::Operation *op);
  /// For an op that the function got since.
  void set(mlir::Operation *op, std::optional<int64_t> device) {
    ops[op] = device;
  }

private:
  mlir::func::FuncOp func;
  llvm::DenseMap<mlir::Operation *, std::optional<int64_t>> ops;
};

/// Where the state lies whose old value the function's argument `number` is;
/// nothing for a control field, 0 for an input.
std::optional<int64_t> deviceOfArgument(mlir::func::FuncOp func,
                                        unsigned number);
/// The device that result `number` must be computed on: that of its state;
/// nothing for an output.
std::optional<int64_t> deviceOfResult(mlir::func::FuncOp func, unsigned number);
/// The state whose new value result `number` of `func` is, or whose old one
/// argument `number` is; null for others.
ir::StateOp stateOfResult(mlir::func::FuncOp func, unsigned number);
ir::StateOp stateOfArgument(mlir::func::FuncOp func, unsigned number);

} // namespace sinter::passes

#endif // SINTER_PASSES_PLACE_DEVICES_H
