//===- Nvptx.cpp - LLVM's code generator for NVIDIA GPUs ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/cuda/codegen/Nvptx.h"
#include "backends/common/codegen/OptimizeModule.h"
#include "backends/cuda/codegen/LaunchWaits.h"
#include "backends/cuda/codegen/NvvmIntrinsics.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"

#include <mutex>

using namespace mlir;

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace llvm {
// Defined in the NVPTX backend, which caches a module's annotations by the
// module's address and drops them only after it printed PTX. Without this call
// the next module at that address would get the block size of this one.
void clearAnnotationCache(const Module *module);
} // namespace llvm

namespace sinter::cuda {
namespace {

constexpr llvm::StringLiteral kTriple = "nvptx64-nvidia-cuda";
/// The first PTX version that allows parameters of more than 4 KiB.
constexpr llvm::StringLiteral kPtxFeature = "+ptx81";
constexpr llvm::StringLiteral kPtxVersion = "8.1";

class Nvidia : public gpu::Vendor {
public:
  const gpu::Intrinsics &intrinsics() const override {
    return nvvmIntrinsics();
  }
  void loadDialects(MLIRContext &context) const override {
    DialectRegistry registry;
    registerNVVMDialectTranslation(registry);
    context.appendDialectRegistry(registry);
    context.loadDialect<NVVM::NVVMDialect>();
  }
  std::unique_ptr<llvm::TargetMachine>
  createMachine(unsigned arch, unsigned optLevel) const override {
    static std::once_flag initialized;
    std::call_once(initialized, [] {
      LLVMInitializeNVPTXTargetInfo();
      LLVMInitializeNVPTXTarget();
      LLVMInitializeNVPTXTargetMC();
      LLVMInitializeNVPTXAsmPrinter();
    });
    std::string error;
    const llvm::Target *target =
        llvm::TargetRegistry::lookupTarget(kTriple.str(), error);
    if (!target)
      return nullptr;
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
    return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
        kTriple, ("sm_" + llvm::Twine(arch)).str(), kPtxFeature, options,
        std::nullopt, std::nullopt, codegen::codeGenLevel(optLevel)));
  }
  void adapt(llvm::Module &module, unsigned arch) const override {
    if (!waitsForLaunches(arch))
      removeLaunchWaits(module);
  }
  bool waitsForLaunches(unsigned arch) const override {
    return arch >= kFirstArchWithWaits;
  }
  void forget(const llvm::Module &module) const override {
    llvm::clearAnnotationCache(&module);
  }
};

} // namespace

const gpu::Vendor &nvidia() {
  static const Nvidia vendor;
  return vendor;
}

std::optional<std::string> toPtx(llvm::Module &module, unsigned arch,
                                 unsigned optLevel) {
  if (nvidia().waitsForLaunches(arch)) {
    if (!waitsBeforeAccesses(module))
      return std::nullopt;
    useCoherentLoads(module);
  }
  std::unique_ptr<llvm::TargetMachine> machine =
      nvidia().createMachine(arch, optLevel);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager emit;
  if (!machine ||
      machine->addPassesToEmitFile(emit, stream, nullptr,
                                   llvm::CodeGenFileType::AssemblyFile))
    return std::nullopt;
  emit.run(module);
  return std::string(bytes.begin(), bytes.end());
}

std::string joinPtx(ArrayRef<std::string> kernels, unsigned arch) {
  std::string text = (".version " + kPtxVersion + "\n.target sm_" +
                      llvm::Twine(arch) + "\n.address_size 64\n")
                         .str();
  // Each module begins with the three lines above.
  constexpr llvm::StringLiteral kLast = ".address_size 64\n";
  for (llvm::StringRef kernel : kernels)
    text += kernel.split(kLast).second;
  return text;
}

} // namespace sinter::cuda
