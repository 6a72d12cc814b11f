//===- Lowering.cpp - kernels to x86-64 objects ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Each kernel gets its own module. MLIR lowers the modules in parallel; several
// threads, each with its own LLVMContext, then optimise and emit them. The
// bytes do not depend on the number of threads.
//
//===----------------------------------------------------------------------===//
#include "backends/cpu/codegen/Lowering.h"
#include "backends/common/codegen/NarrowFloats.h"
#include "backends/common/codegen/X86Object.h"
#include "backends/cpu/codegen/ExpandRounding.h"
#include "backends/cpu/codegen/KernelEmitter.h"
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
#include "llvm/IR/Module.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;

namespace sinter::cpu {
namespace {

void buildKernelPipeline(OpPassManager &manager, const Machine &machine) {
  OpPassManager &kernel = manager.nest<ModuleOp>();
  kernel.addPass(passes::createExpandMath());
  kernel.addPass(codegen::createExpandNarrowFloats());
  if (!machine.features.contains("+sse4.1"))
    kernel.addPass(createExpandRounding());
  kernel.addPass(createCSEPass());
  kernel.addPass(createLoopInvariantCodeMotionPass());
  kernel.addPass(createConvertSCFToCFPass());
  kernel.addPass(createConvertVectorToLLVMPass());
  kernel.addPass(createConvertMathToLLVMPass());
  kernel.addPass(createArithToLLVMConversionPass());
  kernel.addPass(createConvertControlFlowToLLVMPass());
  kernel.addPass(createReconcileUnrealizedCastsPass());
}

/// One kernel's object, or its optimised LLVM IR as text. Nothing on failure.
std::optional<std::string> compile(ModuleOp kernel, const Machine &machine,
                                   const passes::CodeGenOptions &options) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(kernel, context);
  std::unique_ptr<llvm::TargetMachine> target =
      codegen::createX86Machine(machine.features, options.optLevel);
  if (!module || !target)
    return std::nullopt;
  codegen::prepareForX86(*module, *target, machine.features);
  codegen::optimizeModule(*module, *target, options.optLevel);
  if (options.form != passes::CodeForm::Machine) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module->print(stream, nullptr);
    return text;
  }
  return codegen::emitX86Object(*module, *target);
}

} // namespace

FailureOr<passes::TargetCode>
lowerKernels(ModuleOp module, const Machine &machine,
             const passes::CodeGenOptions &options) {
  MLIRContext *context = module.getContext();
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);
  context->loadDialect<arith::ArithDialect, cf::ControlFlowDialect,
                       LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect,
                       vector::VectorDialect>();

  OwningOpRef<ModuleOp> kernels = ModuleOp::create(UnknownLoc::get(context));
  OpBuilder builder = OpBuilder::atBlockEnd(kernels->getBody());
  SmallVector<ModuleOp> modules;
  for (auto kernel : module.getOps<exec::KernelOp>()) {
    auto kernelModule =
        builder.create<ModuleOp>(kernel.getLoc(), kernel.getSymName());
    FailureOr<int64_t> tiles = emitKernel(kernel, kernelModule, machine.lanes);
    if (failed(tiles))
      return failure();
    kernel.setTiles(*tiles);
    modules.push_back(kernelModule);
  }
  PassManager manager(context);
  buildKernelPipeline(manager, machine);
  if (failed(manager.run(*kernels)))
    return failure();

  std::vector<std::optional<std::string>> outputs(modules.size());
  llvm::DefaultThreadPool pool(
      llvm::hardware_concurrency(std::max(1u, options.threads)));
  for (auto [number, kernelModule] : llvm::enumerate(modules))
    pool.async([&, number = number, kernelModule = kernelModule] {
      outputs[number] = compile(kernelModule, machine, options);
    });
  pool.wait();

  passes::TargetCode code;
  code.features = machine.features.str();
  for (auto [number, output] : llvm::enumerate(outputs)) {
    if (!output)
      return module.emitError("internal: no machine code for kernel ")
             << modules[number].getSymName().value_or("");
    if (options.form != passes::CodeForm::Machine)
      code.text += *output;
    else
      code.objects.push_back(std::move(*output));
  }
  return code;
}

} // namespace sinter::cpu
