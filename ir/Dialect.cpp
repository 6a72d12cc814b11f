//===- Dialect.cpp - the sinter dialect -----------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Registration, attributes, and the checks of the attributes of functions.
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
  registerControl();
  registerProgram();
  registerKernel();
}

Operation *SinterDialect::materializeConstant(OpBuilder &builder,
                                              Attribute value, Type type,
                                              Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return builder.create<ConstantOp>(loc, elements);
}

bool sinter::ir::isSplatConstant(ConstantOp constant) {
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  return elements && elements.isSplat();
}

SmallVector<StringRef> sinter::ir::deviceNames(ModuleOp module) {
  auto names = module->getAttrOfType<ArrayAttr>(SinterDialect::kDevicesAttr);
  return names ? llvm::to_vector(names.getAsValueRange<StringAttr>())
               : SmallVector<StringRef>();
}

int64_t sinter::ir::numDevices(ModuleOp module) {
  return std::max<int64_t>(deviceNames(module).size(), 1);
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

namespace {
/// Checks the attributes of a function's arguments and results.
class FunctionAttributes {
public:
  explicit FunctionAttributes(FunctionOpInterface function)
      : function(function) {}

  LogicalResult verifyArgument(unsigned index, NamedAttribute attr) {
    return verify({"argument", index, function.getArgumentTypes()[index]},
                  attr);
  }
  LogicalResult verifyResult(unsigned index, NamedAttribute attr) {
    return verify({"result", index, function.getResultTypes()[index]}, attr);
  }

private:
  struct Place {
    StringRef kind;
    unsigned index;
    Type type;
  };

  InFlightDiagnostic report(const Place &place, StringRef name) {
    return function->emitError() << place.kind << ' ' << place.index
                                 << ": attribute '" << name << "' ";
  }

  LogicalResult verify(const Place &place, NamedAttribute attr) {
    StringRef name = attr.getName().getValue();
    bool isString = name == SinterDialect::kInputAttr ||
                    name == SinterDialect::kOutputAttr ||
                    name == SinterDialect::kControlAttr;
    if (isString && !isa<StringAttr>(attr.getValue()))
      return report(place, name) << "must be a string";
    if (name == SinterDialect::kIndexChecksAttr)
      return verifyIndexChecks(place, attr.getValue());
    // The first state checks all of them, so that the module is searched once.
    if (name == SinterDialect::kStateAttr && isFirstState(place))
      return verifyStates();
    return success();
  }

  LogicalResult verifyIndexChecks(const Place &place, Attribute attr) {
    auto checks = dyn_cast<ArrayAttr>(attr);
    auto type = dyn_cast<RankedTensorType>(place.type);
    bool fits =
        checks && type && type.getElementType().isInteger(64) &&
        type.getShape() == ArrayRef<int64_t>({int64_t(checks.size()), 2}) &&
        llvm::all_of(checks, [](Attribute check) {
          auto entries = dyn_cast<DictionaryAttr>(check);
          return entries && entries.getAs<StringAttr>("node") &&
                 entries.getAs<IntegerAttr>("lower") &&
                 entries.getAs<IntegerAttr>("upper");
        });
    if (fits)
      return success();
    return report(place, SinterDialect::kIndexChecksAttr)
           << "must list {node, lower, upper} for each row of a tensor of two "
              "columns of i64";
  }

  Attribute stateOfArgument(unsigned index) {
    return function.getArgAttr(index, SinterDialect::kStateAttr);
  }
  Attribute stateOfResult(unsigned index) {
    return function.getResultAttr(index, SinterDialect::kStateAttr);
  }

  bool isFirstState(const Place &place) {
    bool isArgument = place.kind == "argument";
    unsigned numBefore = isArgument ? place.index : function.getNumArguments();
    for (unsigned i = 0; i < numBefore; ++i)
      if (stateOfArgument(i))
        return false;
    for (unsigned i = 0; !isArgument && i < place.index; ++i)
      if (stateOfResult(i))
        return false;
    return true;
  }

  LogicalResult verifyStates() {
    llvm::StringMap<StateOp> states;
    Operation *table = function->getParentOp();
    bool hasTable = table && table->hasTrait<OpTrait::SymbolTable>();
    if (hasTable)
      for (auto state : table->getRegion(0).getOps<StateOp>())
        states[state.getSymName()] = state;
    auto verifyState = [&](const Place &place,
                           Attribute attr) -> LogicalResult {
      auto symbol = dyn_cast<FlatSymbolRefAttr>(attr);
      if (!symbol)
        return report(place, SinterDialect::kStateAttr)
               << "must be a symbol reference";
      if (!hasTable)
        return success();
      StateOp state = states.lookup(symbol.getValue());
      if (!state)
        return report(place, SinterDialect::kStateAttr)
               << "names " << symbol << ", which is not a sinter.state";
      auto type = dyn_cast<RankedTensorType>(state.getType()),
           rows = dyn_cast<RankedTensorType>(place.type);
      bool isInRows = state.getRole() == StateRole::rounded &&
                      place.kind == "result" && type && rows &&
                      hasRowsOf(type, rows);
      if (state.getType() != place.type && !isInRows)
        return report(place, SinterDialect::kStateAttr)
               << "names " << symbol << " of type " << state.getType()
               << ", but the " << place.kind << " has type " << place.type;
      return success();
    };
    for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
      if (Attribute attr = stateOfArgument(index);
          attr &&
          failed(verifyState({"argument", unsigned(index), type}, attr)))
        return failure();
    for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
      if (Attribute attr = stateOfResult(index);
          attr && failed(verifyState({"result", unsigned(index), type}, attr)))
        return failure();
    return success();
  }

  FunctionOpInterface function;
};
} // namespace

LogicalResult SinterDialect::verifyRegionArgAttribute(Operation *op,
                                                      unsigned regionIndex,
                                                      unsigned argIndex,
                                                      NamedAttribute attr) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || argIndex >= function.getNumArguments())
    return success();
  return FunctionAttributes(function).verifyArgument(argIndex, attr);
}

LogicalResult SinterDialect::verifyRegionResultAttribute(Operation *op,
                                                         unsigned regionIndex,
                                                         unsigned resultIndex,
                                                         NamedAttribute attr) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || resultIndex >= function.getNumResults())
    return success();
  return FunctionAttributes(function).verifyResult(resultIndex, attr);
}
