//===- GraphChecks.cpp - one random graph, run in many ways ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/fuzz/graphs/GraphChecks.h"

#include "ir/eval/Evaluate.h"
#include "test/compiled/CompiledModule.h"
#include "test/conformance/DataSet.h"
#include "test/fuzz/graphs/Closeness.h"
#include "test/ops/OpFixture.h"

#include "mlir/IR/MLIRContext.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace sinter::compiler;
using sinter::ir::Tensor;
using sinter::test::CompiledModule;
using sinter::test::CompileSettings;

namespace sinter::fuzz {

namespace {

/// Allowed error of finite differences in float64.
constexpr double kStep = 1e-5, kTolerance = 1e-4;

struct Mode {
  const char *name, *target;
  const char *libraries = "all", *precision = "";
  std::optional<unsigned> optLevel = std::nullopt;
  bool isGradient = false;
};

const Mode modes[] = {
    {"cpu", "cpu"},
    {"cpu-O0", "cpu", "all", "", 0},
    {"cpu-none", "cpu", "none"},
    {"cpu-bf16", "cpu", "all", "bf16"},
    {"sim", "sim"},
    {"sim-none", "sim", "none"},
    {"sim-bf16", "sim", "none", "bf16"},
    {"cpu-grad", "cpu", "all", "", std::nullopt, true},
    {"sim-grad", "sim", "all", "", std::nullopt, true},
};

const Mode *findMode(StringRef name) {
  for (const Mode &mode : modes)
    if (name == mode.name)
      return &mode;
  return nullptr;
}

class Graph {
public:
  Graph(std::string folder, const Report &report)
      : folder_(std::move(folder)), report_(report) {}

  void run(ArrayRef<std::string> names) {
    ImportErrors errors;
    model_ = loadOnnxFile(folder_ + "/model.onnx", errors);
    if (!model_)
      return report_("import", Outcome::Refused, errors.lines().front());
    std::string why;
    if (!readInputs(why))
      return report_("import", Outcome::Failed, why);
    OwningOpRef<ModuleOp> module = import(why);
    if (!module)
      return report_("import", Outcome::Refused, why);
    auto main = module->lookupSymbol<func::FuncOp>("main");
    exact_ = expect(main, inputs_, kFloat32);
    if (!exact_)
      return report_("eval", Outcome::Failed,
                     "no evaluation: " + context_.takeDiagnostics());
    if (!data_.outputs.empty())
      compareWithOracle();
    for (const std::string &name : names)
      runMode(*findMode(name));
  }

private:
  bool readInputs(std::string &why) {
    std::vector<conformance::DataSet> sets = conformance::readDataSets(folder_);
    if (sets.size() != 1) {
      why = "there are no inputs";
      return false;
    }
    data_ = std::move(sets.front());
    for (const std::string &bytes : data_.inputs) {
      auto tensor =
          conformance::parseTensor(*model_, bytes, context_.get(), why);
      if (!tensor)
        return false;
      inputs_.push_back(std::move(*tensor));
    }
    return true;
  }

  OwningOpRef<ModuleOp> import(std::string &why, bool checksIndices = false) {
    ImportErrors errors;
    ImportOptions options;
    // The result of the index checks is an additional result.
    options.uncheckedIndices = !checksIndices;
    OwningOpRef<ModuleOp> module =
        importOnnx(model_, options, context_.get(), errors);
    if (!module) {
      StringRef line = errors.lines().front();
      line.consume_front(folder_ + "/model.onnx: ");
      why = line.str();
    }
    return module;
  }

  void compareWithOracle() {
    std::vector<Tensor> outputs;
    std::string why;
    for (const std::string &bytes : data_.outputs) {
      auto tensor =
          conformance::parseTensor(*model_, bytes, context_.get(), why);
      if (!tensor)
        return report_("oracle", Outcome::Failed, why);
      outputs.push_back(std::move(*tensor));
    }
    compare("oracle", outputs, *exact_);
  }

  void compare(StringRef mode, ArrayRef<Tensor> actual,
               ArrayRef<Expected> expected) {
    if (actual.size() != expected.size())
      return report_(mode, Outcome::Failed,
                     "there are " + std::to_string(actual.size()) +
                         " outputs instead of " +
                         std::to_string(expected.size()));
    bool isStable = expected.empty();
    for (size_t i = 0; i < actual.size(); ++i) {
      isStable |= !expected[i].isUnstable;
      std::string text = difference(actual[i], expected[i]);
      if (!text.empty())
        return report_(mode, Outcome::Failed,
                       "output " + std::to_string(i) + " " + text);
    }
    report_(mode, isStable ? Outcome::Passed : Outcome::Unstable, "");
  }

  void runMode(const Mode &mode) {
    std::string why;
    bool isBf16 = StringRef(mode.precision) == "bf16";
    OwningOpRef<ModuleOp> module =
        import(why, /*checksIndices=*/!mode.isGradient && !isBf16);
    if (!module) // an index is known to be out of range
      return report_(mode.name, Outcome::Refused, why);
    auto main = module->lookupSymbol<func::FuncOp>("main");
    std::vector<Tensor> inputs = inputs_;
    if (mode.isGradient && !differentiate(mode, main, inputs))
      return;
    std::optional<std::vector<Expected>> own;
    if (mode.isGradient || isBf16)
      own = expect(main, inputs, isBf16 ? kBfloat16 : kFloat32);
    const std::optional<std::vector<Expected>> &expected = own ? own : exact_;
    CompileSettings settings;
    settings.target = mode.target;
    settings.libraries = {mode.libraries};
    settings.precision = mode.precision;
    settings.optLevel = mode.optLevel;
    std::unique_ptr<CompiledModule> compiled =
        CompiledModule::create(*module, settings, why);
    if (!compiled)
      return report_(mode.name, Outcome::Failed, "does not compile: " + why);
    auto outputs = compiled->run(inputs, why);
    if (!outputs)
      return report_(mode.name, Outcome::Failed, "does not run: " + why);
    compare(mode.name, *outputs, *expected);
  }

  /// Replaces the results of `main` by the gradients of a weighted sum of them.
  /// If true, the gradients agree with finite differences. False if there is
  /// nothing to compile; the outcome is then reported.
  bool differentiate(const Mode &mode, func::FuncOp &main,
                     std::vector<Tensor> &inputs) {
    Type f32 = Float32Type::get(context_.get());
    SmallVector<unsigned> wrt;
    for (auto [i, input] : llvm::enumerate(inputs))
      if (input.type().getElementType() == f32)
        wrt.push_back(i);
    if (wrt.empty() || llvm::none_of(main.getResultTypes(), [&](Type type) {
          return cast<RankedTensorType>(type).getElementType() == f32;
        })) {
      report_(mode.name, Outcome::None, "");
      return false;
    }
    func::FuncOp loss = test::makeScalarLoss(main, "loss", f32);
    func::FuncOp grad = test::makeScalarLoss(main, "grad", f32);
    for (Tensor &weight : test::drawWeights(loss, inputs.size(), f32))
      inputs.push_back(std::move(weight));
    SmallVector<bool> isNull;
    if (failed(test::returnGradients(grad, wrt, isNull))) {
      report_(mode.name, Outcome::None, context_.takeDiagnostics());
      return false;
    }
    std::vector<Tensor> gradients = test::evaluate(grad, inputs);
    std::string problem = gradients.empty()
                              ? "no evaluation: " + context_.takeDiagnostics()
                              : compareSlope(loss, inputs, wrt, gradients);
    loss.erase();
    main.erase();
    if (!problem.empty()) {
      report_(mode.name, Outcome::Failed, "gradient: " + problem);
      return false;
    }
    main = grad;
    main.setName("main");
    auto name = [&](const char *stem, unsigned i) {
      return StringAttr::get(context_.get(), stem + std::to_string(i));
    };
    for (unsigned i = inputs_.size(); i < grad.getNumArguments(); ++i)
      grad.setArgAttr(i, "sinter.input", name("weight", i));
    for (unsigned i = 0; i < grad.getNumResults(); ++i)
      grad.setResultAttr(i, "sinter.output", name("gradient", i));
    // A build without the names of nodes is refused.
    Location loc = NameLoc::get(StringAttr::get(context_.get(), "gradient"));
    grad.walk([&](Operation *op) { op->setLoc(loc); });
    return true;
  }

  /// The slope of `loss` in a random direction by the gradients and by central
  /// differences; a line if they differ. At a large kink there is nothing to
  /// compare; at a small one, each slope between those of both sides is right.
  std::string compareSlope(func::FuncOp loss, ArrayRef<Tensor> inputs,
                           ArrayRef<unsigned> wrt, ArrayRef<Tensor> gradients) {
    std::mt19937_64 random(7);
    std::vector<std::vector<double>> direction;
    double slope = 0, scale = 1;
    for (auto [k, i] : llvm::enumerate(wrt)) {
      std::vector<double> &part = direction.emplace_back();
      for (double gradient : gradients[k].floats) {
        part.push_back(double(random() >> 11) * 0x1p-52 - 1);
        slope += gradient * part.back();
        scale += std::fabs(gradient * part.back());
      }
    }
    auto lossAt = [&](double step) {
      std::vector<Tensor> moved(inputs.begin(), inputs.end());
      for (auto [k, i] : llvm::enumerate(wrt))
        for (auto [number, along] :
             llvm::zip_equal(moved[i].floats, direction[k]))
          number += step * along;
      std::vector<Tensor> results = test::evaluate(loss, moved);
      return results.empty() ? std::nan("") : results[0].floats[0];
    };
    double at = lossAt(0), above = lossAt(kStep), below = lossAt(-kStep),
           farAbove = lossAt(2 * kStep), farBelow = lossAt(-2 * kStep);
    double difference = (above - below) / (2 * kStep),
           far = (farAbove - farBelow) / (4 * kStep);
    double kink = std::fabs(above + below - 2 * at) / kStep;
    double most = kTolerance * scale + 1e-9 * std::fabs(at);
    if (!std::isfinite(difference) || std::fabs(difference - far) > most ||
        kink > 10 * most || std::fabs(difference - slope) <= most + kink / 2)
      return "";
    char text[160];
    std::snprintf(text, sizeof(text),
                  "the slope is %.9g by the rules and %.9g by differences",
                  slope, difference);
    return text;
  }

  std::string folder_;
  const Report &report_;
  test::TestContext context_;
  std::shared_ptr<const OnnxModel> model_;
  conformance::DataSet data_;
  std::vector<Tensor> inputs_;
  std::optional<std::vector<Expected>> exact_;
};

} // namespace

const char *nameOf(Outcome outcome) {
  switch (outcome) {
  case Outcome::Passed:
    return "passed";
  case Outcome::Unstable:
    return "unstable";
  case Outcome::Refused:
    return "refused";
  case Outcome::None:
    return "none";
  case Outcome::Failed:
    return "failed";
  }
  return "";
}

bool isMode(StringRef mode) { return findMode(mode); }

std::string modeNames() {
  std::string names;
  for (const Mode &mode : modes)
    names += (names.empty() ? "" : ",") + std::string(mode.name);
  return names;
}

void checkGraph(const std::string &folder, ArrayRef<std::string> names,
                const Report &report) {
  Graph(folder, report).run(names);
}

} // namespace sinter::fuzz
