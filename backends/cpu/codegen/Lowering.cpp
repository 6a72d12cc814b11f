//===- Lowering.cpp - kernels to x86-64 objects ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Adds x86-64 to the shared lowering of kernels (KernelModules.h).
//
//===----------------------------------------------------------------------===//
#include "backends/cpu/codegen/Lowering.h"
#include "backends/common/codegen/KernelModules.h"
#include "backends/common/codegen/OptimizeModule.h"
#include "backends/common/codegen/X86Object.h"
#include "backends/cpu/codegen/ExpandRounding.h"
#include "backends/cpu/codegen/KernelEmitter.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;

namespace sinter::cpu {
namespace {

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
  auto emit = [&](exec::KernelOp kernel, ModuleOp kernelModule) {
    FailureOr<int64_t> tiles = emitKernel(kernel, kernelModule, machine.lanes);
    if (succeeded(tiles))
      kernel.setTiles(*tiles);
    return LogicalResult(tiles);
  };
  auto expand = [&](OpPassManager &kernel) {
    if (!machine.features.contains("+sse4.1"))
      kernel.addPass(createExpandRounding());
  };
  FailureOr<codegen::KernelModules> kernels =
      codegen::KernelModules::lower(module, emit, {.expand = expand});
  if (failed(kernels))
    return failure();
  std::vector<std::optional<std::string>> outputs(kernels->size());
  kernels->forEach(options, [&](size_t number, ModuleOp kernel) {
    outputs[number] = compile(kernel, machine, options);
  });

  passes::TargetCode code;
  code.features = machine.features.str();
  for (auto [number, output] : llvm::enumerate(outputs)) {
    if (!output)
      return module.emitError("internal: no machine code for kernel ")
             << kernels->name(number);
    if (options.form != passes::CodeForm::Machine)
      code.text += *output;
    else
      code.objects.push_back(std::move(*output));
  }
  return code;
}

} // namespace sinter::cpu
