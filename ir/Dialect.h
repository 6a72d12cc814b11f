//===- Dialect.h - the sinter dialect and its ops ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The one header for code that reads or builds sinter IR.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_IR_DIALECT_H
#define SINTER_IR_DIALECT_H

#include "ir/Inference.h"
#include "ir/OpQueries.h"
#include "ir/Tensor.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ir/Dialect.h.inc"
#include "ir/Enums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/Attrs.h.inc"

#include "ir/Interfaces.h.inc"
#include "ir/OpTraits.h"

#define GET_OP_CLASSES
#include "ir/Ops.h.inc"

namespace sinter::ir {

/// The type of `value`, as a ranked tensor type like that of every sinter
/// value.
inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// True when all elements of the constant are equal.
bool isSplatConstant(ConstantOp constant);

/// The names of the devices that the program of `module` spans, by number.
/// Empty if it names none; it then runs on the default device.
llvm::SmallVector<llvm::StringRef> deviceNames(mlir::ModuleOp module);
/// True for the name of the device that works in the host's memory: it has no
/// number, as "cuda:0" has.
inline bool isHostDevice(llvm::StringRef name) { return !name.contains(':'); }
/// How many devices the program of `module` spans; 1 at least.
int64_t numDevices(mlir::ModuleOp module);
/// The `sinter.device` of a state or function.
int64_t deviceNumber(mlir::Operation *op);

/// Whether a tensor of type `rows` is the first rows of one of type `type`, or
/// all of it.
bool hasRowsOf(mlir::RankedTensorType type, mlir::RankedTensorType rows);

} // namespace sinter::ir

#endif // SINTER_IR_DIALECT_H
