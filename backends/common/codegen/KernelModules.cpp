//===- KernelModules.cpp - kernels lowered to the LLVM dialect ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/common/codegen/KernelModules.h"
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
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/ThreadPool.h"

#include <chrono>

using namespace mlir;

namespace sinter::codegen {

static void addPasses(OpPassManager &kernel,
                      const KernelModules::Pipeline &pipeline) {
  kernel.addPass(passes::createExpandMath());
  kernel.addPass(createExpandNarrowFloats(pipeline.narrow));
  if (pipeline.expand)
    pipeline.expand(kernel);
  kernel.addPass(createCSEPass());
  kernel.addPass(createLoopInvariantCodeMotionPass());
  if (pipeline.isVectorFirst)
    kernel.addPass(createConvertVectorToLLVMPass());
  kernel.addPass(createConvertSCFToCFPass());
  if (!pipeline.isVectorFirst)
    kernel.addPass(createConvertVectorToLLVMPass());
  kernel.addPass(createConvertMathToLLVMPass());
  kernel.addPass(createArithToLLVMConversionPass());
  kernel.addPass(createConvertControlFlowToLLVMPass());
  kernel.addPass(createReconcileUnrealizedCastsPass());
}

FailureOr<KernelModules> KernelModules::lower(ModuleOp module, Emit emit,
                                              const Pipeline &pipeline) {
  MLIRContext *context = module.getContext();
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);
  context->loadDialect<arith::ArithDialect, cf::ControlFlowDialect,
                       LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect,
                       vector::VectorDialect>();

  KernelModules result;
  result.all_ = ModuleOp::create(UnknownLoc::get(context));
  OpBuilder builder = OpBuilder::atBlockEnd(result.all_->getBody());
  for (auto kernel : module.getOps<exec::KernelOp>()) {
    auto kernelModule =
        builder.create<ModuleOp>(kernel.getLoc(), kernel.getSymName());
    if (failed(emit(kernel, kernelModule)))
      return failure();
    result.modules_.push_back(kernelModule);
  }
  PassManager manager(context);
  addPasses(manager.nest<ModuleOp>(), pipeline);
  if (failed(manager.run(*result.all_)))
    return failure();
  return result;
}

void KernelModules::forEach(const passes::CodeGenOptions &options,
                            llvm::function_ref<void(size_t, ModuleOp)> use) {
  using Clock = std::chrono::steady_clock;
  llvm::DefaultThreadPool pool(
      llvm::hardware_concurrency(std::max(1u, options.threads)));
  for (auto [number, module] : llvm::enumerate(modules_))
    pool.async([&, number = number, module = module] {
      Clock::time_point begin = Clock::now();
      use(number, module);
      std::chrono::duration<double, std::milli> time = Clock::now() - begin;
      if (options.compiled)
        options.compiled(name(number), time.count());
    });
  pool.wait();
}

} // namespace sinter::codegen
