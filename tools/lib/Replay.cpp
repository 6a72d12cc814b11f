//===- Replay.cpp - a training step, op by op -----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "tools/lib/Replay.h"

#include "compiler/Phases.h"
#include "compiler/driver/Diagnostics.h"
#include "ir/Locations.h"
#include "ir/eval/Evaluate.h"
#include "runtime/train/Safetensors.h"

#include "sinter/program_names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace sinter;
using namespace sinter::tools;
using namespace sinter::compiler;
using namespace mlir;
using ir::Tensor;

namespace {

/// "from -1 to 2", "3 of 8 not finite, the others from -1 to 2".
std::string rangeText(const Tensor &tensor) {
  double least = INFINITY, greatest = -INFINITY;
  size_t numBad = 0;
  for (double value : tensor.floats) {
    if (!std::isfinite(value)) {
      ++numBad;
      continue;
    }
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  if (numBad == tensor.floats.size())
    os << "none of " << numBad << " finite";
  else if (numBad)
    os << numBad << " of " << tensor.floats.size()
       << " not finite, the others ";
  if (numBad < tensor.floats.size())
    os << "from " << llvm::format("%g", least) << " to "
       << llvm::format("%g", greatest);
  return text;
}

/// The first element that is not finite; nothing if there is none.
std::optional<size_t> firstBad(const Tensor &tensor) {
  for (auto [i, value] : llvm::enumerate(tensor.floats))
    if (!std::isfinite(value))
      return i;
  return std::nullopt;
}

class Replayer {
public:
  Replayer(const Options &options, ModuleOp module,
           const rt::SafetensorsFile &file)
      : options(options), module(module), file(file) {}

  ExitCode run() {
    if (ExitCode code = loadStates())
      return code;
    auto step = module.lookupSymbol<func::FuncOp>(SINTER_ENTRY_STEP),
         grad = module.lookupSymbol<func::FuncOp>(SINTER_ENTRY_GRAD),
         apply = module.lookupSymbol<func::FuncOp>(SINTER_ENTRY_APPLY);
    const int64_t parts = countParts();
    const int64_t expected = grad ? options.train.request.accumulate : 1;
    if (parts != expected)
      return wrong("holds " + llvm::Twine(parts) +
                   " micro-batches of all replicas, the program takes " +
                   llvm::Twine(expected) + "; --accumulate=" +
                   llvm::Twine(parts) + " without --replicas replays them");
    for (int64_t part = 0; part < parts; ++part)
      if (ExitCode code = runFunction(grad ? grad : step, part))
        return code;
    if (apply)
      if (ExitCode code = runFunction(apply, 0))
        return code;
    if (numFound)
      llvm::outs() << numFound << (numFound == 1 ? " op makes" : " ops make")
                   << " values that are not finite out of finite ones\n";
    else
      llvm::outs() << "no op makes values that are not finite out of finite "
                      "ones: the model's arithmetic does not explain what was "
                      "found\n";
    return numFound ? kExitFailed : kExitDone;
  }

private:
  ExitCode wrong(const llvm::Twine &text) {
    reportError(options, "--replay=" + options.run.replay + ": " + text);
    return kExitUsage;
  }

  /// The name of a state in files.
  std::string fileName(ir::StateOp state) {
    auto nameOf = [](ir::StateOp op) {
      return (op.getOnnx() ? *op.getOnnx() : op.getSymName()).str();
    };
    if (state.getRole() != ir::StateRole::slot &&
        state.getRole() != ir::StateRole::accum)
      return nameOf(state);
    auto owner = state.getOf()
                     ? module.lookupSymbol<ir::StateOp>(*state.getOf())
                     : ir::StateOp();
    return (state.getSlot() ? state.getSlot()->str() : "slot") + "/" +
           nameOf(owner ? owner : state);
  }

  /// Tensor `name` of the file as a value of `type`.
  std::optional<Tensor> load(const std::string &name, RankedTensorType type,
                             ExitCode &code) {
    const rt::SafetensorsFile::Entry *entry = file.find(name);
    if (!entry) {
      code = wrong("has no '" + name +
                   "': it is not of this model and these options");
      return std::nullopt;
    }
    const uint64_t sizeBytes = static_cast<uint64_t>(
        type.getNumElements() * ir::elementSizeBytes(type.getElementType()));
    if (entry->sizeBytes != sizeBytes ||
        ArrayRef<int64_t>(entry->dims) != type.getShape()) {
      code = wrong("'" + name +
                   "' has another shape or type than in this program");
      return std::nullopt;
    }
    std::vector<uint8_t> bytes(entry->sizeBytes);
    if (rt::Status status = file.read(*entry, bytes); !status.ok()) {
      code = wrong(status.message());
      return std::nullopt;
    }
    return Tensor::fromBytes(type, bytes.data());
  }

  ExitCode loadStates() {
    ExitCode code = kExitDone;
    for (auto state : module.getOps<ir::StateOp>()) {
      // Replicas without micro-batches have no sums; between steps all are 0.
      if (state.getRole() == ir::StateRole::accum &&
          !file.find("state/" + fileName(state))) {
        states[state.getSymName()] =
            Tensor(cast<RankedTensorType>(state.getType()));
        continue;
      }
      std::optional<Tensor> value =
          load("state/" + fileName(state),
               cast<RankedTensorType>(state.getType()), code);
      if (!value)
        return code;
      states[state.getSymName()] = std::move(*value);
    }
    return kExitDone;
  }

  int64_t countParts() {
    int64_t parts = 0;
    for (const rt::SafetensorsFile::Entry &entry : file.entries()) {
      StringRef name = entry.name;
      int64_t part = 0;
      if (name.consume_front(SINTER_REPLAY_INPUT) &&
          !name.split('/').first.getAsInteger(10, part))
        parts = std::max(parts, part + 1);
    }
    return parts;
  }

  std::optional<Tensor> argument(func::FuncOp function, unsigned i,
                                 int64_t part, ExitCode &code) {
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[i]);
    if (auto state = function.getArgAttrOfType<FlatSymbolRefAttr>(
            i, ir::SinterDialect::kStateAttr))
      return states[state.getValue()];
    if (auto input = function.getArgAttrOfType<StringAttr>(
            i, ir::SinterDialect::kInputAttr))
      return load(SINTER_REPLAY_INPUT + std::to_string(part) + "/" +
                      input.str(),
                  type, code);
    StringRef control =
        function
            .getArgAttrOfType<StringAttr>(i, ir::SinterDialect::kControlAttr)
            .getValue();
    if (control == SINTER_CONTROL_VALID_ROWS)
      return load(SINTER_REPLAY_VALID_ROWS + std::to_string(part), type, code);
    if (control != SINTER_CONTROL_MICRO_BATCH)
      return load(SINTER_REPLAY_CONTROL + control.str(), type, code);
    Tensor value(type);
    value.ints[0] = part;
    return value;
  }

  ExitCode runFunction(func::FuncOp function, int64_t part) {
    Block &body = function.getBody().front();
    llvm::DenseMap<Value, Tensor> values;
    ExitCode code = kExitDone;
    for (BlockArgument each : body.getArguments()) {
      std::optional<Tensor> value =
          argument(function, each.getArgNumber(), part, code);
      if (!value)
        return code;
      values[each] = std::move(*value);
    }
    std::string where = "entry '" + function.getSymName().str() + "'";
    if (function.getSymName() == SINTER_ENTRY_GRAD)
      where += ", micro-batch " + std::to_string(part);
    int64_t number = 0;
    for (Operation &op : body.without_terminator()) {
      SmallVector<Tensor> operands, results;
      for (Value operand : op.getOperands())
        operands.push_back(values[operand]);
      if (failed(ir::evaluateOp(&op, operands, results, ir::Rounding::each_op)))
        return kExitFailed;
      look(op, number++, where, operands, results);
      for (auto [result, value] : llvm::zip_equal(op.getResults(), results))
        values[result] = std::move(value);
    }
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
      if (auto state = function.getResultAttrOfType<FlatSymbolRefAttr>(
              i, ir::SinterDialect::kStateAttr))
        states[state.getValue()] = values[value];
    return kExitDone;
  }

  /// Prints a line if the op turns finite values into values that are not.
  void look(Operation &op, int64_t number, StringRef where,
            ArrayRef<Tensor> operands, ArrayRef<Tensor> results) {
    if (op.hasTrait<OpTrait::ConstantLike>() ||
        llvm::any_of(operands,
                     [](const Tensor &value) { return firstBad(value); }))
      return;
    for (const Tensor &result : results) {
      std::optional<size_t> bad = firstBad(result);
      if (!bad)
        continue;
      ++numFound;
      const double value = result.floats[*bad];
      llvm::outs() << where << ", op " << number << ": " << op.getName()
                   << " of '" << ir::joinedNodeNames(op.getLoc()) << "' makes "
                   << (std::isnan(value) ? "NaN"
                       : value > 0       ? "infinity"
                                         : "-infinity")
                   << " (element " << *bad << " of " << result.size() << "; "
                   << rangeText(result) << ")";
      for (auto [i, operand] : llvm::enumerate(operands))
        if (operand.isFloat() && operand.size() > 0)
          llvm::outs() << (i ? ", " : " from values ") << rangeText(operand);
      llvm::outs() << "\n";
      return;
    }
  }

  const Options &options;
  ModuleOp module;
  const rt::SafetensorsFile &file;
  llvm::StringMap<Tensor> states;
  int64_t numFound = 0;
};

} // namespace

ExitCode tools::replay(const Options &options,
                       llvm::ArrayRef<TargetFactory> targets) {
  if (!options.train.enabled) {
    reportError(options, "--replay needs the options that the trainer was "
                         "compiled with, at least --train");
    return kExitUsage;
  }
  if (options.train.request.replicas > 1) {
    reportError(options, "--replay runs the parts of all replicas one after "
                         "the other: use --accumulate=N for N parts in all, "
                         "without --replicas");
    return kExitUsage;
  }
  rt::Result<rt::SafetensorsFile> file =
      rt::SafetensorsFile::open(options.run.replay);
  if (!file.ok()) {
    reportError(options, file.status().message());
    return kExitUsage;
  }
  TargetSet set = createTargets(options, CompileState(options), targets);
  if (!set.main)
    return kExitUsage;
  Compilation compilation(options, CompileState(options), std::move(set));
  if (ExitCode code = compilation.checkOptions())
    return code;
  if (ExitCode code = compilation.run(*findPhase("precision")))
    return code;
  return Replayer(options, compilation.module(), *file).run();
}
