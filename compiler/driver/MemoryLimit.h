//===- MemoryLimit.h - memory of a planned program --------------*- C++ -*-===//
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
  /// Whether --memory-limit applies: in a program with a GPU it applies to each
  /// GPU, and data on the CPU does not count.
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

/// Whether scratch memory on the CPU is bounded: only if a limit applies to the
/// CPU's memory, or --workspace is given.
bool promisesCpuWorkspace(mlir::ModuleOp module, const Options &options,
                          llvm::StringRef otherwise);

/// "cpu: 1.23 GiB: arena 1.00 GiB, states 230.00 MiB".
std::string memoryText(const DeviceMemory &memory);

/// "" if every limited device keeps to the limit. Otherwise one line about the
/// first that does not: the memory it needs, the largest values at its peak by
/// node, the smallest limit that fits, and the text of `batchesThatFit`
/// for this batch.
std::string
whyTooLarge(mlir::ModuleOp module, const Options &options,
            llvm::ArrayRef<DeviceMemory> devices,
            const std::function<std::string(int64_t)> &batchesThatFit);

/// The leading dimension of the first input of the largest program of `module`;
/// 0 if there is none.
int64_t batchOf(mlir::ModuleOp module);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_MEMORYLIMIT_H
