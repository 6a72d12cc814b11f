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
  if (getInit() && getInit()->getType() != type)
    return report("'init' has type ", getInit()->getType(), ", expected ",
                  type);
  return success();
}

LogicalResult StateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!getOf())
    return success();
  auto param =
      symbols.lookupNearestSymbolFrom<StateOp>(getOperation(), getOfAttr());
  if (!param || param.getRole() != StateRole::param)
    return Report(*this)("'of' names ", getOfAttr(),
                         ", which is not a state of role param");
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
