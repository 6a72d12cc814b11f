//===- Quantization.cpp - ranges of 8-bit codes ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/Quantization.h"

#include "compiler/Phases.h"
#include "compiler/base/Text.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/HostProgram.h"
#include "compiler/driver/OutputErrors.h"
#include "compiler/driver/RangeHistogram.h"
#include "ir/Locations.h"
#include "passes/ValueBuilder.h"
#include "passes/precision/PrecisionReport.h"
#include "passes/simplify/QuantizableOps.h"

#include "sinter/program_names.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace sinter;
using namespace sinter::compiler;

namespace {

/// Most nodes or outputs that a message names.
constexpr size_t kNamed = 3;

/// One contraction of floats, and the tensor that its input has the elements
/// of.
struct Contraction {
  std::string key, node, reason;
  size_t tensor = 0;
  std::pair<double, double> range;
  double lost = 0, whole = 0; // of its own results: see findErrors
};

class PostTraining {
public:
  PostTraining(const Options &options, CompileState &state, ModuleOp simplified,
               llvm::ArrayRef<TargetFactory> targets, const BatchRunner &run)
      : options(options), state(state), simplified(simplified),
        targets(targets), runner(run) {}

  ExitCode run() {
    findContractions();
    if (llvm::none_of(contractions, canBeQuantized))
      return failed("--quantize=int8: no contraction can be quantised" +
                    (contractions.empty() ? std::string() : ": " + keptText()));
    if (ExitCode code = findRanges())
      return code;
    if (ExitCode code = compare(settingsWithout({}), errors))
      return code;
    if (options.quantize.error > 0 && worst(errors) > options.quantize.error)
      if (ExitCode code = keepSensitive())
        return code;
    state.quantization = settingsWithout({});
    report();
    return kExitDone;
  }

private:
  static bool canBeQuantized(const Contraction &contraction) {
    return contraction.reason.empty();
  }

  static func::FuncOp mainOf(ModuleOp module) {
    return module.lookupSymbol<func::FuncOp>(SINTER_ENTRY_MAIN);
  }
  std::vector<passes::QuantizableOp> opsOf(func::FuncOp main) {
    return passes::quantizableOps(main, options.keepFp32.joined());
  }

  ExitCode failed(const llvm::Twine &text) {
    reportError(options, text);
    return kExitUsage;
  }

  void findContractions() {
    func::FuncOp main = mainOf(simplified);
    llvm::DenseMap<Operation *, std::string> keys; // of float32 ops
    for (auto &[op, entry] : passes::precisionOps(main))
      keys[op] = entry.key();
    for (const passes::QuantizableOp &found : opsOf(main))
      contractions.push_back({keys.lookup(found.op),
                              ir::joinedNodeNames(found.op->getLoc()),
                              found.reason});
  }

  /// Compiles @main with other results and runs it on all batches.
  ExitCode measure(
      ModuleOp module,
      llvm::function_ref<std::string(llvm::ArrayRef<std::vector<char>>)> take,
      int times = 1, llvm::function_ref<void()> between = nullptr) {
    ExitCode code = kExitDone;
    std::string wrong;
    std::unique_ptr<Jit> jit = compileForHost(
        module, options, *findPhase("place"), targets, code, wrong);
    for (int i = 0; jit && wrong.empty() && i < times; ++i) {
      if (i > 0)
        between();
      wrong =
          runner(*jit->artifact(), {options.calibrate, "", false}, take, rows);
    }
    if (!wrong.empty())
      return failed("--calibrate=" + options.calibrate + ": " + wrong);
    if (code != kExitDone)
      reportError(options, "--quantize=int8: a program that calibration runs "
                           "cannot be compiled for the CPU");
    return code;
  }

  /// Chooses the ranges of the inputs, one for each tensor.
  ExitCode findRanges() {
    OwningOpRef<ModuleOp> module = simplified.clone();
    func::FuncOp main = mainOf(*module);
    llvm::MapVector<Value, std::string> tensors; // with the node that reads it
    for (auto [found, contraction] :
         llvm::zip_equal(opsOf(main), contractions)) {
      if (!canBeQuantized(contraction))
        continue;
      Value tensor = passes::sameElements(found.op->getOperand(found.input));
      contraction.tensor =
          tensors.insert({tensor, contraction.node}).first - tensors.begin();
    }
    SmallVector<Value> values;
    for (auto &[value, node] : tensors)
      values.push_back(value);
    returnValues(main, values);
    histograms.resize(values.size());
    bool counts = false;
    auto take = [&](llvm::ArrayRef<std::vector<char>> outputs) -> std::string {
      for (auto [histogram, bytes, tensor] :
           llvm::zip_equal(histograms, outputs, tensors)) {
        llvm::ArrayRef<float> numbers(
            reinterpret_cast<const float *>(bytes.data()),
            bytes.size() / sizeof(float));
        if (counts)
          histogram.count(numbers);
        else
          histogram.extremes(numbers);
        if (!histogram.isFinite())
          return "the input of node '" + shown(tensor.second) +
                 "' has values that are not finite";
      }
      return "";
    };
    const bool wantsCounts = options.quantize.ranges != "minmax";
    ExitCode code =
        measure(*module, take, wantsCounts ? 2 : 1, [&] { counts = true; });
    for (Contraction &contraction : contractions)
      if (code == kExitDone && canBeQuantized(contraction))
        contraction.range =
            histograms[contraction.tensor].range(options.quantize.ranges);
    return code;
  }

  /// The request, with the contractions of these positions kept.
  passes::QuantizeSettings settingsWithout(llvm::ArrayRef<size_t> kept) {
    passes::QuantizeSettings settings;
    for (auto [i, contraction] : llvm::enumerate(contractions)) {
      auto [low, high] = contraction.range;
      if (!canBeQuantized(contraction) || llvm::is_contained(kept, i))
        settings.kept.emplace_back(contraction.key, contraction.reason);
      else
        settings.ranges.push_back({contraction.key, low, high});
    }
    return settings;
  }

  /// Compares the outputs of the float32 program and of the quantised one. Both
  /// are in one function, so that no outputs need to be kept.
  ExitCode compare(const passes::QuantizeSettings &settings,
                   std::vector<OutputError> &result) {
    OwningOpRef<ModuleOp> module = simplified.clone(),
                          quantized = simplified.clone();
    PassManager pm(quantized->getContext());
    addQuantization(pm, options, settings);
    if (mlir::failed(pm.run(*quantized)))
      return kExitFailed;
    func::FuncOp main = mainOf(*module), other = mainOf(*quantized);
    IRMapping mapping;
    for (auto [to, from] :
         llvm::zip_equal(main.getArguments(), other.getArguments()))
      mapping.map(from, to);
    Operation *end = main.getBody().front().getTerminator();
    OpBuilder builder(end);
    for (Operation &op : other.getBody().front().without_terminator())
      builder.clone(op, mapping);
    SmallVector<Value> values;
    SmallVector<RankedTensorType> types;
    result.clear();
    Operation *otherEnd = other.getBody().front().getTerminator();
    for (unsigned i = 0; i < end->getNumOperands(); ++i) {
      auto type = cast<RankedTensorType>(end->getOperand(i).getType());
      if (!isa<FloatType>(type.getElementType()))
        continue;
      types.push_back(type);
      values.push_back(end->getOperand(i));
      values.push_back(mapping.lookupOrDefault(otherEnd->getOperand(i)));
      auto name = main.getResultAttrOfType<StringAttr>(
          i, ir::SinterDialect::kOutputAttr);
      result.push_back({name ? name.str() : "output " + std::to_string(i)});
    }
    if (values.empty())
      return kExitDone;
    returnValues(main, values);
    return measure(*module, [&](llvm::ArrayRef<std::vector<char>> outputs) {
      for (auto [i, type] : llvm::enumerate(types))
        result[i].add(ir::Tensor::fromBytes(type, outputs[2 * i].data()),
                      ir::Tensor::fromBytes(type, outputs[2 * i + 1].data()));
      return std::string();
    });
  }

  static double worst(llvm::ArrayRef<OutputError> list) {
    double largest = 0;
    for (const OutputError &error : list)
      largest = std::max(largest, error.relative());
    return largest;
  }

  /// Measures what quantising each contraction alone changes in its results.
  ExitCode findErrors() {
    OwningOpRef<ModuleOp> module = simplified.clone();
    func::FuncOp main = mainOf(*module);
    SmallVector<Value> values;
    SmallVector<Contraction *> order;
    for (auto [found, contraction] :
         llvm::zip_equal(opsOf(main), contractions)) {
      if (!canBeQuantized(contraction))
        continue;
      OpBuilder builder(found.op->getContext());
      builder.setInsertionPointAfter(found.op);
      Value exact = found.op->getResult(0);
      Operation *copy = builder.clone(*found.op);
      passes::ValueBuilder b(builder, found.op->getLoc());
      SmallVector<int64_t> all =
          passes::firstDims(ir::tensorType(exact).getRank());
      for (Value value : {b.sub(copy->getResult(0), exact), exact}) {
        Value square = b.square(value);
        values.push_back(all.empty() ? square : b.sum(square, all));
      }
      passes::quantizeContraction({copy, found.input, ""},
                                  contraction.range.first,
                                  contraction.range.second);
      order.push_back(&contraction);
    }
    returnValues(main, values);
    return measure(*module, [&](llvm::ArrayRef<std::vector<char>> outputs) {
      auto scalar = [&](size_t i) {
        float value = 0;
        std::memcpy(&value, outputs[i].data(), sizeof(value));
        return static_cast<double>(value);
      };
      for (auto [i, contraction] : llvm::enumerate(order)) {
        contraction->lost += scalar(2 * i);
        contraction->whole += scalar(2 * i + 1);
      }
      return std::string();
    });
  }

  /// Keeps the fewest of the contractions with the largest errors with which
  /// the outputs are as good as asked.
  ExitCode keepSensitive() {
    if (ExitCode code = findErrors())
      return code;
    auto errorOf = [&](size_t i) {
      auto [lost, whole] =
          std::pair(contractions[i].lost, contractions[i].whole);
      double ratio = lost == 0 ? 0 : std::sqrt(lost / whole);
      return std::isnan(ratio) ? std::numeric_limits<double>::infinity()
                               : ratio;
    };
    std::vector<size_t> order;
    for (size_t i = 0; i < contractions.size(); ++i)
      if (canBeQuantized(contractions[i]))
        order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return errorOf(a) > errorOf(b);
    });
    size_t tooFew = 0, enough = order.size();
    std::vector<OutputError> best(errors);
    for (OutputError &error : best)
      error.lost = 0, error.agreeing = error.rows;
    while (enough - tooFew > 1) {
      size_t middle = tooFew + (enough - tooFew) / 2;
      std::vector<OutputError> tried;
      if (ExitCode code = compare(
              settingsWithout(llvm::ArrayRef(order).take_front(middle)), tried))
        return code;
      if (worst(tried) <= options.quantize.error) {
        enough = middle;
        best = std::move(tried);
      } else {
        tooFew = middle;
      }
    }
    errors = std::move(best);
    for (size_t i : llvm::ArrayRef(order).take_front(enough))
      contractions[i].reason = "error=" + shortNumber(options.quantize.error) +
                               ": quantised, its result has the relative rms "
                               "error " +
                               shortNumber(errorOf(i));
    return kExitDone;
  }

  /// "2: --keep-fp32 ('a', 'b')", for each reason.
  std::string keptText() const {
    llvm::MapVector<StringRef, std::vector<std::string>> byReason;
    for (const Contraction &contraction : contractions)
      if (!canBeQuantized(contraction)) {
        StringRef reason = StringRef(contraction.reason).split(": ").first;
        byReason[reason].push_back("'" + shown(contraction.node) + "'");
      }
    std::string text;
    for (auto &[reason, nodes] : byReason)
      text += (text.empty() ? "" : "; ") + std::to_string(nodes.size()) + ": " +
              reason.str() + " (" +
              llvm::join(llvm::ArrayRef(nodes).take_front(kNamed), ", ") +
              (nodes.size() > kNamed ? ", ..)" : ")");
    return text;
  }

  void report() const {
    auto numQuantized = llvm::count_if(contractions, canBeQuantized);
    llvm::raw_ostream &os = llvm::errs();
    os << options.tool << ": quantisation: " << numQuantized << " of "
       << contractions.size() << " contractions in int8, ranges by "
       << options.quantize.ranges << " of " << rows.used << " rows";
    if (rows.left > 0)
      os << " (the last " << rows.left << " do not fill a batch)";
    if (std::string kept = keptText(); !kept.empty())
      os << "; float32: " << kept;
    os << "\n";
    if (errors.empty())
      return;
    // The largest errors come first.
    std::vector<OutputError> list = errors;
    std::stable_sort(list.begin(), list.end(),
                     [](const OutputError &a, const OutputError &b) {
                       return a.relative() > b.relative();
                     });
    os << options.tool << ": quantisation: relative rms error of the outputs: "
       << llvm::join(llvm::map_range(
                         llvm::ArrayRef(list).take_front(kNamed),
                         [](const OutputError &error) { return error.text(); }),
                     ", ");
    if (list.size() > kNamed)
      os << ", " << list.size() - kNamed << " more with less";
    os << "\n";
  }

  const Options &options;
  CompileState &state;
  ModuleOp simplified;
  llvm::ArrayRef<TargetFactory> targets;
  const BatchRunner &runner;
  std::vector<Contraction> contractions;
  std::vector<RangeHistogram> histograms; // of the tensors
  std::vector<OutputError> errors;
  BatchRows rows;
};

} // namespace

ExitCode compiler::calibrateQuantization(const Options &options,
                                         CompileState &state,
                                         llvm::ArrayRef<TargetFactory> targets,
                                         const BatchRunner &run) {
  auto refuse = [&](const llvm::Twine &why) {
    reportError(options, why);
    return kExitUsage;
  };
  for (const Phase &phase : phaseTable())
    if (std::string why = phase.refuse ? phase.refuse(options, state) : "";
        !why.empty())
      return refuse(why);
  if (options.targets.size() > 1)
    return refuse("--quantize=int8 takes only one target");
  if (!options.stateRules.empty())
    return refuse("--calibrate does not know what the states of --state will "
                  "hold: not yet");
  TargetSet set = createTargets(options, state, targets);
  if (!set.main)
    return kExitUsage;
  CompileState trial = state.asTrial();
  trial.quantization.reset();
  Compilation simplified(options, trial, std::move(set));
  std::string quantizedAt;
  simplified.afterPhase = [&](const Phase &phase, ModuleOp module,
                              const PhaseContext &) {
    if (&phase == findPhase("import"))
      quantizedAt = passes::quantizedNode(module);
    return kExitDone;
  };
  // The compilation itself reports what is wrong with the model.
  if (simplified.run(*findPhase("simplify")) != kExitDone)
    return kExitDone;
  if (!quantizedAt.empty())
    return refuse("--quantize=int8: the model is quantised already: node '" +
                  shown(quantizedAt) + "' reads quantised values");
  return PostTraining(options, state, simplified.module(), targets, run).run();
}
