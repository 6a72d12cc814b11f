//===- IsolateKernel.cpp - one kernel and what it calls -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/codegen/ThreadCode.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace sinter::sim {

// Kernels have a calling convention, or !nvvm.annotations {@f, !"kernel", 1}.
static Expected<Function *> findKernel(Module &module) {
  SmallPtrSet<Function *, 2> kernels;
  for (Function &function : module)
    if (function.getCallingConv() == CallingConv::PTX_Kernel)
      kernels.insert(&function);
  if (NamedMDNode *notes = module.getNamedMetadata("nvvm.annotations"))
    for (MDNode *note : notes->operands()) {
      if (note->getNumOperands() == 0)
        continue;
      auto *function =
          mdconst::dyn_extract_or_null<Function>(note->getOperand(0));
      for (unsigned i = 1; i + 1 < note->getNumOperands(); i += 2) {
        auto *key = dyn_cast_or_null<MDString>(note->getOperand(i));
        if (function && key && key->getString() == "kernel")
          kernels.insert(function);
      }
    }
  if (kernels.size() != 1)
    return cannot("the simulated device takes modules of one kernel; this has ",
                  kernels.size());
  return *kernels.begin();
}

// Whether this is the only parameter of a kernel, an array of addresses.
static bool isAddressArray(const Argument &argument) {
  auto *array = dyn_cast<ArrayType>(argument.getParamByValType());
  return array && array->getElementType()->isPointerTy() &&
         argument.getParent()->arg_size() == 1;
}

static Error checkKernel(Function &kernel) {
  if (kernel.isDeclaration())
    return cannot("kernel ", kernel.getName(), " has no body");
  for (Argument &argument : kernel.args())
    if (!argument.getType()->isPointerTy() ||
        (argument.hasByValAttr() && !isAddressArray(argument)))
      return cannot("kernel ", kernel.getName(), ": parameter ",
                    argument.getArgNo(),
                    " is not a pointer; kernels take only addresses");
  const DataLayout &layout = kernel.getDataLayout();
  for (unsigned space : {0, 1, 3, 4, 5})
    if (layout.getPointerSizeInBits(space) != 64)
      return cannot("kernel ", kernel.getName(), ": pointers of ",
                    layout.getPointerSizeInBits(space),
                    " bits; the simulated device has 64");
  // x86 has one mode bit, which would flush fp64 too.
  StringRef denormals =
      kernel.getFnAttribute("denormal-fp-math-f32").getValueAsString();
  if (denormals.contains("preserve-sign") ||
      denormals.contains("positive-zero") ||
      kernel.getFnAttribute("nvptx-f32ftz").getValueAsString() == "true")
    return cannot("kernel ", kernel.getName(),
                  " flushes denormals, which the simulated device does not");
  return Error::success();
}

// Inlines calls of functions of the module until none is left.
static Error inlineCalls(Function &kernel) {
  constexpr int kMostCalls = 10000;
  for (int numCalls = 0; numCalls < kMostCalls; ++numCalls) {
    CallInst *call = nullptr;
    for (Instruction &instruction : instructions(kernel))
      if (auto *candidate = dyn_cast<CallInst>(&instruction))
        if (Function *callee = candidate->getCalledFunction())
          if (!callee->isDeclaration()) {
            call = candidate;
            break;
          }
    if (!call)
      return Error::success();
    std::string callee = call->getCalledFunction()->getName().str();
    InlineFunctionInfo info;
    if (call->getCalledFunction() == &kernel ||
        !InlineFunction(*call, info).isSuccess())
      return cannot("kernel ", kernel.getName(), ": the call of ", callee,
                    " cannot be inlined");
  }
  return cannot("kernel ", kernel.getName(), " calls itself");
}

Expected<Function *> isolateKernel(Module &module) {
  std::string why;
  raw_string_ostream whyStream(why);
  if (verifyModule(module, &whyStream))
    return cannot("internal: the kernel's module is invalid: ",
                  StringRef(why).split('\n').first);
  Expected<Function *> kernel = findKernel(module);
  if (!kernel)
    return kernel;
  if (Error error = checkKernel(**kernel))
    return error;
  if (Error error = inlineCalls(**kernel))
    return error;
  for (StringRef name : {"llvm.used", "llvm.compiler.used"})
    if (GlobalVariable *list = module.getNamedGlobal(name))
      list->eraseFromParent();
  if (NamedMDNode *notes = module.getNamedMetadata("nvvm.annotations"))
    notes->eraseFromParent();
  for (Function &function : module)
    if (&function != *kernel && !function.isDeclaration())
      function.deleteBody();
  return kernel;
}

} // namespace sinter::sim
