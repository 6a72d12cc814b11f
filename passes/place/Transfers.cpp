//===- Transfers.cpp - devices of states, copies between devices ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Writes a Placement into the module. The home of a state is its device.
//
//===----------------------------------------------------------------------===//
#include "passes/place/Devices.h"
#include "passes/place/Placement.h"

#include "ir/exec/Exec.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace sinter::passes::place {
namespace {

class TransferWriter {
public:
  TransferWriter(ModuleOp module, const Placement &placement)
      : module(module), placement(placement) {}

  void run(StringRef defaultDevice);

private:
  using Device = std::optional<unsigned>;

  void findHomes();
  void assign(func::FuncOp func);
  Device valueDevice(Value value) const;
  unsigned follow(Operation *op) const;
  void renumber(StringRef defaultDevice);
  void connect(func::FuncOp func);
  Value on(Value value, unsigned device);

  ModuleOp module;
  const Placement &placement;
  llvm::DenseMap<Operation *, Device> devices;  // of ops
  llvm::MapVector<Operation *, unsigned> homes; // of states
  llvm::DenseMap<std::pair<Value, unsigned>, Value> copies;
};

/// A state is on the device of its first reader, a slot on that of its
/// parameter. A state that no node reads (Adam's t) is on the first device that
/// has nodes.
void TransferWriter::findHomes() {
  unsigned first = placement.devices().size() - 1;
  for (const Unit &unit : placement.units()) {
    first = std::min(first, unit.device);
    for (Operation *state : unit.states)
      homes[state] = unit.device;
  }
  for (auto state : module.getOps<ir::StateOp>())
    if (!state.getOf())
      homes.insert({state, first});
  for (auto state : module.getOps<ir::StateOp>())
    if (state.getOf())
      homes[state] = homes.lookup(
          SymbolTable::lookupNearestSymbolFrom(state, state.getOfAttr()));
}

TransferWriter::Device TransferWriter::valueDevice(Value value) const {
  if (Operation *op = value.getDefiningOp())
    return devices.lookup(op);
  auto argument = cast<BlockArgument>(value);
  auto func = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (ir::StateOp state = stateOfArgument(func, argument.getArgNumber())) {
    auto home = homes.find(state);
    return home == homes.end() ? 0 : home->second;
  }
  return deviceOfArgument(func, argument.getArgNumber()) ? Device(0)
                                                         : std::nullopt;
}

/// The device of the largest operand, so that the fewest bytes are copied.
unsigned TransferWriter::follow(Operation *op) const {
  unsigned device = 0;
  int64_t most = -1;
  for (Value operand : op->getOperands())
    if (Device one = valueDevice(operand)) {
      int64_t bytes = exec::sizeBytes(operand.getType());
      if (bytes > most) {
        most = bytes;
        device = *one;
      }
    }
  return device;
}

void TransferWriter::assign(func::FuncOp func) {
  for (Operation &op : func.getBody().front().without_terminator()) {
    bool isBound = llvm::any_of(op.getOperands(), [&](Value operand) {
      return valueDevice(operand).has_value();
    });
    if (!isBound) {
      devices[&op] = std::nullopt;
      continue;
    }
    if (std::optional<unsigned> device = placement.deviceOf(&op))
      devices[&op] = *device;
    else if (Device home = valueDevice(op.getOperand(0));
             home && isa<BlockArgument>(op.getOperand(0)))
      devices[&op] = *home; // an update: its parameter comes first
    else
      devices[&op] = follow(&op);
  }
}

/// Numbers the devices that are used, in order, and drops the others.
void TransferWriter::renumber(StringRef defaultDevice) {
  std::vector<bool> isUsed(placement.devices().size(), false);
  for (auto &[op, device] : devices)
    if (device)
      isUsed[*device] = true;
  for (auto &[state, home] : homes)
    isUsed[home] = true;
  if (llvm::none_of(isUsed, [](bool used) { return used; }))
    isUsed[0] = true;
  OpBuilder builder(module.getContext());
  std::vector<unsigned> number(isUsed.size(), 0);
  SmallVector<Attribute> names;
  for (size_t i = 0; i < isUsed.size(); ++i)
    if (isUsed[i]) {
      number[i] = names.size();
      names.push_back(builder.getStringAttr(placement.devices()[i].name));
    }
  for (auto &[op, device] : devices)
    if (device)
      device = number[*device];
  for (auto &[state, home] : homes) {
    home = number[home];
    if (home != 0)
      state->setAttr(ir::SinterDialect::kDeviceAttr,
                     builder.getI64IntegerAttr(home));
  }
  if (names.size() > 1 ||
      cast<StringAttr>(names.front()).getValue() != defaultDevice)
    module->setAttr(ir::SinterDialect::kDevicesAttr,
                    builder.getArrayAttr(names));
}

/// `value` on `device`, by a copy if it is elsewhere.
Value TransferWriter::on(Value value, unsigned device) {
  Device from = valueDevice(value);
  if (!from || *from == device)
    return value;
  auto [found, isNew] = copies.try_emplace({value, device}, Value());
  if (!isNew)
    return found->second;
  OpBuilder builder(module.getContext());
  builder.setInsertionPointAfterValue(value);
  Operation *made = value.getDefiningOp();
  Value result;
  // A broadcast is cheaper to repeat than to copy.
  if (made && isa<ir::BroadcastOp>(made)) {
    Value operand = on(made->getOperand(0), device);
    builder.setInsertionPointAfterValue(value);
    IRMapping mapping;
    mapping.map(made->getOperand(0), operand);
    Operation *clone = builder.clone(*made, mapping);
    devices[clone] = device;
    result = clone->getResult(0);
  } else {
    Location loc = made ? made->getLoc() : value.getLoc();
    auto copy = builder.create<ir::CopyOp>(loc, value.getType(), value,
                                           builder.getI64IntegerAttr(device));
    devices[copy] = device;
    result = copy;
  }
  copies[{value, device}] = result;
  return result;
}

void TransferWriter::connect(func::FuncOp func) {
  SmallVector<Operation *> ops;
  for (Operation &op : func.getBody().front().without_terminator())
    ops.push_back(&op);
  for (Operation *op : ops)
    if (Device device = devices.lookup(op))
      for (OpOperand &operand : op->getOpOperands())
        operand.set(on(operand.get(), *device));
  for (OpOperand &operand :
       func.getBody().front().getTerminator()->getOpOperands())
    if (ir::StateOp state = stateOfResult(func, operand.getOperandNumber()))
      operand.set(on(operand.get(), ir::deviceNumber(state)));
}

void TransferWriter::run(StringRef defaultDevice) {
  findHomes();
  SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
  for (func::FuncOp func : functions)
    assign(func);
  renumber(defaultDevice);
  if (ir::numDevices(module) < 2)
    return;
  for (func::FuncOp func : functions)
    connect(func);
}

} // namespace

void insertTransfers(ModuleOp module, const Placement &placement,
                     StringRef defaultDevice) {
  TransferWriter(module, placement).run(defaultDevice);
}

} // namespace sinter::passes::place
