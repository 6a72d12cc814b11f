//===- DeviceNeeds.h - what a program takes of each device ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DEVICENEEDS_H
#define SINTER_COMPILER_DEVICENEEDS_H

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace sinter::compiler {

/// Bytes that a planned program takes on one of its devices, as the runtime
/// allocates them: the largest arena of its entries, and, on a device with
/// memory of its own, the constants that its commands read and two sets of
/// inputs with one of outputs. A library's workspace comes on top.
struct DeviceNeeds {
  std::string device; // "sim:1"
  int64_t arena = 0, states = 0, constants = 0, inputs = 0;
  int64_t total() const { return arena + states + constants + inputs; }
};

/// In the order of the program's devices, the first of which is of `kind`; none
/// for one that is not planned.
std::vector<DeviceNeeds> deviceNeeds(mlir::ModuleOp module,
                                     llvm::StringRef kind);

/// One line per GPU that needs more than `limit` bytes, with its largest
/// values.
std::vector<std::string> aboveLimit(mlir::ModuleOp module, llvm::StringRef kind,
                                    int64_t limit);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DEVICENEEDS_H
