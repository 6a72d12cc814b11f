//===- MemoryLimit.h - what a planned program takes -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_MEMORYLIMIT_H
#define SINTER_COMPILER_DRIVER_MEMORYLIMIT_H

#include "compiler/options/Options.h"
#include "passes/plan/Footprint.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>

namespace sinter::compiler {

/// One device of a planned program.
struct DeviceMemory {
  std::string device;
  passes::plan::Footprint bytes;
  /// Whether --memory-limit is about it: of a program that has a GPU it is for
  /// each GPU, and what lies on the CPU is not counted.
  bool isLimited = true;

  int64_t excess(const Options &options) const {
    return isLimited && options.memoryLimitBytes
               ? bytes.total() - options.memoryLimitBytes
               : 0;
  }
};
/// In the order of the program's devices, the first of which is of `kind`.
std::vector<DeviceMemory> memoryOf(mlir::ModuleOp module,
                                   const Options &options,
                                   llvm::StringRef otherwise);

/// On a CPU scratch is promised only where a limit of its memory or --workspace
/// asks for it.
bool promisesCpuWorkspace(mlir::ModuleOp module, const Options &options,
                          llvm::StringRef otherwise);

/// "cpu: 1.23 GiB: arena 1.00 GiB, states 230.00 MiB".
std::string memoryText(const DeviceMemory &memory);

/// Whether every device that is limited keeps to that; for one that does not,
/// one line with what it needs, the largest values at its peak by ONNX node,
/// the smallest limit that fits and what `batchesThatFit` says of the batch
/// that does not. "" when all fit.
std::string
whyTooLarge(mlir::ModuleOp module, const Options &options,
            llvm::ArrayRef<DeviceMemory> devices,
            const std::function<std::string(int64_t)> &batchesThatFit);

/// The leading dimension of what the largest program of `module` reads; 0
/// where there is none.
int64_t batchOf(mlir::ModuleOp module);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_MEMORYLIMIT_H
