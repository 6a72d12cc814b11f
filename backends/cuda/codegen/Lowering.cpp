//===- Lowering.cpp - kernels to PTX --------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// As for the CPU, each kernel gets its own module. MLIR lowers the modules in
// parallel; several threads, each with its own LLVMContext, then optimise and
// emit them. The bytes do not depend on the number of threads.
//
//===----------------------------------------------------------------------===//
#include "backends/cuda/codegen/Lowering.h"
#include "backends/common/codegen/NarrowFloats.h"
#include "backends/common/codegen/X86Object.h"
#include "backends/cuda/codegen/KernelEmitter.h"
#include "passes/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Target/TargetMachine.h"

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

void buildKernelPipeline(OpPassManager &manager) {
  OpPassManager &kernel = manager.nest<ModuleOp>();
  kernel.addPass(passes::createExpandMath());
  kernel.addPass(codegen::createExpandNarrowFloats());
  kernel.addPass(createCSEPass());
  kernel.addPass(createLoopInvariantCodeMotionPass());
  // Must run before there are blocks: its greedy driver merges equal blocks of
  // different parts and gets the types of their arguments wrong.
  kernel.addPass(createConvertVectorToLLVMPass());
  kernel.addPass(createConvertSCFToCFPass());
  kernel.addPass(createConvertMathToLLVMPass());
  kernel.addPass(createArithToLLVMConversionPass());
  kernel.addPass(createConvertControlFlowToLLVMPass());
  kernel.addPass(createReconcileUnrealizedCastsPass());
}

std::unique_ptr<llvm::TargetMachine> createMachine(unsigned arch,
                                                   unsigned optLevel) {
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

/// Compiles one kernel for every architecture; fewer results on failure.
std::vector<std::string> compile(ModuleOp kernel, ArrayRef<unsigned> archs,
                                 const passes::CodeGenOptions &options,
                                 const KernelBackend &backend) {
  std::vector<std::string> results;
  for (unsigned arch : archs) {
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> module =
        translateModuleToLLVMIR(kernel, context);
    std::unique_ptr<llvm::TargetMachine> machine =
        createMachine(arch, options.optLevel);
    if (!module || !machine)
      return results;
    module->setTargetTriple(kTriple);
    module->setDataLayout(machine->createDataLayout());
    codegen::optimizeModule(*module, *machine, options.optLevel);
    std::optional<std::string> result = backend(*module, arch);
    llvm::clearAnnotationCache(module.get());
    if (!result)
      return results;
    results.push_back(std::move(*result));
  }
  return results;
}

} // namespace

FailureOr<std::vector<std::vector<std::string>>>
lowerKernels(ModuleOp module, ArrayRef<unsigned> archs,
             const passes::CodeGenOptions &options,
             const KernelBackend &backend) {
  MLIRContext *context = module.getContext();
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);
  context->loadDialect<arith::ArithDialect, cf::ControlFlowDialect,
                       LLVM::LLVMDialect, math::MathDialect, NVVM::NVVMDialect,
                       scf::SCFDialect, vector::VectorDialect>();

  OwningOpRef<ModuleOp> kernels = ModuleOp::create(UnknownLoc::get(context));
  OpBuilder builder = OpBuilder::atBlockEnd(kernels->getBody());
  SmallVector<ModuleOp> modules;
  for (auto kernel : module.getOps<exec::KernelOp>()) {
    auto kernelModule =
        builder.create<ModuleOp>(kernel.getLoc(), kernel.getSymName());
    if (failed(emitKernel(kernel, kernelModule)))
      return failure();
    modules.push_back(kernelModule);
  }
  PassManager manager(context);
  buildKernelPipeline(manager);
  if (failed(manager.run(*kernels)))
    return failure();

  std::vector<std::vector<std::string>> byKernel(modules.size());
  llvm::DefaultThreadPool pool(
      llvm::hardware_concurrency(std::max(1u, options.threads)));
  for (auto [number, kernelModule] : llvm::enumerate(modules))
    pool.async([&, number = number, kernelModule = kernelModule] {
      byKernel[number] = compile(kernelModule, archs, options, backend);
    });
  pool.wait();

  std::vector<std::vector<std::string>> byArch(archs.size());
  for (auto [number, results] : llvm::enumerate(byKernel)) {
    if (results.size() != archs.size())
      return module.emitError("internal: no machine code for kernel ")
             << modules[number].getSymName().value_or("");
    for (auto [code, result] : llvm::zip_equal(byArch, results))
      code.push_back(std::move(result));
  }
  return byArch;
}

std::optional<std::string> toPtx(llvm::Module &module, unsigned arch,
                                 unsigned optLevel) {
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(arch, optLevel);
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
