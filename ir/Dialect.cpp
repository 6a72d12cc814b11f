//===- Dialect.cpp - the sinter dialect -----------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Registration, attributes, and what the attributes of functions must be.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sinter::ir;

#include "ir/Dialect.cpp.inc"
#include "ir/Enums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/Attrs.cpp.inc"

#include "ir/Interfaces.cpp.inc"

void SinterDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/Attrs.cpp.inc"
      >();
  registerElementwise();
  registerLinear();
  registerConv();
  registerReduce();
  registerShape();
  registerNorm();
  registerAttention();
  registerLoss();
  registerOptim();
  registerRandom();
  registerCollective();
  registerProgram();
}

Operation *SinterDialect::materializeConstant(OpBuilder &builder,
                                              Attribute value, Type type,
                                              Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return builder.create<ConstantOp>(loc, elements);
}

int64_t sinter::ir::numDevices(ModuleOp module) {
  auto names = module->getAttrOfType<ArrayAttr>(SinterDialect::kDevicesAttr);
  return names ? static_cast<int64_t>(names.size()) : 1;
}

int64_t sinter::ir::deviceNumber(Operation *op) {
  auto number = op->getAttrOfType<IntegerAttr>(SinterDialect::kDeviceAttr);
  return number ? number.getInt() : 0;
}

LogicalResult SinterDialect::verifyOperationAttribute(Operation *op,
                                                      NamedAttribute attr) {
  if (attr.getName() == kModelNameAttr && !isa<StringAttr>(attr.getValue()))
    return op->emitError() << "attribute '" << kModelNameAttr
                           << "' must be a string";
  if (attr.getName() == kDevicesAttr) {
    auto names = dyn_cast<ArrayAttr>(attr.getValue());
    if (!names || names.empty() || !llvm::all_of(names, [](Attribute name) {
          return isa<StringAttr>(name);
        }))
      return op->emitError() << "attribute '" << kDevicesAttr
                             << "' must be a list of device names";
  }
  if (attr.getName() == kDeviceAttr) {
    auto number = dyn_cast<IntegerAttr>(attr.getValue());
    auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op)
                                    : op->getParentOfType<ModuleOp>();
    if (!number || number.getInt() < 0 ||
        (module && number.getInt() >= numDevices(module)))
      return op->emitError() << "attribute '" << kDeviceAttr
                             << "' must be the number of a device";
  }
  return success();
}

/// Checks an attribute of an argument or result, of type `type`, of `function`.
static LogicalResult verifyFunctionValue(Operation *function, StringRef which,
                                         unsigned index, Type type,
                                         NamedAttribute attr) {
  StringRef name = attr.getName().getValue();
  auto report = [&]() {
    return function->emitError()
           << which << ' ' << index << ": attribute '" << name << "' ";
  };
  bool isString = name == SinterDialect::kInputAttr ||
                  name == SinterDialect::kOutputAttr ||
                  name == SinterDialect::kControlAttr;
  if (isString && !isa<StringAttr>(attr.getValue()))
    return report() << "must be a string";
  if (name != SinterDialect::kStateAttr)
    return success();

  auto symbol = dyn_cast<FlatSymbolRefAttr>(attr.getValue());
  if (!symbol)
    return report() << "must be a symbol reference";
  Operation *table = function->getParentOp();
  if (!table || !table->hasTrait<OpTrait::SymbolTable>())
    return success();
  auto state =
      dyn_cast_or_null<StateOp>(SymbolTable::lookupSymbolIn(table, symbol));
  if (!state)
    return report() << "names " << symbol << ", which is no sinter.state";
  if (state.getType() != type)
    return report() << "names " << symbol << " of type " << state.getType()
                    << ", but the " << which << " has type " << type;
  return success();
}

LogicalResult SinterDialect::verifyRegionArgAttribute(Operation *op,
                                                      unsigned regionIndex,
                                                      unsigned argIndex,
                                                      NamedAttribute attr) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || argIndex >= function.getNumArguments())
    return success();
  return verifyFunctionValue(op, "argument", argIndex,
                             function.getArgumentTypes()[argIndex], attr);
}

LogicalResult SinterDialect::verifyRegionResultAttribute(Operation *op,
                                                         unsigned regionIndex,
                                                         unsigned resultIndex,
                                                         NamedAttribute attr) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || resultIndex >= function.getNumResults())
    return success();
  return verifyFunctionValue(op, "result", resultIndex,
                             function.getResultTypes()[resultIndex], attr);
}
