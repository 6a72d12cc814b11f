//===- ThreadCode.cpp - the state of retargeting --------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/codegen/ThreadCode.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/ModuleSlotTracker.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace sinter::sim {

// Long enough to find the instruction, short enough for one line.
static std::string shortened(StringRef text) {
  constexpr size_t kLongest = 110;
  text = text.trim();
  text = text.substr(0, text.find(", !"));
  return text.size() <= kLongest ? text.str()
                                 : text.take_front(kLongest).str() + "...";
}

void ThreadCode::recordTexts() {
  ModuleSlotTracker numbers(&module);
  numbers.incorporateFunction(*function);
  for (BasicBlock &block : *function)
    for (Instruction &instruction : block) {
      if (!isa<CallInst, ICmpInst>(instruction) &&
          !instruction.mayReadOrWriteMemory() && !instruction.isIntDivRem())
        continue;
      std::string text;
      raw_string_ostream stream(text);
      instruction.print(stream, numbers);
      texts[&instruction] = shortened(text);
    }
}

void ThreadCode::enterThread() {
  LLVMContext &context = module.getContext();
  Type *pointer = PointerType::getUnqual(context);
  Function *old = function;
  function = Function::Create(
      FunctionType::get(Type::getVoidTy(context), {pointer, pointer}, false),
      GlobalValue::ExternalLinkage, "", module);
  function->takeName(old);
  function->addFnAttr(Attribute::NoUnwind);
  function->addFnAttr("probe-stack", "inline-asm");
  function->getArg(0)->setName("buffers");
  function->getArg(1)->setName("functions");
  function->splice(function->end(), old);

  BasicBlock *body = &function->getEntryBlock();
  params = BasicBlock::Create(context, "params", function, body);
  entry = BasicBlock::Create(context, "enter", function, params);
  IRBuilder<> builder(entry);
  builder.CreateBr(params);
  builder.SetInsertPoint(params);
  numBuffers = old->arg_size();
  for (Argument &argument : old->args()) {
    if (Type *array = argument.getParamByValType()) {
      numBuffers = array->getArrayNumElements();
      argument.replaceAllUsesWith(function->getArg(0));
      continue;
    }
    Value *slot = builder.CreateConstInBoundsGEP1_64(
        pointer, function->getArg(0), argument.getArgNo());
    Value *address = builder.CreateLoad(pointer, slot);
    address->takeName(&argument);
    argument.mutateType(pointer);
    argument.replaceAllUsesWith(address);
  }
  builder.CreateBr(body);
  for (Instruction &instruction : make_early_inc_range(*body))
    if (auto *local = dyn_cast<AllocaInst>(&instruction))
      if (isa<ConstantInt>(local->getArraySize()))
        local->moveBefore(entry->getTerminator());
  old->eraseFromParent();
}

// The address of the global memory that an instruction reads or writes.
static const Value *accessedAddress(const Instruction *instruction) {
  if (const Value *address = getLoadStorePointerOperand(instruction))
    return address;
  if (auto *update = dyn_cast<AtomicRMWInst>(instruction))
    return update->getPointerOperand();
  if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(instruction))
    return exchange->getPointerOperand();
  auto *call = dyn_cast<CallInst>(instruction);
  const Function *callee = call ? call->getCalledFunction() : nullptr;
  constexpr unsigned kSource = 1;
  return callee && callee->getName().starts_with("llvm.nvvm.cp.async.c")
             ? call->getArgOperand(kSource)
             : nullptr;
}

uint32_t ThreadCode::bufferOf(const Instruction *instruction) const {
  const Value *address = accessedAddress(instruction);
  if (!address)
    return 0;
  auto *load =
      dyn_cast<LoadInst>(getUnderlyingObject(address, /*MaxLookup=*/0));
  if (!load)
    return 0;
  APInt offset(64, 0);
  const Value *base =
      load->getPointerOperand()->stripAndAccumulateConstantOffsets(
          module.getDataLayout(), offset, /*AllowNonInbounds=*/true);
  return base == function->getArg(0)
             ? uint32_t(offset.getZExtValue() / sizeof(void *)) + 1
             : 0;
}

uint32_t ThreadCode::addSite(sinter_sim_site_kind kind,
                             const Instruction *instruction) {
  auto text = texts.find(instruction);
  sites.push_back({kind, numOfKind[kind]++,
                   text == texts.end() ? "an access" : text->second,
                   bufferOf(instruction)});
  return sites.size() - 1;
}

Value *ThreadCode::field(size_t offset, Type *type) {
  Value *&value = fields[offset];
  if (!value) {
    IRBuilder<> builder(entry->getTerminator());
    Value *address = builder.CreateConstInBoundsGEP1_64(
        builder.getInt8Ty(), function->getArg(1), offset);
    value = builder.CreateLoad(type, address);
  }
  return value;
}

Value *ThreadCode::sharedBase() {
  return field(offsetof(sinter_sim_functions, shared),
               PointerType::getUnqual(module.getContext()));
}

CallInst *ThreadCode::callPure(IRBuilderBase &builder, size_t offset,
                               Type *result, ArrayRef<Value *> arguments) {
  Value *slot = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(),
                                                   function->getArg(1), offset);
  auto *callee =
      builder.CreateLoad(PointerType::getUnqual(module.getContext()), slot);
  callee->setMetadata(LLVMContext::MD_invariant_load,
                      MDNode::get(module.getContext(), {}));
  SmallVector<Type *> types;
  for (Value *argument : arguments)
    types.push_back(argument->getType());
  CallInst *call = builder.CreateCall(FunctionType::get(result, types, false),
                                      callee, arguments);
  call->setDoesNotThrow();
  return call;
}

CallInst *ThreadCode::call(IRBuilderBase &builder, size_t offset, Type *result,
                           ArrayRef<Value *> arguments) {
  SmallVector<Value *> all{function->getArg(1)};
  all.append(arguments.begin(), arguments.end());
  return callPure(builder, offset, result, all);
}

void ThreadCode::faultIf(Value *condition, Instruction *before,
                         sinter_sim_fault kind, uint32_t site) {
  Instruction *end = SplitBlockAndInsertIfThen(condition, before->getIterator(),
                                               /*Unreachable=*/true);
  IRBuilder<> builder(end);
  call(builder, offsetof(sinter_sim_functions, fault), builder.getVoidTy(),
       {builder.getInt32(site), builder.getInt32(kind)});
}

// The address of a string constant in the object.
static Constant *textConstant(Module &module, StringRef text) {
  Constant *bytes = ConstantDataArray::getString(module.getContext(), text);
  auto *global =
      new GlobalVariable(module, bytes->getType(), /*isConstant=*/true,
                         GlobalValue::PrivateLinkage, bytes);
  global->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
  return global;
}

void ThreadCode::describe(uint32_t flags) {
  LLVMContext &context = module.getContext();
  Type *i32 = Type::getInt32Ty(context), *i64 = Type::getInt64Ty(context);
  Type *pointer = PointerType::getUnqual(context);
  auto number = [&](uint32_t value) { return ConstantInt::get(i32, value); };

  auto *siteType = StructType::get(i32, i32, pointer, i32, i32);
  static_assert(sizeof(sinter_sim_site) == 24);
  std::vector<Constant *> rows;
  for (const Site &site : sites)
    rows.push_back(ConstantStruct::get(
        siteType, number(site.kind), number(site.number),
        textConstant(module, site.text), number(site.buffer), number(0)));
  auto *rowsType = ArrayType::get(siteType, rows.size());
  auto *table = new GlobalVariable(module, rowsType, /*isConstant=*/true,
                                   GlobalValue::PrivateLinkage,
                                   ConstantArray::get(rowsType, rows));
  uint32_t numMeetings = numOfKind[SINTER_SIM_BARRIER] - numLaunchWaits +
                         numOfKind[SINTER_SIM_WARP] + numYields;
  auto *infoType =
      StructType::get(i64, pointer, pointer, i32, i32, i32, i32, i32, i32);
  static_assert(sizeof(sinter_sim_kernel_info) == 48);
  Constant *value = ConstantStruct::get(
      infoType, ConstantInt::get(i64, sizeof(sinter_sim_kernel_info)),
      textConstant(module, function->getName()), table, number(rows.size()),
      number(numBuffers), number(staticSharedBytes), number(numMeetings),
      number(flags), number(0));
  auto *info = new GlobalVariable(module, infoType, /*isConstant=*/true,
                                  GlobalValue::PrivateLinkage, value);

  BasicBlock *answer =
      BasicBlock::Create(context, "describe", function, params);
  IRBuilder<> builder(answer);
  call(builder, offsetof(sinter_sim_functions, describe), builder.getVoidTy(),
       {info});
  builder.CreateRetVoid();
  Instruction *branch = entry->getTerminator();
  builder.SetInsertPoint(branch);
  builder.CreateCondBr(builder.CreateIsNull(function->getArg(0)), answer,
                       params);
  branch->eraseFromParent();
}

Value *perLane(IRBuilderBase &builder, Type *resultType,
               ArrayRef<Value *> operands,
               function_ref<Value *(ArrayRef<Value *>)> function) {
  auto *vector = dyn_cast<FixedVectorType>(resultType);
  if (!vector)
    return function(operands);
  Value *result = PoisonValue::get(vector);
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
    SmallVector<Value *> values;
    for (Value *operand : operands)
      values.push_back(operand->getType()->isVectorTy()
                           ? builder.CreateExtractElement(operand, lane)
                           : operand);
    result = builder.CreateInsertElement(result, function(values), lane);
  }
  return result;
}

} // namespace sinter::sim
