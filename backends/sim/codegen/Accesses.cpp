//===- Accesses.cpp - checks before loads and stores ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A checked kernel reports each access outside the thread's own memory before
// the access. An unchecked kernel only checks the alignment of wide accesses:
// x86 would either accept misaligned ones or end the process.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/codegen/ThreadCode.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar/ScalarizeMaskedMemIntrin.h"

using namespace llvm;

namespace sinter::sim {
namespace {

// Turns masked accesses into branches around accesses of single elements, as
// for the baseline of x86: each becomes a separate access.
void scalarizeMasked(Function &function, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager sccs;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  ScalarizeMaskedMemIntrinPass().run(function, functions);
}

struct Access {
  Instruction *instruction;
  Value *address;
  Value *sizeBytes;
  Align alignment;
  uint32_t flags;
};

class AccessGuard {
public:
  AccessGuard(ThreadCode &code, bool isChecked)
      : code(code), isChecked(isChecked) {}

  void find(Instruction &instruction);
  void guardAll();

private:
  void add(Instruction &instruction, Value *address, Type *type,
           Align alignment, uint32_t flags);
  bool isOwn(Value *address) const;
  bool isParameter(Value *address) const;

  ThreadCode &code;
  bool isChecked;
  SmallVector<Access> accesses;
};

// Whether `address` is in memory of the thread, a constant of the kernel, the
// table or the parameters.
bool AccessGuard::isOwn(Value *address) const {
  const Value *object = getUnderlyingObject(address, /*MaxLookup=*/0);
  if (isa<AllocaInst, GlobalVariable>(object))
    return true;
  return object == code.function->getArg(0) ||
         object == code.function->getArg(1);
}

// Whether `address` is in the array of the buffers' addresses, at a place that
// the kernel computes.
bool AccessGuard::isParameter(Value *address) const {
  const Value *array = code.function->getArg(0);
  if (getUnderlyingObject(address, /*MaxLookup=*/0) != array)
    return false;
  APInt offset(64, 0);
  return address->stripAndAccumulateConstantOffsets(
             code.module.getDataLayout(), offset,
             /*AllowNonInbounds=*/true) != array;
}

void AccessGuard::add(Instruction &instruction, Value *address, Type *type,
                      Align alignment, uint32_t flags) {
  uint64_t size = code.module.getDataLayout().getTypeStoreSize(type);
  IRBuilder<> builder(&instruction);
  accesses.push_back(
      {&instruction, address, builder.getInt64(size), alignment, flags});
}

void AccessGuard::find(Instruction &instruction) {
  if (auto *load = dyn_cast<LoadInst>(&instruction)) {
    bool isReadOnly = load->hasMetadata(LLVMContext::MD_invariant_load);
    if (isParameter(load->getPointerOperand()))
      add(*load, load->getPointerOperand(), load->getType(), Align(1),
          SINTER_SIM_PARAMETER);
    else if (!isOwn(load->getPointerOperand())) {
      add(*load, load->getPointerOperand(), load->getType(), load->getAlign(),
          (isReadOnly ? SINTER_SIM_READONLY : 0) |
              (load->isAtomic() || load->isVolatile() ? SINTER_SIM_ATOMIC : 0));
      // LLVM must not assume that no other thread writes this memory.
      load->setMetadata(LLVMContext::MD_invariant_load, nullptr);
    }
  } else if (auto *store = dyn_cast<StoreInst>(&instruction)) {
    if (!isOwn(store->getPointerOperand()))
      add(*store, store->getPointerOperand(),
          store->getValueOperand()->getType(), store->getAlign(),
          SINTER_SIM_WRITE |
              (store->isAtomic() || store->isVolatile() ? SINTER_SIM_ATOMIC
                                                        : 0));
  } else if (auto *update = dyn_cast<AtomicRMWInst>(&instruction)) {
    add(*update, update->getPointerOperand(), update->getType(),
        update->getAlign(), SINTER_SIM_WRITE | SINTER_SIM_ATOMIC);
  } else if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction)) {
    add(*exchange, exchange->getPointerOperand(),
        exchange->getCompareOperand()->getType(), exchange->getAlign(),
        SINTER_SIM_WRITE | SINTER_SIM_ATOMIC);
  } else if (auto *fence = dyn_cast<FenceInst>(&instruction)) {
    IRBuilder<> builder(&instruction);
    if (fence->getSyncScopeID() == SyncScope::System)
      accesses.push_back({&instruction,
                          ConstantPointerNull::get(builder.getPtrTy()),
                          builder.getInt64(0), Align(1), SINTER_SIM_FENCE});
  } else if (auto *block = dyn_cast<AnyMemIntrinsic>(&instruction)) {
    if (!isOwn(block->getRawDest()))
      accesses.push_back({block, block->getRawDest(), block->getLength(),
                          block->getDestAlign().valueOrOne(),
                          SINTER_SIM_WRITE});
    if (auto *transfer = dyn_cast<AnyMemTransferInst>(block))
      if (!isOwn(transfer->getRawSource()))
        accesses.push_back({block, transfer->getRawSource(),
                            transfer->getLength(),
                            transfer->getSourceAlign().valueOrOne(), 0});
  }
}

void AccessGuard::guardAll() {
  for (const Access &access : accesses) {
    // A thread that polls memory waits for another thread: let that one run
    // before the access.
    if ((access.flags & SINTER_SIM_ATOMIC) &&
        (!(access.flags & SINTER_SIM_WRITE) ||
         isa<AtomicCmpXchgInst>(access.instruction))) {
      ++code.numYields;
      IRBuilder<> builder(access.instruction);
      code.call(builder, offsetof(sinter_sim_functions, yield),
                builder.getVoidTy(), {});
    }
    if (isChecked) {
      IRBuilder<> builder(access.instruction);
      Value *size =
          builder.CreateZExtOrTrunc(access.sizeBytes, builder.getInt64Ty());
      uint32_t site = code.addSite(SINTER_SIM_ACCESS, access.instruction);
      code.call(builder, offsetof(sinter_sim_functions, access),
                builder.getVoidTy(),
                {builder.getInt32(site), access.address, size,
                 builder.getInt32(access.alignment.value()),
                 builder.getInt32(access.flags)});
    }
    if (isChecked || access.alignment < Align(8))
      continue;
    IRBuilder<> builder(access.instruction);
    Value *bits = builder.CreatePtrToInt(access.address, builder.getInt64Ty());
    Value *isMisaligned = builder.CreateIsNotNull(
        builder.CreateAnd(bits, access.alignment.value() - 1));
    code.faultIf(isMisaligned, access.instruction, SINTER_SIM_FAULT_ALIGNMENT,
                 code.addSite(SINTER_SIM_ACCESS, access.instruction));
  }
}

} // namespace

void guardAccesses(ThreadCode &code, TargetMachine &machine, bool isChecked) {
  scalarizeMasked(*code.function, machine);
  AccessGuard guard(code, isChecked);
  for (Instruction &instruction : instructions(*code.function))
    guard.find(instruction);
  guard.guardAll();
}

} // namespace sinter::sim
