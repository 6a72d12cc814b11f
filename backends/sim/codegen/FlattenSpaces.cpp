//===- FlattenSpaces.cpp - one address space, and shared memory in it -----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Pointers have 64 bits in every space, so only their types change; address
// arithmetic stays. Shared variables become offsets from an address that the
// simulated device provides. They must not be globals, which LLVM could promote
// or forward across a switch of threads.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/codegen/ThreadCode.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/ReplaceConstant.h"

using namespace llvm;

namespace sinter::sim {
namespace {

constexpr unsigned kShared = 3;

Type *flat(Type *type) {
  if (type->isPointerTy())
    return PointerType::getUnqual(type->getContext());
  if (auto *vector = dyn_cast<VectorType>(type))
    return VectorType::get(flat(vector->getElementType()),
                           vector->getElementCount());
  if (auto *array = dyn_cast<ArrayType>(type))
    return ArrayType::get(flat(array->getElementType()),
                          array->getNumElements());
  if (auto *record = dyn_cast<StructType>(type);
      record && record->isLiteral()) {
    SmallVector<Type *> elements;
    for (Type *element : record->elements())
      elements.push_back(flat(element));
    return StructType::get(type->getContext(), elements, record->isPacked());
  }
  return type;
}

class Flattening {
public:
  explicit Flattening(ThreadCode &code) : code(code) {}

  Error run();

private:
  Error placeGlobals();
  Error flattenOperands(Instruction &instruction);
  Expected<Constant *> flatConstant(Constant *constant);
  void rebaseInteger(Instruction &cast);

  ThreadCode &code;
  DenseMap<GlobalVariable *, Value *> globals; // replacements
};

Error Flattening::placeGlobals() {
  Module &module = code.module;
  const DataLayout &layout = module.getDataLayout();
  IRBuilder<> builder(module.getContext());
  SmallVector<GlobalVariable *> shared, dynamic;
  SmallVector<GlobalVariable *> all;
  for (GlobalVariable &global : module.globals())
    all.push_back(&global);
  for (GlobalVariable *each : all) {
    GlobalVariable &global = *each;
    global.removeDeadConstantUsers();
    if (global.use_empty()) {
      global.eraseFromParent();
      continue;
    }
    if (global.getAddressSpace() == kShared) {
      (global.isDeclaration() ? dynamic : shared).push_back(&global);
      if (global.hasInitializer() && !isa<UndefValue>(global.getInitializer()))
        return cannot("shared variable ", global.getName(),
                      " has an initial value");
      if (global.isDeclaration() &&
          layout.getTypeAllocSize(global.getValueType()) != 0)
        return cannot("shared variable ", global.getName(), " is external");
      continue;
    }
    if (!global.isConstant() || !global.hasInitializer())
      return cannot("variable ", global.getName(),
                    " of the device is not constant");
    Expected<Constant *> value = flatConstant(global.getInitializer());
    if (!value)
      return value.takeError();
    auto *copy = new GlobalVariable(module, (*value)->getType(),
                                    /*isConstant=*/true,
                                    GlobalValue::PrivateLinkage, *value);
    copy->setAlignment(layout.getPreferredAlign(&global));
    globals[&global] = copy;
  }
  Align most(16);
  auto place = [&](GlobalVariable *global, uint64_t offset) {
    auto *base = cast<Instruction>(code.sharedBase());
    IRBuilder<> after(base->getNextNode());
    Value *address =
        after.CreateConstInBoundsGEP1_64(after.getInt8Ty(), base, offset);
    address->takeName(global);
    globals[global] = address;
  };
  uint64_t end = 0;
  for (GlobalVariable *global : shared) {
    end = alignTo(end, layout.getPreferredAlign(global));
    place(global, end);
    end += layout.getTypeAllocSize(global->getValueType());
  }
  for (GlobalVariable *global : dynamic)
    most = std::max(most, layout.getPreferredAlign(global));
  code.staticSharedBytes = alignTo(end, most);
  for (GlobalVariable *global : dynamic)
    place(global, code.staticSharedBytes);
  return Error::success();
}

Expected<Constant *> Flattening::flatConstant(Constant *constant) {
  Type *type = flat(constant->getType());
  if (type == constant->getType() && !isa<ConstantExpr>(constant) &&
      !isa<GlobalVariable>(constant))
    return constant;
  if (isa<PoisonValue>(constant))
    return PoisonValue::get(type);
  if (isa<UndefValue>(constant))
    return UndefValue::get(type);
  if (constant->isNullValue())
    return Constant::getNullValue(type);
  if (auto *global = dyn_cast<GlobalVariable>(constant))
    if (auto *copy = dyn_cast_or_null<Constant>(globals.lookup(global)))
      return copy;
  if (auto *aggregate = dyn_cast<ConstantAggregate>(constant)) {
    SmallVector<Constant *> elements;
    for (Use &operand : aggregate->operands()) {
      Expected<Constant *> element = flatConstant(cast<Constant>(operand));
      if (!element)
        return element;
      elements.push_back(*element);
    }
    if (type->isVectorTy())
      return ConstantVector::get(elements);
    if (auto *array = dyn_cast<ArrayType>(type))
      return ConstantArray::get(array, elements);
    return ConstantStruct::get(cast<StructType>(type), elements);
  }
  if (auto *expression = dyn_cast<ConstantExpr>(constant)) {
    Expected<Constant *> operand =
        flatConstant(cast<Constant>(expression->getOperand(0)));
    if (!operand)
      return operand;
    if (expression->getOpcode() == Instruction::AddrSpaceCast)
      return operand;
    if (expression->getOpcode() == Instruction::IntToPtr)
      return ConstantExpr::getIntToPtr(*operand, type);
    if (type == constant->getType() && !type->isPtrOrPtrVectorTy())
      return constant;
  }
  return cannot("a constant of type ", *constant->getType(),
                " that the simulated device does not have");
}

// Shared addresses are integers from 0 on, as in PTX's shared window.
void Flattening::rebaseInteger(Instruction &cast) {
  IRBuilder<> builder(&cast);
  Type *i64 = builder.getInt64Ty();
  Value *base = builder.CreatePtrToInt(code.sharedBase(), i64);
  Value *result;
  if (isa<PtrToIntInst>(cast)) {
    Value *address = builder.CreatePtrToInt(cast.getOperand(0), i64);
    result = builder.CreateZExtOrTrunc(builder.CreateSub(address, base),
                                       cast.getType());
  } else {
    Value *offset = builder.CreateZExtOrTrunc(cast.getOperand(0), i64);
    result = builder.CreateIntToPtr(builder.CreateAdd(base, offset),
                                    flat(cast.getType()));
  }
  cast.replaceAllUsesWith(result);
  cast.eraseFromParent();
}

Error Flattening::flattenOperands(Instruction &instruction) {
  for (Use &operand : instruction.operands()) {
    if (auto *global = dyn_cast<GlobalVariable>(operand)) {
      if (Value *became = globals.lookup(global))
        operand.set(became);
      continue;
    }
    auto *constant = dyn_cast<Constant>(operand);
    if (!constant || isa<Function>(constant))
      continue;
    Expected<Constant *> value = flatConstant(constant);
    if (!value)
      return value.takeError();
    operand.set(*value);
  }
  return Error::success();
}

Error Flattening::run() {
  SmallVector<Constant *> expanded;
  for (GlobalVariable &global : code.module.globals())
    expanded.push_back(&global);
  convertUsersOfConstantsToInstructions(expanded);
  SmallVector<Instruction *> casts, integers;
  for (Instruction &instruction : instructions(*code.function)) {
    if (auto *cast = dyn_cast<PtrToIntInst>(&instruction)) {
      if (cast->getPointerAddressSpace() == kShared)
        integers.push_back(cast);
    } else if (auto *cast = dyn_cast<IntToPtrInst>(&instruction)) {
      if (cast->getAddressSpace() == kShared)
        integers.push_back(cast);
    } else if (isa<AddrSpaceCastInst>(instruction)) {
      casts.push_back(&instruction);
    }
  }
  code.enterThread();
  if (Error error = placeGlobals())
    return error;
  SmallVector<Instruction *> useless;
  for (Instruction &instruction : instructions(*code.function)) {
    if (Error error = flattenOperands(instruction))
      return error;
    instruction.mutateType(flat(instruction.getType()));
    for (unsigned kind : {LLVMContext::MD_tbaa, LLVMContext::MD_alias_scope,
                          LLVMContext::MD_noalias, LLVMContext::MD_nontemporal,
                          LLVMContext::MD_invariant_group})
      instruction.setMetadata(kind, nullptr);
    // Assumptions are removed: what they promise is to be checked.
    if (auto *call = dyn_cast<IntrinsicInst>(&instruction))
      if (call->isAssumeLikeIntrinsic() && call->getType()->isVoidTy())
        useless.push_back(call);
  }
  for (Instruction *instruction : useless)
    instruction->eraseFromParent();
  for (Instruction *cast : casts) {
    cast->replaceAllUsesWith(cast->getOperand(0));
    cast->eraseFromParent();
  }
  for (Instruction *cast : integers)
    rebaseInteger(*cast);
  for (Instruction &instruction : instructions(*code.function))
    if (auto *call = dyn_cast<CallInst>(&instruction))
      redeclare(code.module, *call);
  for (auto [global, became] : globals)
    global->eraseFromParent();
  return Error::success();
}

} // namespace

void redeclare(Module &module, CallInst &call) {
  Function *callee = call.getCalledFunction();
  if (!callee || !callee->isIntrinsic() ||
      callee->getName().starts_with("llvm.nvvm."))
    return;
  SmallVector<Type *> types, overloads;
  for (Use &argument : call.args())
    types.push_back(argument->getType());
  auto *type = FunctionType::get(call.getType(), types, callee->isVarArg());
  if (type == callee->getFunctionType())
    return;
  if (Intrinsic::getIntrinsicSignature(callee->getIntrinsicID(), type,
                                       overloads))
    call.setCalledFunction(Intrinsic::getDeclaration(
        &module, callee->getIntrinsicID(), overloads));
}

Error flattenSpaces(ThreadCode &code) { return Flattening(code).run(); }

} // namespace sinter::sim
