//===- Lowering.cpp - kernels to LLVM modules -----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// As for the CPU, each kernel gets its own module. MLIR lowers the modules in
// parallel; several threads, each with its own LLVMContext, then optimise and
// emit them. The bytes do not depend on the number of threads.
//
//===----------------------------------------------------------------------===//
#include "backends/gpu/codegen/Lowering.h"
#include "backends/common/codegen/NarrowFloats.h"
#include "backends/common/codegen/X86Object.h"
#include "backends/gpu/codegen/KernelEmitter.h"
#include "passes/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;

namespace sinter::gpu {
namespace {

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

/// Compiles one kernel for every architecture; fewer results on failure.
std::vector<std::string> compile(ModuleOp kernel, const Vendor &vendor,
                                 ArrayRef<unsigned> archs,
                                 const passes::CodeGenOptions &options,
                                 const KernelBackend &backend) {
  std::vector<std::string> results;
  for (unsigned arch : archs) {
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> module =
        translateModuleToLLVMIR(kernel, context);
    std::unique_ptr<llvm::TargetMachine> machine =
        vendor.createMachine(arch, options.optLevel);
    if (!module || !machine)
      return results;
    module->setTargetTriple(machine->getTargetTriple().str());
    module->setDataLayout(machine->createDataLayout());
    codegen::optimizeModule(*module, *machine, options.optLevel);
    std::optional<std::string> result = backend(*module, arch);
    vendor.forget(*module);
    if (!result)
      return results;
    results.push_back(std::move(*result));
  }
  return results;
}

} // namespace

Vendor::~Vendor() = default;

FailureOr<std::vector<std::vector<std::string>>>
lowerKernels(ModuleOp module, const Vendor &vendor, ArrayRef<unsigned> archs,
             const passes::CodeGenOptions &options,
             const KernelBackend &backend) {
  MLIRContext *context = module.getContext();
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);
  context->loadDialect<arith::ArithDialect, cf::ControlFlowDialect,
                       LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect,
                       vector::VectorDialect>();
  vendor.loadDialects(*context);

  OwningOpRef<ModuleOp> kernels = ModuleOp::create(UnknownLoc::get(context));
  OpBuilder builder = OpBuilder::atBlockEnd(kernels->getBody());
  SmallVector<ModuleOp> modules;
  for (auto kernel : module.getOps<exec::KernelOp>()) {
    auto kernelModule =
        builder.create<ModuleOp>(kernel.getLoc(), kernel.getSymName());
    if (failed(emitKernel(kernel, kernelModule, vendor.intrinsics())))
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
      byKernel[number] = compile(kernelModule, vendor, archs, options, backend);
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

} // namespace sinter::gpu
