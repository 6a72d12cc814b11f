//===- Matrix.cpp - ldmatrix, mma.sync, cp.async --------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/codegen/Intrinsics.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace sinter::sim {

// Memory on the thread's stack for `count` registers.
static AllocaInst *registers(const IntrinsicCall &call, unsigned count) {
  BasicBlock &entry = call.code.function->getEntryBlock();
  IRBuilder<> builder(&entry, entry.begin());
  return builder.CreateAlloca(
      ArrayType::get(builder.getInt32Ty(), std::max(count, 1u)));
}

static Value *registerAt(const IntrinsicCall &call, Value *base, unsigned at) {
  return call.builder.CreateConstInBoundsGEP1_64(call.builder.getInt32Ty(),
                                                 base, at);
}

// The registers in the form that the intrinsic returns: one value, or a struct.
static Value *loadRegisters(const IntrinsicCall &call, Value *base) {
  IRBuilder<> &builder = call.builder;
  auto *record = dyn_cast<StructType>(call.type);
  if (!record)
    return builder.CreateLoad(call.type, base);
  Value *result = PoisonValue::get(record);
  for (unsigned i = 0; i < record->getNumElements(); ++i)
    result =
        builder.CreateInsertValue(result,
                                  builder.CreateLoad(record->getElementType(i),
                                                     registerAt(call, base, i)),
                                  i);
  return result;
}

// ldmatrix.sync.aligned.m8n8.xN[.trans].b16
static Value *lowerLoadMatrix(const IntrinsicCall &call) {
  StringRef name = call.name;
  unsigned count = 0;
  if (!name.consume_front("ldmatrix.sync.aligned.m8n8.x") ||
      name.consumeInteger(10, count))
    return nullptr;
  IRBuilder<> &builder = call.builder;
  AllocaInst *result = registers(call, count);
  call.table(offsetof(sinter_sim_functions, loadMatrix), builder.getVoidTy(),
             {call.site(SINTER_SIM_WARP), call.i32(count),
              call.i32(name.starts_with(".trans")), call.operands[0], result});
  return loadRegisters(call, result);
}

static Value *lowerMma(const IntrinsicCall &call) {
  auto kind =
      StringSwitch<uint32_t>(call.name)
          .Case("mma.m16n8k4.row.col.tf32", SINTER_SIM_MMA_M16N8K4_TF32)
          .Case("mma.m16n8k8.row.col.tf32", SINTER_SIM_MMA_M16N8K8_TF32)
          .Case("mma.m16n8k8.row.col.bf16", SINTER_SIM_MMA_M16N8K8_BF16)
          .Case("mma.m16n8k16.row.col.bf16", SINTER_SIM_MMA_M16N8K16_BF16)
          .Case("mma.m16n8k8.row.col.f32.f32", SINTER_SIM_MMA_M16N8K8_F16)
          .Case("mma.m16n8k16.row.col.f32.f32", SINTER_SIM_MMA_M16N8K16_F16)
          .Case("mma.m16n8k16.row.col.s8", SINTER_SIM_MMA_M16N8K16_S8)
          .Case("mma.m16n8k32.row.col.s8", SINTER_SIM_MMA_M16N8K32_S8)
          .Default(0);
  if (!kind)
    return nullptr;
  IRBuilder<> &builder = call.builder;
  AllocaInst *operands = registers(call, call.operands.size());
  for (auto [number, operand] : enumerate(call.operands))
    builder.CreateStore(operand, registerAt(call, operands, number));
  AllocaInst *result = registers(call, 4);
  call.table(offsetof(sinter_sim_functions, mma), builder.getVoidTy(),
             {call.site(SINTER_SIM_WARP), call.i32(kind), operands, result});
  return loadRegisters(call, result);
}

// cp.async.{ca,cg}.shared.global.N[.s]
static Value *lowerAsyncCopy(const IntrinsicCall &call) {
  StringRef name = call.name;
  IRBuilder<> &builder = call.builder;
  if (name == "cp.async.commit.group") {
    call.table(offsetof(sinter_sim_functions, copyCommit), builder.getVoidTy(),
               {});
    return nothing(call);
  }
  bool waitsForAll = name == "cp.async.wait.all";
  if (waitsForAll || name == "cp.async.wait.group") {
    Value *pending =
        waitsForAll ? call.i32(SINTER_SIM_WAIT_ALL) : call.operands[0];
    call.table(offsetof(sinter_sim_functions, copyWait), builder.getVoidTy(),
               {call.site(SINTER_SIM_BARRIER),
                builder.CreateZExtOrTrunc(pending, builder.getInt32Ty())});
    return nothing(call);
  }
  unsigned size = 0;
  if ((!name.consume_front("cp.async.ca.shared.global.") &&
       !name.consume_front("cp.async.cg.shared.global.")) ||
      name.consumeInteger(10, size))
    return nullptr;
  Value *sourceSize = name == ".s" ? call.operands[2] : call.i32(size);
  call.table(offsetof(sinter_sim_functions, copyAsync), builder.getVoidTy(),
             {call.site(SINTER_SIM_ACCESS), call.operands[0], call.operands[1],
              call.i32(size), sourceSize});
  return nothing(call);
}

Value *lowerMatrix(const IntrinsicCall &call) {
  for (auto *lower : {lowerLoadMatrix, lowerMma, lowerAsyncCopy})
    if (Value *value = lower(call))
      return value;
  return nullptr;
}

} // namespace sinter::sim
