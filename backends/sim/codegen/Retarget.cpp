//===- Retarget.cpp - CUDA kernels as code for x86-64 ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/codegen/Retarget.h"
#include "backends/common/codegen/OptimizeModule.h"
#include "backends/common/codegen/X86Object.h"
#include "backends/sim/codegen/ThreadCode.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace sinter::sim {

// Finds calls that the code generator made of instructions (a 128-bit division,
// a function of libm); otherwise they would fail only on another machine.
static Error checkSymbols(StringRef object, StringRef kernel) {
  static const StringSet<> callable{"memcpy", "memmove", "memset", "fmaf",
                                    "fma"};
  auto file =
      object::ObjectFile::createELFObjectFile(MemoryBufferRef(object, kernel));
  if (!file)
    return file.takeError();
  for (const object::SymbolRef &symbol : (*file)->symbols()) {
    Expected<uint32_t> flags = symbol.getFlags();
    Expected<StringRef> name = symbol.getName();
    if (!flags)
      return flags.takeError();
    if (!name)
      return name.takeError();
    if ((*flags & object::SymbolRef::SF_Undefined) && !name->empty() &&
        !callable.contains(*name))
      return cannot("kernel ", kernel, ": the simulated device has no ", *name);
  }
  return Error::success();
}

// Checks that the thread's small stack (backends/sim/device) cannot overflow.
static Error checkLocalMemory(const Module &module, StringRef kernel) {
  constexpr uint64_t kMostBytes = 32 << 10;
  uint64_t total = 0;
  for (const Instruction &instruction :
       instructions(*module.getFunction(kernel)))
    if (auto *local = dyn_cast<AllocaInst>(&instruction)) {
      std::optional<TypeSize> size =
          local->getAllocationSize(module.getDataLayout());
      if (!size)
        return cannot("kernel ", kernel, ": local memory of unknown size");
      total += size->getFixedValue();
    }
  if (total > kMostBytes)
    return cannot("kernel ", kernel, ": a thread's local memory takes ", total,
                  " bytes; the simulated device has ", kMostBytes);
  return Error::success();
}

/// Whether blocks may synchronise with each other: only through global memory,
/// because each block has its own shared memory.
static bool hasGlobalAtomics(Function &kernel) {
  return any_of(instructions(kernel), [](Instruction &instruction) {
    Value *pointer = nullptr;
    if (auto *update = dyn_cast<AtomicRMWInst>(&instruction))
      pointer = update->getPointerOperand();
    else if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction))
      pointer = exchange->getPointerOperand();
    constexpr unsigned sharedSpace = 3;
    return pointer &&
           pointer->getType()->getPointerAddressSpace() != sharedSpace;
  });
}

Expected<std::string> compileForSim(const Module &kernelModule,
                                    const SimOptions &options) {
  std::unique_ptr<Module> module = CloneModule(kernelModule);
  std::unique_ptr<TargetMachine> machine =
      codegen::createX86Machine(options.features, options.optLevel);
  if (!machine)
    return createStringError("this build has no x86-64 code generator");
  Expected<Function *> kernel = isolateKernel(*module);
  if (!kernel)
    return kernel.takeError();
  ThreadCode code(*module, *kernel);
  std::string name = code.function->getName().str();
  code.recordTexts();
  std::vector<Predicate> predicates;
  if (options.isMutable)
    predicates = findPredicates(*code.function);

  const uint32_t flags =
      (options.isChecked ? SINTER_SIM_CHECKED : 0) |
      (options.isMutable ? SINTER_SIM_MUTABLE : 0) |
      (hasGlobalAtomics(*code.function) ? SINTER_SIM_ATOMICS : 0);

  auto inKernel = [&](Error error) {
    return cannot("kernel ", name, ": ", toString(std::move(error)));
  };
  if (Error error = flattenSpaces(code))
    return inKernel(std::move(error));
  codegen::prepareForX86(*module, *machine, options.features);
  if (Error error = lowerIntrinsics(code))
    return inKernel(std::move(error));
  if (Error error = makeArithmeticExact(code))
    return inKernel(std::move(error));
  routePredicates(code, predicates);
  guardAccesses(code, *machine, options.isChecked);
  code.describe(flags);

  std::string why;
  raw_string_ostream whyStream(why);
  if (verifyModule(*module, &whyStream))
    return cannot("internal: kernel ", name, " for the simulated device: ",
                  StringRef(why).split('\n').first);
  codegen::optimizeModule(*module, *machine, options.optLevel);
  if (Error error = checkLocalMemory(*module, name))
    return error;
  if (options.textOnly) {
    std::string text;
    raw_string_ostream stream(text);
    module->print(stream, nullptr);
    return text;
  }
  std::optional<std::string> object = codegen::emitX86Object(*module, *machine);
  if (!object)
    return cannot("internal: no machine code for kernel ", name);
  if (Error error = checkSymbols(*object, name))
    return error;
  return std::move(*object);
}

} // namespace sinter::sim
