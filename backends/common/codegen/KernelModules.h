//===- KernelModules.h - kernels lowered to the LLVM dialect ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Each kernel gets a module of its own. MLIR lowers the modules in parallel;
// several threads, each with its own LLVMContext, then make code of them. The
// bytes do not depend on the number of threads.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_COMMON_CODEGEN_KERNELMODULES_H
#define SINTER_BACKENDS_COMMON_CODEGEN_KERNELMODULES_H

#include "backends/common/codegen/NarrowFloats.h"
#include "ir/exec/Exec.h"
#include "passes/Target.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"

namespace sinter::codegen {

class KernelModules {
public:
  /// Emits a kernel into an empty module.
  using Emit = llvm::function_ref<mlir::LogicalResult(exec::KernelOp kernel,
                                                      mlir::ModuleOp module)>;
  /// What a target adds to the pipeline of each module.
  struct Pipeline {
    /// Adds passes that rewrite arithmetic which the target lacks; may be null.
    llvm::function_ref<void(mlir::OpPassManager &)> expand = nullptr;
    /// Whether vectors are lowered before loops become blocks.
    bool isVectorFirst = false;
    NarrowInstructions narrow = {};
  };

  /// Emits every exec.kernel of `module`, and lowers all of them.
  static mlir::FailureOr<KernelModules> lower(mlir::ModuleOp module, Emit emit,
                                              const Pipeline &pipeline);

  size_t size() const { return modules_.size(); }
  /// The name of a kernel.
  llvm::StringRef name(size_t number) const {
    return mlir::ModuleOp(modules_[number]).getSymName().value_or("");
  }
  /// Calls `use` for each module, on as many threads as `options` say, and
  /// reports its time.
  void forEach(const passes::CodeGenOptions &options,
               llvm::function_ref<void(size_t number, mlir::ModuleOp)> use);

private:
  KernelModules() = default;
  mlir::OwningOpRef<mlir::ModuleOp> all_;
  llvm::SmallVector<mlir::ModuleOp> modules_; // in all_
};

} // namespace sinter::codegen

#endif // SINTER_BACKENDS_COMMON_CODEGEN_KERNELMODULES_H
