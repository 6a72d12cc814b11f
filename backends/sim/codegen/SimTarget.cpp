//===- SimTarget.cpp - the simulated CUDA device as a target --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/codegen/SimTarget.h"
#include "backends/cuda/codegen/CudaTarget.h"
#include "backends/cuda/codegen/Nvptx.h"
#include "backends/sim/codegen/Retarget.h"

#include <mutex>

using namespace mlir;

namespace sinter::sim {
namespace {

class SimTarget : public cuda::NvidiaTarget {
public:
  explicit SimTarget(const SimTargetOptions &options)
      : NvidiaTarget(options.libraries), options(options) {}

  StringRef name() const override { return kind().name; }
  passes::DeviceTraits traits() const override { return kind().traits; }

  FailureOr<passes::TargetCode>
  generateKernels(ModuleOp module,
                  const passes::CodeGenOptions &codeGen) const override {
    if (codeGen.form != passes::CodeForm::Machine)
      return kernelText(module, options.arch, codeGen);
    SimOptions simOptions;
    simOptions.optLevel = codeGen.optLevel;
    simOptions.isChecked = options.isChecked;
    simOptions.isMutable = options.isMutable;
    std::mutex mutex;
    std::string why; // the first error
    auto kernels = gpu::lowerKernels(
        module, cuda::nvidia(), options.arch, codeGen,
        [&](llvm::Module &kernel, unsigned) -> std::optional<std::string> {
          llvm::Expected<std::string> object =
              compileForSim(kernel, simOptions);
          if (object)
            return std::move(*object);
          std::lock_guard lock(mutex);
          std::string text = llvm::toString(object.takeError());
          if (why.empty())
            why = text;
          return std::nullopt;
        });
    if (failed(kernels)) {
      if (!why.empty())
        module.emitError(why);
      return failure();
    }
    passes::TargetCode code;
    code.objects = std::move(kernels->front());
    return code;
  }

private:
  SimTargetOptions options;
};

} // namespace

std::unique_ptr<passes::Target>
createSimTarget(const SimTargetOptions &options) {
  return std::make_unique<SimTarget>(options);
}

const passes::DeviceKind &kind() {
  static const passes::DeviceKind kind = [] {
    passes::DeviceTraits traits = cuda::kind().traits;
    traits.maxDevices = 8;
    traits.isSimulated = true;
    traits.hasCubins = false;
    traits.sumsReplicasInOwnOrder = false;
    return passes::DeviceKind{"sim", traits};
  }();
  return kind;
}

} // namespace sinter::sim
