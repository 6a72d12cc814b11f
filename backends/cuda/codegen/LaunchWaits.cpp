//===- LaunchWaits.cpp - kernels that begin before others end -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/cuda/codegen/LaunchWaits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace sinter::cuda {

static bool isInlinePtx(const Instruction &instruction, StringRef text) {
  auto *call = dyn_cast<CallInst>(&instruction);
  auto *assembly =
      call ? dyn_cast<InlineAsm>(call->getCalledOperand()) : nullptr;
  return assembly && StringRef(assembly->getAsmString()) == text;
}

static bool isWait(const Instruction &instruction) {
  return isInlinePtx(instruction, kWaitForLaunches);
}

void removeLaunchWaits(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction :
         make_early_inc_range(instructions(function)))
      if (isWait(instruction) || isInlinePtx(instruction, kLetNextLaunchBegin))
        instruction.eraseFromParent();
}

void useCoherentLoads(Module &module) {
  for (Function &function : module) {
    if (none_of(instructions(function), isWait))
      continue;
    // NVPTX loads by ld.global.nc what these two call constant.
    for (Argument &argument : function.args())
      if (!argument.hasByValAttr())
        argument.removeAttr(Attribute::ReadOnly);
    for (Instruction &instruction : instructions(function))
      if (auto *load = dyn_cast<LoadInst>(&instruction))
        load->setMetadata(LLVMContext::MD_invariant_load, nullptr);
  }
}

/// Whether `instruction` is a load of a parameter that is passed by value.
static bool readsParameter(const Instruction &instruction) {
  auto *load = dyn_cast<LoadInst>(&instruction);
  auto *argument = load ? dyn_cast<Argument>(getUnderlyingObject(
                              load->getPointerOperand(), /*MaxLookup=*/0))
                        : nullptr;
  return argument && argument->hasByValAttr();
}

bool waitsBeforeAccesses(const Module &module) {
  return all_of(module, [](const Function &function) {
    if (function.isDeclaration())
      return true;
    for (const Instruction &instruction : function.getEntryBlock()) {
      if (isWait(instruction))
        return true;
      if (instruction.mayReadOrWriteMemory() && !readsParameter(instruction))
        return false;
    }
    return false;
  });
}

} // namespace sinter::cuda
