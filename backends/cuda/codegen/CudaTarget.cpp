//===- CudaTarget.cpp - NVIDIA GPUs as a target ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/cuda/codegen/CudaTarget.h"
#include "backends/cuda/codegen/Lowering.h"
#include "ir/Dialect.h"
#include "passes/Fusion.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace sinter::cuda {

std::optional<unsigned> parseGpuArch(StringRef name) {
  unsigned arch = 0;
  if (!name.consume_front("sm_") || name.getAsInteger(10, arch))
    return std::nullopt;
  constexpr unsigned known[] = {80, 86, 87, 89, 90};
  return llvm::is_contained(known, arch) ? std::optional(arch) : std::nullopt;
}

passes::Placement GpuTarget::place(Operation *op, std::string &) const {
  if (passes::isLibraryOp(op)) {
    // Libraries have no products of integers but of the narrowest.
    bool isFloat = isa<FloatType>(getElementTypeOrSelf(op->getResult(0)));
    bool isCalled =
        isa<ir::DotGeneralOp>(op) ? libraries.matmul : libraries.conv;
    return isFloat && isCalled ? passes::Placement::Library
                               : passes::Placement::Generated;
  }
  if (isa<ir::ReshapeOp, ir::ConstantOp>(op))
    return passes::Placement::Alias;
  return passes::Placement::Generated;
}

bool GpuTarget::keepsComposite(Operation *op) const {
  return isa<ir::GeluOp>(op);
}

bool GpuTarget::canFuseEpilogue(Operation *contraction, Operation *) const {
  return getElementTypeOrSelf(contraction->getResult(0).getType()).isF32();
}

FailureOr<passes::TargetCode>
GpuTarget::kernelText(ModuleOp module, unsigned arch,
                      const passes::CodeGenOptions &codeGen) const {
  bool isPtx = codeGen.form == passes::CodeForm::Ptx;
  auto kernels = lowerKernels(
      module, arch, codeGen,
      [&](llvm::Module &kernel, unsigned) -> std::optional<std::string> {
        if (isPtx)
          return toPtx(kernel, arch, codeGen.optLevel);
        std::string text;
        llvm::raw_string_ostream stream(text);
        kernel.print(stream, nullptr);
        return text;
      });
  if (failed(kernels))
    return failure();
  passes::TargetCode code;
  code.text = isPtx ? joinPtx(kernels->front(), arch)
                    : llvm::join(kernels->front(), "");
  return code;
}

namespace {

class CudaTarget : public GpuTarget {
public:
  explicit CudaTarget(CudaOptions optionsIn)
      : GpuTarget(optionsIn.libraries), options(std::move(optionsIn)) {}

  StringRef name() const override { return "cuda"; }

  FailureOr<passes::TargetCode>
  generateKernels(ModuleOp module,
                  const passes::CodeGenOptions &codeGen) const override {
    ArrayRef<unsigned> archs = options.archs;
    if (codeGen.form != passes::CodeForm::Machine)
      return kernelText(module, archs.front(), codeGen);
    auto kernels = lowerKernels(module, archs, codeGen,
                                [&](llvm::Module &kernel, unsigned arch) {
                                  return toPtx(kernel, arch, codeGen.optLevel);
                                });
    if (failed(kernels))
      return failure();
    passes::TargetCode code;
    for (auto [arch, list] : llvm::zip_equal(archs, *kernels))
      code.images.push_back({/*isBinary=*/false, arch, joinPtx(list, arch)});
    return code;
  }

private:
  CudaOptions options;
};

} // namespace

std::unique_ptr<passes::Target> createCudaTarget(const CudaOptions &options) {
  return std::make_unique<CudaTarget>(options);
}

} // namespace sinter::cuda
