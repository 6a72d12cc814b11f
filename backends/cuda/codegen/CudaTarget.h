//===- CudaTarget.h - NVIDIA GPUs as a target -------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_CODEGEN_CUDATARGET_H
#define SINTER_BACKENDS_CUDA_CODEGEN_CUDATARGET_H

#include "backends/gpu/codegen/GpuTarget.h"

namespace sinter::cuda {

/// Which contractions libraries compute; generated kernels compute the others.
struct LibraryUse {
  bool matmul = true;       // cuBLASLt
  bool conv = true;         // cuDNN; also attention
  bool channelSums = false; // of convolutions, by cuDNN
};

/// Whether programs get machine code besides PTX: only if ptxas is found, or by
/// request.
enum class Cubins { Off, IfFound, On };

struct CudaOptions {
  /// Architectures to generate PTX for, ascending: 80, 90.
  std::vector<unsigned> archs = {80, 90};
  /// Those of them that also get a cubin.
  std::vector<unsigned> cubinArchs = {90};
  Cubins cubins = Cubins::Off;
  LibraryUse libraries;
};

/// "sm_80" as 80; nothing for architectures that LLVM cannot generate PTX for.
/// Newer GPUs run the PTX of older architectures.
std::optional<unsigned> parseGpuArch(llvm::StringRef name);

/// What NVIDIA's libraries compute, for GPUs and for the simulated device.
class NvidiaTarget : public gpu::GpuTarget {
public:
  explicit NvidiaTarget(LibraryUse libraries) : libraries(libraries) {}
  bool keepsComposite(mlir::Operation *op,
                      mlir::FloatType narrow) const override;
  bool canFuseEpilogue(mlir::Operation *contraction,
                       llvm::ArrayRef<passes::PostOp> postOps,
                       mlir::FloatType narrow) const override;

protected:
  bool isCalled(mlir::Operation *contraction) const override;
  /// The kernels of `module` as LLVM IR or PTX for `arch`.
  mlir::FailureOr<passes::TargetCode>
  kernelText(mlir::ModuleOp module, unsigned arch,
             const passes::CodeGenOptions &codeGen) const;

private:
  LibraryUse libraries;
};

/// Null if `options` want cubins and no ptxas can make them; `error` then says
/// why.
std::unique_ptr<passes::Target> createCudaTarget(const CudaOptions &options,
                                                 std::string &error);

/// "cuda".
const passes::DeviceKind &kind();

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_CODEGEN_CUDATARGET_H
