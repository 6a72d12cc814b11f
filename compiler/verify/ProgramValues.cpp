//===- ProgramValues.cpp - inputs and results of a program ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/verify/ProgramValues.h"

#include "compiler/base/Text.h"

#include "sinter/program_names.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/xxhash.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;
using ir::Tensor;

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

namespace {

/// Finds what integers index, so that they stay in range.
class IndexRange {
public:
  /// One more than the largest index that all users of `value` take; 0: no
  /// user indexes.
  int64_t of(Value value) {
    visit(value);
    return limit;
  }

private:
  void take(int64_t size) { limit = limit ? std::min(limit, size) : size; }
  static int64_t sizeOf(Value value, int64_t axis) {
    auto type = ir::tensorType(value);
    return axis >= 0 && axis < type.getRank() ? type.getDimSize(axis) : 1;
  }
  void visit(Value value) {
    if (!seen.insert(value.getAsOpaquePointer()).second)
      return;
    for (Operation *user : value.getUsers())
      visitUser(user, value);
  }
  void visitUser(Operation *user, Value value) {
    if (auto gather = dyn_cast<ir::GatherOp>(user)) {
      if (gather.getIndices() == value)
        take(sizeOf(gather.getX(), gather.getAxis()));
    } else if (auto elements = dyn_cast<ir::GatherElementsOp>(user)) {
      if (elements.getIndices() == value)
        take(sizeOf(elements.getX(), elements.getAxis()));
    } else if (auto nd = dyn_cast<ir::GatherNdOp>(user)) {
      auto type = ir::tensorType(nd.getX());
      if (nd.getIndices() == value)
        for (int64_t size : type.getShape())
          take(size);
    } else if (auto loss = dyn_cast<ir::SoftmaxCrossEntropyOp>(user)) {
      if (loss.getLabels() == value)
        take(sizeOf(loss.getLogits(), loss.getAxis()));
    } else if (user->getNumResults() == 1 &&
               isa<ir::ReshapeOp, ir::BroadcastOp, ir::CastOp, ir::TransposeOp,
                   ir::SliceOp, ir::ConcatOp, ir::WhereOp, ir::MaxOp, ir::MinOp,
                   ir::CopyOp, ir::AddOp>(user)) {
      visit(user->getResult(0));
    }
  }

  llvm::SmallPtrSet<void *, 16> seen;
  int64_t limit = 0;
};

std::mt19937_64 randomOf(StringRef name) {
  return std::mt19937_64(llvm::xxh3_64bits(name));
}
double unit(std::mt19937_64 &random) {
  return double(random() >> 11) * 0x1p-53;
}

} // namespace

FailureOr<Tensor> ProgramInputs::input(func::FuncOp function, unsigned index,
                                       StringRef name) {
  BlockArgument argument = function.getArgument(index);
  auto type = ir::tensorType(argument);
  if (auto found = given_.find(name); found != given_.end()) {
    const GivenArray &array = found->second;
    const auto bytes =
        type.getNumElements() * ir::elementSizeBytes(type.getElementType());
    if (ArrayRef<int64_t>(array.dims) != type.getShape() ||
        array.bytes.size() != static_cast<size_t>(bytes))
      return function.emitError("input ") << quoted(name) << " is " << type
                                          << ", --inputs has " << array.type;
    return Tensor::fromBytes(type, array.bytes.data());
  }
  Tensor value(type);
  std::mt19937_64 random = randomOf(name);
  for (double &number : value.floats)
    number = 2 * unit(random) - 1;
  const int64_t limit = value.isFloat() ? 0 : IndexRange().of(argument);
  const bool isByte = type.getElementType().getIntOrFloatBitWidth() == 8;
  const uint64_t range = limit ? limit : isByte ? 100 : 2;
  for (int64_t &number : value.ints)
    number = static_cast<int64_t>(
        (random() >> 16) % (type.getElementType().isInteger(1) ? 2 : range));
  value.roundToStorage();
  return value;
}

const Tensor &ProgramInputs::state(ModuleOp module, StringRef name) {
  auto known = states_.find(name.str());
  if (known != states_.end())
    return known->second;
  auto op = module.lookupSymbol<ir::StateOp>(name);
  Tensor value(cast<RankedTensorType>(op.getType()));
  const std::string nameInFile =
      op.getOnnx() ? op.getOnnx()->str() : name.str();
  auto found = given_.find(nameInFile);
  if (found != given_.end() &&
      ArrayRef<int64_t>(found->second.dims) == value.shape() &&
      found->second.bytes.size() == value.toBytes().size()) {
    value = Tensor::fromBytes(value.type(), found->second.bytes.data());
  } else if (op.getInit()) {
    if (auto init = Tensor::fromAttr(*op.getInit()); succeeded(init))
      value = std::move(*init);
  } else if (op.getRole() == ir::StateRole::slot) {
    // Zeros would hide terms of an optimizer's update. Those that are squared
    // or divided by are positive.
    std::mt19937_64 random = randomOf(name);
    for (double &number : value.floats)
      number = 0.01 + 0.01 * unit(random);
    value.roundToStorage();
  }
  return states_.emplace(name.str(), std::move(value)).first->second;
}

GivenArrays ProgramInputs::inputArrays() const {
  GivenArrays arrays = given_;
  for (auto &[name, value] : inputs_)
    arrays[name] = {value.shape().vec(), "", value.toBytes()};
  return arrays;
}

int64_t ProgramInputs::validRows(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (function.getArgAttr(i, ir::SinterDialect::kInputAttr)) {
      auto type = ir::tensorType(function.getArgument(i));
      if (type.getRank() > 0)
        return std::max<int64_t>(1, type.getDimSize(0) - 1);
    }
  return 1;
}

Tensor ProgramInputs::control(StringRef name, RankedTensorType type,
                              int64_t validRows, int64_t microBatch) {
  Tensor value(type);
  const double number = name == SINTER_CONTROL_LR             ? 0.125
                        : name == SINTER_CONTROL_WEIGHT_DECAY ? 0.0625
                        : name == SINTER_CONTROL_CLIP_NORM    ? 0.5
                        : name == SINTER_CONTROL_STEP         ? 2
                        : name == SINTER_CONTROL_SEED         ? 7
                        : name == SINTER_CONTROL_VALID_ROWS   ? validRows
                        : name == SINTER_CONTROL_MICRO_BATCH  ? microBatch
                                                              : 0;
  if (value.isFloat())
    value.floats.assign(value.floats.size(), number);
  else
    value.ints.assign(value.ints.size(), static_cast<int64_t>(number));
  return value;
}

FailureOr<Tensor> ProgramInputs::argument(func::FuncOp function,
                                          unsigned index) {
  auto name = function.getArgAttrOfType<StringAttr>(
      index, ir::SinterDialect::kInputAttr);
  if (!name)
    return function.emitError("argument ")
           << index << " is neither input, state nor control";
  auto known = inputs_.find(name.str());
  if (known != inputs_.end())
    return known->second;
  FailureOr<Tensor> value = input(function, index, name.getValue());
  if (succeeded(value))
    inputs_.emplace(name.str(), *value);
  return value;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

std::string compiler::whyNotEvaluated(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    StringRef name = function.getSymName();
    if (function.isPrivate() && ir::numDevices(module) < 2)
      continue; // the body of a scan
    if (!llvm::is_contained({SINTER_ENTRY_MAIN, SINTER_ENTRY_STEP,
                             SINTER_ENTRY_GRAD, SINTER_ENTRY_APPLY,
                             SINTER_ENTRY_EVAL, SINTER_ENTRY_REFRESH},
                            name) ||
        !function.getBody().hasOneBlock())
      return "a program with a function " + quoted(name) +
             ", as for several devices, cannot be evaluated: not yet";
    // One evaluation is one replica, whose peers hold the same values.
    StringRef divided;
    function.walk([&](ir::CollectiveOpInterface op) {
      if (!isa<ir::EvaluateOpInterface>(op.getOperation()))
        divided = op->getName().stripDialect();
    });
    if (!divided.empty())
      return "a program whose replicas divide states (--shard) cannot be "
             "evaluated, because of its " +
             divided.str() + ": not yet";
  }
  return "";
}

static std::string stateAfter(StringRef state, StringRef entry) {
  return "state " + quoted(state) + " after " + entry.str();
}

const Tensor *compiler::newState(const ProgramResults &results,
                                 StringRef state) {
  for (StringRef entry :
       {SINTER_ENTRY_STEP, SINTER_ENTRY_APPLY, SINTER_ENTRY_GRAD})
    if (auto found = results.find(stateAfter(state, entry));
        found != results.end())
      return &found->second;
  return nullptr;
}

std::string compiler::wrongRounding(ModuleOp module,
                                    const ProgramResults &results) {
  for (auto state : module.getOps<ir::StateOp>()) {
    if (state.getRole() != ir::StateRole::rounded)
      continue;
    for (StringRef entry : {SINTER_ENTRY_STEP, SINTER_ENTRY_APPLY}) {
      auto rounded = results.find(stateAfter(state.getSymName(), entry)),
           whole = results.find(stateAfter(*state.getOf(), entry));
      if (rounded == results.end() || whole == results.end())
        continue;
      const Tensor &narrow = rounded->second, &wide = whole->second;
      const double rounding = unitRoundoff(narrow.type().getElementType());
      for (int64_t i = 0; i < std::min(narrow.size(), wide.size()); ++i)
        if (!(std::fabs(narrow.floats[i] - wide.floats[i]) <=
              2 * rounding * std::fabs(wide.floats[i]) + 0x1p-24))
          return rounded->first + ": element " + std::to_string(i) + " is " +
                 std::to_string(narrow.floats[i]) +
                 ", its parameter has there " + std::to_string(wide.floats[i]);
    }
  }
  return "";
}

namespace {

class ProgramRun {
public:
  ProgramRun(ModuleOp module, ProgramInputs &inputs,
             const EvaluationOptions &options)
      : module(module), inputs(inputs), options(options) {}

  FailureOr<ProgramResults> run() {
    for (auto op : module.getOps<ir::StateOp>())
      states[op.getSymName()] = inputs.state(module, op.getSymName());
    // States that the program itself computes before its first run.
    if (failed(runEntry(SINTER_ENTRY_REFRESH, 0)))
      return failure();
    results.clear();
    auto before = states;
    if (failed(runEntry(SINTER_ENTRY_MAIN, 0)) ||
        failed(runEntry(SINTER_ENTRY_STEP, 0)))
      return failure();
    for (int64_t part = 0; part < inputs.accumulate(); ++part)
      if (failed(runEntry(SINTER_ENTRY_GRAD, part)))
        return failure();
    if (failed(runEntry(SINTER_ENTRY_APPLY, 0)))
      return failure();
    states = before;
    if (failed(runEntry(SINTER_ENTRY_EVAL, 0)))
      return failure();
    return std::move(results);
  }

private:
  LogicalResult runEntry(StringRef name, int64_t microBatch) {
    auto function = module.lookupSymbol<func::FuncOp>(name);
    if (!function)
      return success();
    SmallVector<Tensor> arguments;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      if (auto state = function.getArgAttrOfType<FlatSymbolRefAttr>(
              i, ir::SinterDialect::kStateAttr)) {
        arguments.push_back(states[state.getValue()]);
      } else if (auto field = function.getArgAttrOfType<StringAttr>(
                     i, ir::SinterDialect::kControlAttr)) {
        arguments.push_back(ProgramInputs::control(
            field.getValue(), ir::tensorType(function.getArgument(i)),
            ProgramInputs::validRows(function), microBatch));
      } else {
        auto value = inputs.argument(function, i);
        if (failed(value))
          return failure();
        arguments.push_back(std::move(*value));
      }
    }
    auto values = evaluate(function.getBody().front(), arguments, options);
    if (failed(values))
      return failure();
    for (auto [i, value] : llvm::enumerate(*values))
      keep(function, i, value);
    return success();
  }

  void keep(func::FuncOp function, unsigned index, const Tensor &value) {
    std::string entry = function.getSymName().str();
    if (auto state = function.getResultAttrOfType<FlatSymbolRefAttr>(
            index, ir::SinterDialect::kStateAttr)) {
      // A rounded state may have more rows than its result; they stay zeros.
      Tensor &kept = states[state.getValue()];
      for (int64_t i = 0; i < value.size(); ++i)
        kept.copyElement(i, value, i);
      results[stateAfter(state.getValue(), entry)] = value;
    } else if (auto output = function.getResultAttrOfType<StringAttr>(
                   index, ir::SinterDialect::kOutputAttr)) {
      results["output " + quoted(output.getValue()) + " of " + entry] = value;
    }
  }

  ModuleOp module;
  ProgramInputs &inputs;
  const EvaluationOptions &options;
  llvm::StringMap<Tensor> states;
  ProgramResults results;
};

} // namespace

FailureOr<ProgramResults>
compiler::runProgram(ModuleOp module, ProgramInputs &inputs,
                     const EvaluationOptions &options) {
  return ProgramRun(module, inputs, options).run();
}
