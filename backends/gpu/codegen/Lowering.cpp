//===- Lowering.cpp - kernels to LLVM modules -----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Adds a vendor's machines to the shared lowering of kernels (KernelModules.h).
//
//===----------------------------------------------------------------------===//
#include "backends/gpu/codegen/Lowering.h"
#include "backends/common/codegen/KernelModules.h"
#include "backends/common/codegen/OptimizeModule.h"
#include "backends/gpu/codegen/KernelEmitter.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;

namespace sinter::gpu {
namespace {

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
    vendor.adapt(*module, arch);
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
  vendor.loadDialects(*module.getContext());
  auto emit = [&](exec::KernelOp kernel, ModuleOp kernelModule) {
    return emitKernel(kernel, kernelModule, vendor.intrinsics(),
                      options.hasWideCounts);
  };
  codegen::NarrowInstructions narrow;
  if (vendor.intrinsics().roundsPairs())
    narrow.roundPair = [&](OpBuilder &b, Location loc, Type element, Value low,
                           Value high) {
      return vendor.intrinsics().roundPair(b, loc, element, low, high);
    };
  // Vectors must be lowered before there are blocks: the greedy driver of that
  // pass merges equal blocks of different parts and gets the types of their
  // arguments wrong.
  FailureOr<codegen::KernelModules> kernels = codegen::KernelModules::lower(
      module, emit, {.isVectorFirst = true, .narrow = std::move(narrow)});
  if (failed(kernels))
    return failure();
  std::vector<std::vector<std::string>> byKernel(kernels->size());
  kernels->forEach(options, [&](size_t number, ModuleOp kernel) {
    byKernel[number] = compile(kernel, vendor, archs, options, backend);
  });

  std::vector<std::vector<std::string>> byArch(archs.size());
  for (auto [number, results] : llvm::enumerate(byKernel)) {
    if (results.size() != archs.size())
      return module.emitError("internal: no machine code for kernel ")
             << kernels->name(number);
    for (auto [code, result] : llvm::zip_equal(byArch, results))
      code.push_back(std::move(result));
  }
  if (llvm::none_of(
          archs, [&](unsigned arch) { return vendor.waitsForLaunches(arch); }))
    for (auto kernel : module.getOps<exec::KernelOp>())
      kernel->removeAttr(passes::kWaitsAttr);
  return byArch;
}

} // namespace sinter::gpu
