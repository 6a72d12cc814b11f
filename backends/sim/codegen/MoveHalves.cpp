//===- MoveHalves.cpp - 16-bit floats as the integers of their bits -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// When all arithmetic of 16-bit floats has become calls, the remaining
// instructions load, store, select and pack them. On integers LLVM cannot turn
// these into float arithmetic again.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/codegen/ThreadCode.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"

using namespace llvm;

namespace sinter::sim {
namespace {

Type *asInteger(Type *type) {
  if (type->isHalfTy() || type->isBFloatTy())
    return Type::getInt16Ty(type->getContext());
  if (auto *vector = dyn_cast<VectorType>(type))
    return VectorType::get(asInteger(vector->getElementType()),
                           vector->getElementCount());
  if (auto *array = dyn_cast<ArrayType>(type))
    return ArrayType::get(asInteger(array->getElementType()),
                          array->getNumElements());
  if (auto *record = dyn_cast<StructType>(type);
      record && record->isLiteral()) {
    SmallVector<Type *> elements;
    for (Type *element : record->elements())
      elements.push_back(asInteger(element));
    return StructType::get(type->getContext(), elements, record->isPacked());
  }
  return type;
}

// The constant as integers; null if that is not possible.
Constant *asInteger(Constant *constant) {
  Type *type = asInteger(constant->getType());
  if (type == constant->getType())
    return constant;
  if (isa<PoisonValue>(constant))
    return PoisonValue::get(type);
  if (isa<UndefValue>(constant))
    return UndefValue::get(type);
  if (constant->isNullValue())
    return Constant::getNullValue(type);
  if (auto *number = dyn_cast<ConstantFP>(constant))
    return ConstantInt::get(type, number->getValueAPF().bitcastToAPInt());
  unsigned count = isa<StructType>(type) ? type->getStructNumElements()
                   : isa<ArrayType>(type)
                       ? type->getArrayNumElements()
                       : cast<FixedVectorType>(type)->getNumElements();
  SmallVector<Constant *> elements;
  for (unsigned i = 0; i < count; ++i) {
    Constant *element = constant->getAggregateElement(i);
    element = element ? asInteger(element) : nullptr;
    if (!element)
      return nullptr;
    elements.push_back(element);
  }
  if (auto *record = dyn_cast<StructType>(type))
    return ConstantStruct::get(record, elements);
  if (auto *array = dyn_cast<ArrayType>(type))
    return ConstantArray::get(array, elements);
  return ConstantVector::get(elements);
}

} // namespace

Error moveHalvesAsIntegers(ThreadCode &code) {
  for (Instruction &instruction : instructions(*code.function)) {
    for (Use &operand : instruction.operands()) {
      auto *constant = dyn_cast<Constant>(operand);
      if (!constant || isa<GlobalValue>(constant))
        continue;
      Constant *integer = asInteger(constant);
      if (!integer)
        return cannot("a constant of type ", *constant->getType(),
                      " that the simulated device does not have");
      operand.set(integer);
    }
    Type *type = asInteger(instruction.getType());
    if (type == instruction.getType())
      continue;
    // nnan and similar flags are only for floats.
    if (isa<FPMathOperator>(instruction))
      instruction.copyFastMathFlags(FastMathFlags());
    instruction.mutateType(type);
  }
  for (Instruction &instruction : instructions(*code.function))
    if (auto *call = dyn_cast<CallInst>(&instruction))
      redeclare(code.module, *call);
  return Error::success();
}

} // namespace sinter::sim
