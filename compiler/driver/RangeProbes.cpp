//===- RangeProbes.cpp - a program that measures its own values -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/RangeProbes.h"

#include "compiler/driver/HostProgram.h"

#include "ir/Tensor.h"
#include "passes/OpClasses.h"
#include "passes/ValueBuilder.h"
#include "passes/fuse/Fusion.h"
#include "passes/precision/PrecisionReport.h"

#include "sinter/program_names.h"

#include <cstring>

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;

static constexpr llvm::StringLiteral kState = "state:", kControl = "control:";

/// Ops that multiply: their operands are rounded.
static bool multiplies(Operation *op) {
  return ir::isContraction(op) || isa<ir::AttentionOp, ir::AttentionGradOp>(op);
}

static bool isView(Operation *op) {
  return isa_and_nonnull<ir::TransposeOp, ir::ReshapeOp, ir::SliceOp,
                         ir::BroadcastOp>(op);
}

static bool isProbed(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getElementType().isF32() && type.getNumElements() > 0;
}

RangeProbes::RangeProbes(func::FuncOp function,
                         const llvm::StringSet<> &narrow) {
  module_ = ModuleOp::create(function.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module_->getBody());
  func::FuncOp main = function.clone();
  builder.insert(main);
  main.setName(SINTER_ENTRY_MAIN);
  makeInputs(function, main);
  findProbes(main, function.getName(), narrow);
  returnRanges(main);
}

void RangeProbes::makeInputs(func::FuncOp function, func::FuncOp main) {
  auto module = function->getParentOfType<ModuleOp>();
  Builder builder(function.getContext());
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    auto type = cast<RankedTensorType>(main.getArgument(i).getType());
    auto state = main.getArgAttrOfType<FlatSymbolRefAttr>(
        i, ir::SinterDialect::kStateAttr);
    auto control =
        main.getArgAttrOfType<StringAttr>(i, ir::SinterDialect::kControlAttr);
    if (!state && !control)
      continue;
    std::string name = state ? (kState + state.getValue()).str()
                             : (kControl + control.getValue()).str();
    ir::Tensor value(type);
    if (state) {
      auto init = module.lookupSymbol<ir::StateOp>(state.getValue()).getInit();
      if (init)
        if (auto tensor = ir::Tensor::fromAttr(*init); succeeded(tensor))
          value = std::move(*tensor);
    }
    given_[name] = value.toBytes();
    main.removeArgAttr(i, ir::SinterDialect::kStateAttr);
    main.removeArgAttr(i, ir::SinterDialect::kControlAttr);
    main.setArgAttr(i, ir::SinterDialect::kInputAttr,
                    builder.getStringAttr(name));
  }
}

void RangeProbes::findProbes(func::FuncOp main, StringRef name,
                             const llvm::StringSet<> &narrow) {
  llvm::DenseMap<Operation *, std::string> keys;
  for (auto &[op, entry] : passes::precisionOps(main)) {
    entry.function = name;
    if (narrow.contains(entry.key()))
      keys[op] = entry.key();
  }
  auto probe = [&](Value value) -> Probe & {
    Probe &found = found_[value];
    if (Operation *op = value.getDefiningOp())
      found.key = keys.lookup(op);
    return found;
  };
  for (Operation &op : main.getBody().front()) {
    auto key = keys.find(&op);
    if (key == keys.end())
      continue;
    for (OpResult result : op.getResults())
      if (isProbed(result) && !passes::staysFloat32(result))
        probe(result);
    if (!multiplies(&op))
      continue;
    for (OpOperand &use : op.getOpOperands()) {
      if (passes::staysFloat32(use))
        continue;
      Value operand = use.get();
      while (isView(operand.getDefiningOp()))
        operand = operand.getDefiningOp()->getOperand(0);
      if (isProbed(operand))
        probe(operand).readers.push_back(key->second);
    }
  }
  // Operands of elementwise ops behind a product are rounded with it.
  for (auto &[value, found] : found_)
    for (Operation *user : value.getUsers()) {
      if (!passes::isElementwise(user))
        continue;
      for (Value other : user->getOperands()) {
        Operation *op = other == value ? nullptr : other.getDefiningOp();
        while (op && passes::isElementwise(op) && op->hasOneUse())
          op = op->getOperand(0).getDefiningOp();
        if (op && multiplies(op) && keys.count(op))
          found.readers.push_back(keys[op]);
      }
    }
}

void RangeProbes::returnRanges(func::FuncOp main) {
  Operation *end = main.getBody().front().getTerminator();
  OpBuilder builder(end);
  SmallVector<Value> results;
  for (auto &[value, found] : found_) {
    Location loc = value.getDefiningOp()
                       ? value.getLoc()
                       : Location(NameLoc::get(builder.getStringAttr("range")));
    passes::ValueBuilder b(builder, loc);
    SmallVector<int64_t> all =
        passes::firstDims(ir::tensorType(value).getRank());
    auto over = [&](ir::ReduceKind kind, Value x) {
      return all.empty() ? x : ir::reduceOver(builder, loc, kind, x, all);
    };
    Value magnitude = b.make<ir::AbsOp>(value);
    Value rounded =
        b.cast(b.cast(value, builder.getF16Type()), builder.getF32Type());
    Value lost = b.make<ir::AbsOp>(b.sub(value, rounded));
    results.push_back(over(ir::ReduceKind::max, magnitude));
    results.push_back(over(ir::ReduceKind::sum, magnitude));
    results.push_back(over(ir::ReduceKind::sum, lost));
    probes_.push_back(std::move(found));
  }
  found_.clear();
  returnValues(main, results);
}

bool RangeProbes::setLossScale(double scale) {
  auto found = given_.find((kState + SINTER_STATE_LOSS_SCALE).str());
  if (found == given_.end())
    return false;
  float value = static_cast<float>(scale);
  found->second.resize(sizeof(value));
  std::memcpy(found->second.data(), &value, sizeof(value));
  return true;
}

std::vector<ValueRange16>
RangeProbes::read(llvm::ArrayRef<std::vector<char>> outputs) const {
  auto scalar = [&](size_t i) {
    float value = 0;
    std::memcpy(&value, outputs[i].data(), sizeof(value));
    return static_cast<double>(value);
  };
  std::vector<ValueRange16> ranges;
  for (size_t i = 0; i < probes_.size(); ++i)
    ranges.push_back({scalar(3 * i), scalar(3 * i + 1), scalar(3 * i + 2)});
  return ranges;
}
