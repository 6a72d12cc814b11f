//===- SplitDevices.cpp - one function for each part on one device --------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// After it the passes of the fuse phase see one device at a time, so that no
// kernel can span two. A part has one device and one level: the number of
// copies that must come before it. An op that no copy waits for runs as late as
// its users, so that it can be fused with them. No part needs a value of a
// later one. Legal for every placed program; a program on one device does not
// change.
//
//===----------------------------------------------------------------------===//
#include "ir/Remarks.h"
#include "passes/Passes.h"
#include "passes/place/Devices.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

#include <map>

using namespace mlir;

namespace sinter::passes {
#define GEN_PASS_DEF_SPLITDEVICES
#include "passes/Passes.h.inc"

namespace {

class FunctionSplitter {
public:
  explicit FunctionSplitter(func::FuncOp func)
      : func(func), body(func.getBody().front()), devices(func) {}

  /// The number of parts.
  size_t run() {
    dropFreeCopies();
    copyToUsers();
    assignLevels();
    collectParts();
    writeParts();
    return parts.size();
  }

private:
  struct Part {
    SmallVector<Operation *> ops;
    func::FuncOp function;
  };
  using Key = std::pair<unsigned, int64_t>; // level, device

  /// The current ops of the body, the last one first.
  SmallVector<Operation *> reversedOps() {
    SmallVector<Operation *> ops;
    for (Operation &op : body.without_terminator())
      ops.push_back(&op);
    std::reverse(ops.begin(), ops.end());
    return ops;
  }
  /// Inputs and control fields need no transfer.
  static bool isFree(ir::CopyOp copy) {
    return isa<BlockArgument>(copy.getX()) &&
           !stateOfArgument(cast<func::FuncOp>(copy->getParentOp()),
                            cast<BlockArgument>(copy.getX()).getArgNumber());
  }

  void dropFreeCopies();
  void copyToUsers();
  void assignLevels();
  void collectParts();
  void writeParts();
  void writePart(const Key &key, Part &part, size_t number);

  func::FuncOp func;
  Block &body;
  DeviceMap devices;
  llvm::DenseMap<Operation *, unsigned> levels;
  std::map<Key, Part> parts;
  IRMapping values; // from a value to its replacement in the rewritten body
};

} // namespace

/// Pattern: copy(x) -> x, where x is on every device
void FunctionSplitter::dropFreeCopies() {
  for (Operation &op : llvm::make_early_inc_range(body.without_terminator()))
    if (auto copy = dyn_cast<ir::CopyOp>(op);
        copy && !devices.of(copy.getX())) {
      // The users are on the device of the copy and must stay there.
      if (copy.getX().getDefiningOp()) {
        Operation *clone = OpBuilder(copy).clone(*copy.getX().getDefiningOp());
        devices.set(clone, copy.getDevice());
        unsigned result = cast<OpResult>(copy.getX()).getResultNumber();
        copy.replaceAllUsesWith(clone->getResult(result));
        copy.erase();
      }
    }
}

/// Pattern: op on every device -> one op on each device that uses it
void FunctionSplitter::copyToUsers() {
  for (Operation *op : reversedOps()) {
    if (isa<ir::ConstantOp>(op) || devices.of(op))
      continue;
    std::map<int64_t, Operation *> clones;
    for (Value result : op->getResults())
      for (OpOperand &use : llvm::make_early_inc_range(result.getUses())) {
        Operation *user = use.getOwner();
        int64_t device = 0;
        if (isa<func::ReturnOp>(user))
          device = deviceOfResult(func, use.getOperandNumber()).value_or(0);
        else
          device = devices.of(user).value_or(0);
        Operation *&clone = clones[device];
        if (!clone) {
          clone = OpBuilder(op).clone(*op);
          devices.set(clone, device);
        }
        use.set(clone->getResult(cast<OpResult>(result).getResultNumber()));
      }
    op->erase();
  }
}

void FunctionSplitter::assignLevels() {
  llvm::DenseMap<Operation *, unsigned> least;
  for (Operation &op : body.without_terminator()) {
    unsigned level = 0;
    for (Value operand : op.getOperands())
      if (Operation *made = operand.getDefiningOp())
        level = std::max(level, least.lookup(made));
    auto copy = dyn_cast<ir::CopyOp>(op);
    least[&op] = level + (copy && !isFree(copy));
  }
  for (Operation *op : reversedOps()) {
    if (isa<ir::CopyOp>(op)) {
      levels[op] = least[op];
      continue;
    }
    std::optional<unsigned> latest;
    for (Operation *user : op->getUsers()) {
      if (isa<func::ReturnOp>(user))
        continue;
      unsigned level = isa<ir::CopyOp>(user) ? least[op] : levels.lookup(user);
      latest = std::min(latest.value_or(level), level);
    }
    levels[op] = std::max(least[op], latest.value_or(0));
  }
}

void FunctionSplitter::collectParts() {
  for (Operation &op : body.without_terminator())
    if (!isa<ir::CopyOp, ir::ConstantOp>(op))
      parts[{levels.lookup(&op), devices.of(&op).value_or(0)}].ops.push_back(
          &op);
}

void FunctionSplitter::writePart(const Key &key, Part &part, size_t number) {
  llvm::SmallPtrSet<Operation *, 32> inside(part.ops.begin(), part.ops.end());
  llvm::SetVector<Value> inputs, constants;
  SmallVector<Value> outputs;
  SmallVector<Location> locations;
  for (Operation *op : part.ops) {
    for (Value operand : op->getOperands()) {
      Operation *made = operand.getDefiningOp();
      if (made && isa<ir::ConstantOp>(made))
        constants.insert(operand);
      else if (!made || !inside.contains(made))
        inputs.insert(operand);
    }
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !inside.contains(user); }))
        outputs.push_back(result);
    locations.push_back(op->getLoc());
  }
  OpBuilder builder(func->getContext());
  builder.setInsertionPointAfter(func);
  auto type = builder.getFunctionType(TypeRange(inputs.getArrayRef()),
                                      TypeRange(ArrayRef<Value>(outputs)));
  part.function = builder.create<func::FuncOp>(
      func.getLoc(), (func.getSymName() + "." + Twine(number)).str(), type);
  part.function.setPrivate();
  if (key.second != 0)
    part.function->setAttr(ir::SinterDialect::kDeviceAttr,
                           builder.getI64IntegerAttr(key.second));
  Block *block = part.function.addEntryBlock();
  builder.setInsertionPointToStart(block);
  IRMapping inner;
  for (Value constant : constants)
    builder.clone(*constant.getDefiningOp(), inner);
  for (auto [argument, input] :
       llvm::zip_equal(block->getArguments(), inputs)) {
    inner.map(input, argument);
    argument.setLoc(input.getLoc());
    if (auto outer = dyn_cast<BlockArgument>(input))
      if (DictionaryAttr attrs = func.getArgAttrDict(outer.getArgNumber()))
        part.function.setArgAttrs(argument.getArgNumber(), attrs);
  }
  for (Operation *op : part.ops)
    builder.clone(*op, inner);
  SmallVector<Value> results;
  for (auto [index, output] : llvm::enumerate(outputs)) {
    results.push_back(inner.lookup(output));
    // A new value of a state may be written onto the state.
    for (OpOperand &use : output.getUses())
      if (isa<func::ReturnOp>(use.getOwner()))
        if (Attribute state = func.getResultAttr(use.getOperandNumber(),
                                                 ir::SinterDialect::kStateAttr))
          part.function.setResultAttr(index, ir::SinterDialect::kStateAttr,
                                      state);
  }
  builder.create<func::ReturnOp>(func.getLoc(), results);

  builder.setInsertionPoint(body.getTerminator());
  SmallVector<Value> operands;
  for (Value input : inputs)
    operands.push_back(values.lookupOrDefault(input));
  auto call = builder.create<func::CallOp>(builder.getFusedLoc(locations),
                                           part.function, operands);
  for (auto [output, result] : llvm::zip_equal(outputs, call.getResults()))
    values.map(output, result);
}

void FunctionSplitter::writeParts() {
  // Copies of level n come before the parts of that level.
  std::map<unsigned, SmallVector<ir::CopyOp>> copies;
  for (auto copy : body.getOps<ir::CopyOp>())
    copies[isFree(copy) ? 0 : levels.lookup(copy)].push_back(copy);
  auto writeCopies = [&](unsigned level) {
    for (ir::CopyOp copy : copies[level]) {
      OpBuilder builder(body.getTerminator());
      Operation *clone = builder.clone(*copy, values);
      values.map(copy.getResult(), clone->getResult(0));
    }
    copies[level].clear();
  };
  SmallVector<Operation *> old;
  for (Operation &op : body.without_terminator())
    if (!isa<ir::ConstantOp>(op))
      old.push_back(&op);
  std::set<unsigned> all;
  for (auto &[key, part] : parts)
    all.insert(key.first);
  for (auto &[level, list] : copies)
    all.insert(level);
  size_t number = 0;
  SmallVector<func::FuncOp> functions;
  for (unsigned level : all) {
    writeCopies(level);
    for (auto &[key, part] : parts)
      if (key.first == level) {
        writePart(key, part, number++);
        functions.push_back(part.function);
      }
  }
  // In the order in which they are called.
  for (size_t i = 1; i < functions.size(); ++i)
    functions[i]->moveAfter(functions[i - 1]);
  for (OpOperand &operand : body.getTerminator()->getOpOperands())
    operand.set(values.lookupOrDefault(operand.get()));
  for (Operation *op : llvm::reverse(old)) {
    op->dropAllUses();
    op->erase();
  }
  for (auto constant :
       llvm::make_early_inc_range(body.getOps<ir::ConstantOp>()))
    if (constant->use_empty())
      constant.erase();
}

namespace {

struct SplitDevices : impl::SplitDevicesBase<SplitDevices> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (ir::numDevices(module) < 2)
      return markAllAnalysesPreserved();
    SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
    for (func::FuncOp func : functions) {
      if (func.isPrivate() || !func.getBody().hasOneBlock())
        continue;
      size_t parts = FunctionSplitter(func).run();
      ir::remark("split-devices", "parts", func.getLoc(),
                 "@" + func.getSymName(), parts);
    }
  }
};

} // namespace
} // namespace sinter::passes
