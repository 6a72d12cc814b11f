//===- Lowering.h - kernels to LLVM modules ---------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_GPU_CODEGEN_LOWERING_H
#define SINTER_BACKENDS_GPU_CODEGEN_LOWERING_H

#include "backends/gpu/codegen/Intrinsics.h"
#include "passes/Target.h"

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <functional>

namespace sinter::gpu {

/// What lowering needs to know of one vendor's GPUs. Called from several
/// threads.
class Vendor {
public:
  virtual ~Vendor();

  virtual const Intrinsics &intrinsics() const = 0;
  /// Loads the dialects of the ops that `intrinsics` emits, with their
  /// translation to LLVM IR.
  virtual void loadDialects(mlir::MLIRContext &context) const = 0;
  /// The machine that LLVM generates code for; null if this build has no code
  /// generator for it.
  virtual std::unique_ptr<llvm::TargetMachine>
  createMachine(unsigned arch, unsigned optLevel) const = 0;
  /// Removes from one kernel's module, before it is optimised, what `arch` does
  /// not have.
  virtual void adapt(llvm::Module &, unsigned arch) const { (void)arch; }
  /// Whether kernels of `arch` contain Intrinsics::waitForLaunches.
  virtual bool waitsForLaunches(unsigned arch) const {
    (void)arch;
    return false;
  }
  /// Called before `module` is destroyed.
  virtual void forget(const llvm::Module &) const {}
};

/// Compiles one kernel's LLVM module for `arch`, an architecture of the vendor;
/// nothing on failure. The module is optimised and has the data layout of the
/// vendor's machine. Called from several threads, for a module each.
using KernelBackend =
    std::function<std::optional<std::string>(llvm::Module &, unsigned arch)>;

/// Emits every exec.kernel of `module`, sets its launch shape, and passes its
/// code to `backend` once per architecture. Returns the results of `backend`,
/// by architecture and then by kernel.
mlir::FailureOr<std::vector<std::vector<std::string>>> lowerKernels(
    mlir::ModuleOp module, const Vendor &vendor, llvm::ArrayRef<unsigned> archs,
    const passes::CodeGenOptions &options, const KernelBackend &backend);

} // namespace sinter::gpu

#endif // SINTER_BACKENDS_GPU_CODEGEN_LOWERING_H
