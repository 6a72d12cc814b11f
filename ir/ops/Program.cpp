//===- Program.cpp - state and transfers: verify --------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/ops/Checks.h"

using namespace mlir;
using namespace sinter::ir;

#define GET_OP_CLASSES
#include "ir/Program.cpp.inc"

void SinterDialect::registerProgram() {
  addOperations<
#define GET_OP_LIST
#include "ir/Program.cpp.inc"
      >();
}

RankedTensorType StateOp::getWholeType() {
  return cast<RankedTensorType>(getPartOf().value_or(getType()));
}

LogicalResult StateOp::verify() {
  Report report(*this);
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !hasBoundedSize(type) ||
      elementSizeBytes(type.getElementType()) == 0)
    return report("has type ", getType(),
                  ", expected a tensor of static shape");
  StateRole role = getRole();
  if (role == StateRole::slot && !getSlot())
    return report("a state of role slot needs 'slot', its name");
  if ((role == StateRole::param || role == StateRole::buffer) &&
      (getOf() || getSlot()))
    return report("a state of role ", stringifyStateRole(role),
                  " has no 'of' and no 'slot'");
  if (std::optional<Type> whole = getPartOf()) {
    auto wholeType = dyn_cast<RankedTensorType>(*whole);
    if ((role != StateRole::slot && role != StateRole::param) ||
        type.getRank() != 1 || !wholeType || !hasBoundedSize(wholeType) ||
        wholeType.getElementType() != type.getElementType() ||
        wholeType.getNumElements() < type.getNumElements())
      return report("has type ", type,
                    ", which cannot be a part of a slot or parameter of type ",
                    *whole);
  }
  if (getInit() && getInit()->getType() != getWholeType())
    return report("'init' has type ", getInit()->getType(), ", expected ",
                  getWholeType());
  if (role == StateRole::rounded) {
    if (!getOf() || getSlot() || getInit())
      return report("a state of role rounded needs 'of', and has no 'slot' and "
                    "no 'init'");
    if (!type.getElementType().isF16() && !type.getElementType().isBF16())
      return report("has type ", type, ", expected 16-bit floats");
  }
  return success();
}

bool sinter::ir::hasRowsOf(RankedTensorType type, RankedTensorType rows) {
  return type == rows ||
         (type.getElementType() == rows.getElementType() &&
          type.getRank() == rows.getRank() && type.getRank() > 0 &&
          type.getDimSize(0) > rows.getDimSize(0) &&
          type.getShape().drop_front() == rows.getShape().drop_front());
}

LogicalResult StateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!getOf())
    return success();
  auto param =
      symbols.lookupNearestSymbolFrom<StateOp>(getOperation(), getOfAttr());
  if (!param || param.getRole() != StateRole::param)
    return Report(*this)("'of' names ", getOfAttr(),
                         ", which is not a state of role param");
  if (getRole() != StateRole::rounded)
    return success();
  auto type = cast<RankedTensorType>(getType());
  RankedTensorType wide = param.getWholeType();
  if (!wide.getElementType().isF32() ||
      !hasRowsOf(type, wide.clone(type.getElementType())))
    return Report(*this)("has type ", type, ", which does not hold ",
                         getOfAttr(), " of type ", wide);
  return success();
}

LogicalResult AfterOp::verify() {
  if (getValues().empty())
    return Report(*this)("waits for nothing");
  return success();
}

LogicalResult CopyOp::verify() {
  auto module = getOperation()->getParentOfType<ModuleOp>();
  int64_t device = getDevice();
  if (device < 0 || (module && device >= numDevices(module)))
    return Report(*this)("names device ", device, " of ",
                         module ? numDevices(module) : 0);
  return success();
}
