//===- Intrinsics.cpp - replaces llvm.nvvm.* and inline PTX ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/codegen/Intrinsics.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace sinter::sim {

Value *nothing(const IntrinsicCall &call) {
  return PoisonValue::get(call.builder.getInt32Ty());
}

Value *lowerRegister(const IntrinsicCall &call) {
  StringRef name = call.name;
  IRBuilder<> &builder = call.builder;
  if (!name.consume_front("read.ptx.sreg."))
    return nullptr;
  auto [base, axis] = name.split('.');
  size_t offset = StringSwitch<size_t>(base)
                      .Case("tid", offsetof(sinter_sim_functions, threadId))
                      .Case("ctaid", offsetof(sinter_sim_functions, blockId))
                      .Case("ntid", offsetof(sinter_sim_functions, blockDim))
                      .Case("nctaid", offsetof(sinter_sim_functions, gridDim))
                      .Default(0);
  auto component = [&](size_t offset, unsigned index) {
    return call.code.field(offset + 4 * index, builder.getInt32Ty());
  };
  if (offset) {
    int index =
        StringSwitch<int>(axis).Case("x", 0).Case("y", 1).Case("z", 2).Default(
            -1);
    return index < 0 ? nullptr : component(offset, index);
  }
  if (name == "dynamic_smem_size")
    return component(offsetof(sinter_sim_functions, dynamicSharedBytes), 0);
  if (name == "warpsize")
    return call.i32(32);
  if (name == "smid" || name == "gridid")
    return ConstantInt::get(call.type, 0);
  if (name == "nsmid")
    return call.i32(1);
  if (name == "clock" || name == "clock64" || name == "globaltimer")
    return builder.CreateTrunc(call.table(offsetof(sinter_sim_functions, clock),
                                          builder.getInt64Ty(), {}),
                               call.type);
  size_t tid = offsetof(sinter_sim_functions, threadId);
  size_t ntid = offsetof(sinter_sim_functions, blockDim);
  Value *thread = builder.CreateAdd(
      builder.CreateMul(component(tid, 2), component(ntid, 1)),
      component(tid, 1));
  thread = builder.CreateAdd(builder.CreateMul(thread, component(ntid, 0)),
                             component(tid, 0));
  if (name == "warpid")
    return builder.CreateLShr(thread, 5);
  Value *lane = builder.CreateAnd(thread, 31);
  if (name == "laneid")
    return lane;
  Value *bit = builder.CreateShl(call.i32(1), lane);
  Value *below = builder.CreateSub(bit, call.i32(1));
  if (name == "lanemask.eq")
    return bit;
  if (name == "lanemask.lt")
    return below;
  if (name == "lanemask.le")
    return builder.CreateOr(bit, below);
  if (name == "lanemask.ge")
    return builder.CreateNot(below);
  if (name == "lanemask.gt")
    return builder.CreateNot(builder.CreateOr(bit, below));
  return nullptr;
}

Value *lowerMemory(const IntrinsicCall &call) {
  IRBuilder<> &builder = call.builder;
  StringRef name = call.name;
  if (name.starts_with("ldg.global.") || name.starts_with("ldu.global.")) {
    auto alignment = cast<ConstantInt>(call.operands[1])->getAlignValue();
    LoadInst *load =
        builder.CreateAlignedLoad(call.type, call.operands[0], alignment);
    load->setMetadata(LLVMContext::MD_invariant_load,
                      MDNode::get(builder.getContext(), {}));
    return load;
  }
  if (name.starts_with("ptr."))
    return call.operands[0];
  if (name.consume_front("isspacep.")) {
    Value *address =
        builder.CreatePtrToInt(call.operands[0], builder.getInt64Ty());
    Value *base =
        builder.CreatePtrToInt(call.code.sharedBase(), builder.getInt64Ty());
    constexpr uint64_t kMostShared = 227 * 1024;
    Value *isShared = builder.CreateICmpULT(builder.CreateSub(address, base),
                                            builder.getInt64(kMostShared));
    if (name == "shared")
      return isShared;
    if (name == "global")
      return builder.CreateNot(isShared);
    return nullptr;
  }
  if (name.starts_with("membar.") || name.starts_with("fence.sc")) {
    // A fence for the block alone does not order what other blocks see.
    bool isOfBlock = name.ends_with(".cta");
    builder.CreateFence(AtomicOrdering::SequentiallyConsistent,
                        isOfBlock ? SyncScope::SingleThread
                                  : SyncScope::System);
    return nothing(call);
  }
  if (name == "nanosleep") {
    ++call.code.numYields;
    call.table(offsetof(sinter_sim_functions, yield), builder.getVoidTy(), {});
    return nothing(call);
  }
  // atomic.OP.gen.TYPE.SCOPE, and inc and dec with their wrap.
  if (!name.consume_front("atomic."))
    return nullptr;
  name.consume_front("load.");
  bool isFloat = call.type->isFloatingPointTy();
  auto op = StringSwitch<AtomicRMWInst::BinOp>(name.split('.').first)
                .Case("add", isFloat ? AtomicRMWInst::FAdd : AtomicRMWInst::Add)
                .Case("and", AtomicRMWInst::And)
                .Case("or", AtomicRMWInst::Or)
                .Case("xor", AtomicRMWInst::Xor)
                .Case("exch", AtomicRMWInst::Xchg)
                .Case("max", AtomicRMWInst::Max)
                .Case("min", AtomicRMWInst::Min)
                .Case("inc", AtomicRMWInst::UIncWrap)
                .Case("dec", AtomicRMWInst::UDecWrap)
                .Default(AtomicRMWInst::BAD_BINOP);
  if (op != AtomicRMWInst::BAD_BINOP)
    return builder.CreateAtomicRMW(op, call.operands[0], call.operands[1],
                                   MaybeAlign(),
                                   AtomicOrdering::SequentiallyConsistent);
  if (name.starts_with("cas."))
    return builder.CreateExtractValue(
        builder.CreateAtomicCmpXchg(call.operands[0], call.operands[1],
                                    call.operands[2], MaybeAlign(),
                                    AtomicOrdering::SequentiallyConsistent,
                                    AtomicOrdering::SequentiallyConsistent),
        0);
  return nullptr;
}

std::string inlinePtxName(StringRef text) {
  text = text.trim().rtrim(';').trim();
  auto [opcode, operands] = text.split(' ');
  SmallVector<StringRef> list;
  operands.split(list, ',', -1, /*KeepEmpty=*/false);
  if (StringRef source = list.empty() ? "" : list.back().trim();
      opcode == "mov.u32" && list.size() == 2 && source.consume_front("%"))
    return ("read.ptx.sreg." + source).str();
  for (auto [number, operand] : enumerate(list))
    if (operand.trim() != ("$" + Twine(number)).str())
      return "";
  // The name in PTX, the operands, and the name of the intrinsic.
  struct Row {
    StringLiteral opcode;
    size_t numOperands;
    StringLiteral name;
  };
  static constexpr Row rows[] = {
      {"tanh.approx.f32", 2, "tanh.approx.f"},
      {"ex2.approx.f32", 2, "ex2.approx.f"},
      {"ex2.approx.ftz.f32", 2, "ex2.approx.ftz.f"},
      {"lg2.approx.f32", 2, "lg2.approx.f"},
      {"lg2.approx.ftz.f32", 2, "lg2.approx.ftz.f"},
      {"sin.approx.f32", 2, "sin.approx.f"},
      {"cos.approx.f32", 2, "cos.approx.f"},
      {"rcp.approx.ftz.f32", 2, "rcp.approx.ftz.f"},
      {"rsqrt.approx.f32", 2, "rsqrt.approx.f"},
      {"sqrt.approx.f32", 2, "sqrt.approx.f"},
      {"cvt.rn.bf16x2.f32", 3, "ff2bf16x2.rn"},
      {"cvt.rn.f16x2.f32", 3, "ff2f16x2.rn"},
      {"cvt.rna.tf32.f32", 2, "f2tf32.rna"},
      {"cp.async.commit_group", 0, "cp.async.commit.group"},
      {"cp.async.wait_all", 0, "cp.async.wait.all"},
      {"cp.async.wait_group", 1, "cp.async.wait.group"},
      {"griddepcontrol.wait", 0, "griddepcontrol.wait"},
      {"griddepcontrol.launch_dependents", 0,
       "griddepcontrol.launch_dependents"},
      {"membar.gl", 0, "membar.gl"},
      {"membar.cta", 0, "membar.cta"},
  };
  for (const Row &row : rows)
    if (row.opcode == opcode && row.numOperands == list.size())
      return row.name.str();
  return "";
}

// A trap that the compiler inserted, or an assertion of the kernel.
static bool lowerTrap(ThreadCode &code, CallInst *call) {
  Function *callee = call->getCalledFunction();
  if (!callee)
    return false;
  bool isTrap = StringSwitch<bool>(callee->getName())
                    .Cases("llvm.trap", "llvm.debugtrap", true)
                    .StartsWith("llvm.ubsantrap", true)
                    .Default(false);
  if (!isTrap && callee->getName() != "__assertfail")
    return false;
  IRBuilder<> builder(call);
  code.call(builder, offsetof(sinter_sim_functions, fault), builder.getVoidTy(),
            {builder.getInt32(code.addSite(SINTER_SIM_TRAP, call)),
             builder.getInt32(isTrap ? SINTER_SIM_FAULT_TRAP
                                     : SINTER_SIM_FAULT_ASSERT)});
  call->eraseFromParent();
  return true;
}

static Error lowerCall(ThreadCode &code, CallInst *call) {
  std::string name;
  if (auto *assembly = dyn_cast<InlineAsm>(call->getCalledOperand())) {
    name = inlinePtxName(assembly->getAsmString());
    if (name.empty())
      return cannot("inline PTX that the simulated device does not know: ",
                    assembly->getAsmString());
  } else if (Function *callee = call->getCalledFunction()) {
    StringRef full = callee->getName();
    if (!full.consume_front("llvm.nvvm.")) {
      if (callee->isIntrinsic())
        return Error::success();
      return cannot("it calls ", full,
                    ", which the simulated device does not have");
    }
    name = full.str();
  } else {
    return cannot("it calls through a pointer");
  }
  IRBuilder<> builder(call);
  IntrinsicCall intrinsic{code, builder, call, name, {}, call->getType()};
  for (Use &argument : call->args())
    intrinsic.operands.push_back(argument);
  if (name == "exit") {
    BasicBlock *block = call->getParent();
    SplitBlock(block, call);
    block->getTerminator()->eraseFromParent();
    ReturnInst::Create(call->getContext(), block);
    call->eraseFromParent();
    return Error::success();
  }
  for (auto *lower :
       {lowerRegister, lowerMeeting, lowerMatrix, lowerMath, lowerMemory})
    if (Value *value = lower(intrinsic)) {
      if (!call->getType()->isVoidTy())
        call->replaceAllUsesWith(value);
      call->eraseFromParent();
      return Error::success();
    }
  return cannot("the simulated device does not have ",
                call->isInlineAsm() ? "" : "llvm.nvvm.", name);
}

Error lowerIntrinsics(ThreadCode &code) {
  SmallVector<CallInst *> calls;
  for (Instruction &instruction : instructions(*code.function))
    if (auto *call = dyn_cast<CallInst>(&instruction))
      calls.push_back(call);
  for (CallInst *call : calls) {
    if (lowerTrap(code, call))
      continue;
    if (Error error = lowerCall(code, call))
      return error;
  }
  return Error::success();
}

} // namespace sinter::sim
