//===- Devices.cpp - on which device a value is ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "passes/place/Devices.h"
#include "passes/Target.h"

using namespace mlir;

namespace sinter::passes {

static ir::StateOp stateNamed(func::FuncOp func, Attribute attribute) {
  auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(attribute);
  return symbol
             ? SymbolTable::lookupNearestSymbolFrom<ir::StateOp>(func, symbol)
             : ir::StateOp();
}

ir::StateOp stateOfArgument(func::FuncOp func, unsigned number) {
  return stateNamed(func,
                    func.getArgAttr(number, ir::SinterDialect::kStateAttr));
}

ir::StateOp stateOfResult(func::FuncOp func, unsigned number) {
  return stateNamed(func,
                    func.getResultAttr(number, ir::SinterDialect::kStateAttr));
}

std::optional<int64_t> deviceOfArgument(func::FuncOp func, unsigned number) {
  if (ir::StateOp state = stateOfArgument(func, number))
    return ir::deviceNumber(state);
  if (func.getArgAttr(number, ir::SinterDialect::kControlAttr))
    return std::nullopt;
  return 0;
}

std::optional<int64_t> deviceOfResult(func::FuncOp func, unsigned number) {
  if (ir::StateOp state = stateOfResult(func, number))
    return ir::deviceNumber(state);
  return std::nullopt;
}

std::optional<int64_t> DeviceMap::of(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return of(value.getDefiningOp());
  Operation *owner = argument.getOwner()->getParentOp();
  return owner == func ? deviceOfArgument(func, argument.getArgNumber())
                       : of(owner);
}

std::optional<int64_t> DeviceMap::of(Operation *op) {
  // An op that is not part of the function yet stands for itself.
  if (Operation *outer = func.getBody().findAncestorOpInRegion(*op))
    op = outer;
  // An explicit stack, since graphs are deep.
  SmallVector<Operation *> work{op};
  while (!work.empty()) {
    Operation *next = work.back();
    if (ops.contains(next)) {
      work.pop_back();
      continue;
    }
    if (auto copy = dyn_cast<ir::CopyOp>(next)) {
      ops[next] = static_cast<int64_t>(copy.getDevice());
      continue;
    }
    std::optional<int64_t> device;
    bool isKnown = true;
    for (Value operand : next->getOperands()) {
      Operation *made = operand.getDefiningOp();
      if (made && !ops.contains(made)) {
        work.push_back(made);
        isKnown = false;
      } else if (!device) {
        device = made ? ops[made] : of(operand);
      }
    }
    if (isKnown)
      ops[next] = device;
  }
  return ops[op];
}

const Target *targetOf(ModuleOp module, int64_t number,
                       ArrayRef<ProgramDevice> devices,
                       const Target *otherwise) {
  SmallVector<StringRef> names = ir::deviceNames(module);
  if (names.empty())
    return otherwise;
  for (const ProgramDevice &device : devices)
    if (device.name == names[number])
      return device.target;
  return otherwise;
}

const Target *targetOf(Operation *function, ArrayRef<ProgramDevice> devices,
                       const Target *otherwise) {
  auto module = function->getParentOfType<ModuleOp>();
  return module
             ? targetOf(module, ir::deviceNumber(function), devices, otherwise)
             : otherwise;
}

} // namespace sinter::passes
