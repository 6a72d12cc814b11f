//===- TrainingIndicesTest.cpp - a step with an index out of range --------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Such a step changes no state: neither parameters nor slots, running
// statistics or the loss scale. Evaluated by the reference.
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"
#include "test/ops/OpFixture.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <catch2/catch.hpp>

#include <map>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;
using ir::Tensor;

namespace {

constexpr const char *kProgram = R"(
sinter.state @table : tensor<5x3xf32> {role = #sinter<role param>}
sinter.state @mean : tensor<3xf32> {role = #sinter<role buffer>}
sinter.state @variance : tensor<3xf32> {role = #sinter<role buffer>}
func.func @main(%words: tensor<4xi64> {sinter.input = "words"},
                %table: tensor<5x3xf32> {sinter.state = @table},
                %mean: tensor<3xf32> {sinter.state = @mean},
                %variance: tensor<3xf32> {sinter.state = @variance})
    -> (tensor<4x3xf32> {sinter.output = "y"},
        tensor<1x2xi64> {sinter.index_checks =
          [{node = "look_up", lower = -5, upper = 5, elements = 4}]}) {
  %fault = sinter.index_fault %words from -5 to 5 : (tensor<4xi64>) -> tensor<2xi64>
  %faults = sinter.reshape %fault : tensor<2xi64> -> tensor<1x2xi64>
  %rows = sinter.gather %table, %words axis 0 : (tensor<5x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  %one = sinter.constant dense<1.0> : tensor<3xf32>
  %zero = sinter.constant dense<0.0> : tensor<3xf32>
  %y = sinter.batch_norm %rows, %one, %zero, %mean, %variance {epsilon = 1.0e-5 : f64}
     : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  return %y, %faults : tensor<4x3xf32>, tensor<1x2xi64>
}
)";

/// Holds the states of a program by name, and runs its functions on them.
class Run {
public:
  Run(TestContext &context, const passes::BuildTrainingOptions &options)
      : module(parseSourceString<ModuleOp>(kProgram, context.get())) {
    REQUIRE(module);
    PassManager passes(context.get());
    passes.addPass(passes::createBuildTraining(options));
    REQUIRE(succeeded(passes.run(*module)));
  }

  /// Runs function `name` on `words`, in micro-batch `part`; returns what the
  /// index checks found.
  std::vector<int64_t> run(StringRef name, std::vector<int64_t> words,
                           int64_t part = 0) {
    auto function = module->lookupSymbol<func::FuncOp>(name);
    REQUIRE(function);
    std::vector<Tensor> arguments;
    for (unsigned k = 0; k < function.getNumArguments(); ++k)
      arguments.push_back(argument(function, k, words, part));
    std::vector<Tensor> results = evaluate(function, arguments);
    std::vector<int64_t> found;
    for (unsigned k = 0; k < results.size(); ++k) {
      if (auto symbol = function.getResultAttrOfType<FlatSymbolRefAttr>(
              k, ir::SinterDialect::kStateAttr))
        states[symbol.getValue().str()] = results[k];
      if (function.getResultAttr(k, ir::SinterDialect::kIndexChecksAttr))
        found = results[k].ints;
    }
    return found;
  }

  /// All states except those of micro-batches.
  std::map<std::string, std::vector<double>> lasting() {
    std::map<std::string, std::vector<double>> values;
    for (auto &[name, tensor] : states)
      if (module->lookupSymbol<ir::StateOp>(name).getRole() !=
          ir::StateRole::accum)
        values[name] =
            tensor.isFloat()
                ? tensor.floats
                : std::vector<double>(tensor.ints.begin(), tensor.ints.end());
    return values;
  }

private:
  Tensor argument(func::FuncOp function, unsigned k,
                  const std::vector<int64_t> &words, int64_t part) {
    Tensor tensor(cast<RankedTensorType>(function.getArgumentTypes()[k]));
    if (auto input = function.getArgAttrOfType<StringAttr>(
            k, ir::SinterDialect::kInputAttr)) {
      if (input == "words")
        tensor.ints.assign(words.begin(), words.end());
      else
        for (size_t i = 0; i < tensor.floats.size(); ++i)
          tensor.floats[i] = double(i % 5);
      return tensor;
    }
    if (auto control = function.getArgAttrOfType<StringAttr>(
            k, ir::SinterDialect::kControlAttr)) {
      if (tensor.isFloat())
        tensor.floats = {0.5};
      else
        tensor.ints = {control == "micro_batch" ? part : 0};
      return tensor;
    }
    std::string name = function
                           .getArgAttrOfType<FlatSymbolRefAttr>(
                               k, ir::SinterDialect::kStateAttr)
                           .getValue()
                           .str();
    if (states.count(name))
      return states[name];
    for (size_t i = 0; i < tensor.floats.size(); ++i)
      tensor.floats[i] = 1 + double(i * i % 7);
    return states[name] = tensor;
  }

  OwningOpRef<ModuleOp> module;
  std::map<std::string, Tensor> states;
};

using Found = std::vector<int64_t>;

passes::BuildTrainingOptions optionsWith(const char *optimizer,
                                         const char *lossScale) {
  passes::BuildTrainingOptions options;
  options.loss = "mse";
  options.optimizer = optimizer;
  options.lossScale = lossScale;
  return options;
}

} // namespace

TEST_CASE("a step with an index out of range changes no state") {
  TestContext context;
  for (const char *optimizer : {"sgd", "adam", "lion"})
    for (const char *lossScale : {"none", "dynamic"}) {
      INFO(optimizer << " " << lossScale);
      passes::BuildTrainingOptions options = optionsWith(optimizer, lossScale);
      if (StringRef(optimizer) == "sgd")
        options.momentum = 0.9;
      options.ema = 0.9;
      Run run(context, options);
      CHECK(run.run("step", {0, -5, 4, 2}) == Found{0, 0});
      auto before = run.lasting();
      CHECK(run.run("step", {0, 1, 5, -6}) == Found{3, 5});
      CHECK(run.lasting() == before);
      CHECK(run.run("step", {-6, 1, 5, 0}) == Found{1, -6});
      CHECK(run.lasting() == before);
      CHECK(run.run("step", {0, -5, 4, 2}) == Found{0, 0});
      auto after = run.lasting();
      for (auto &[name, values] : before)
        if (name != "skipped_steps")
          CHECK((after[name] != values || name == "loss_scale"));
    }
  CHECK(context.takeDiagnostics() == "");
}

TEST_CASE("an index out of range in one micro-batch stops the whole step") {
  TestContext context;
  passes::BuildTrainingOptions options = optionsWith("adam", "none");
  options.accumulate = 4;
  options.freezeBatchNorm = true;
  for (bool pairwise : {false, true}) {
    options.pairwise = pairwise;
    Run run(context, options);
    auto step = [&](Found third) {
      for (int64_t part = 0; part < 4; ++part)
        run.run("grad", part == 2 ? third : Found{0, 1, 2, 3}, part);
      return run.run("apply", {});
    };
    CHECK(step({0, 1, 2, 3}) == Found{0, 0});
    auto before = run.lasting();
    // The first of micro-batch 2, which begins at position 8.
    CHECK(step({0, 9, 2, 77}) == Found{10, 9});
    CHECK(run.lasting() == before);
    CHECK(step({0, 1, 2, 3}) == Found{0, 0});
    CHECK(run.lasting() != before);
  }
  CHECK(context.takeDiagnostics() == "");
}

TEST_CASE("evaluation tells of indices out of range") {
  TestContext context;
  Run run(context, optionsWith("sgd", "none"));
  CHECK(run.run("eval", {0, 1, 2, 3}) == Found{0, 0});
  CHECK(run.run("eval", {0, 1, 2, 5}) == Found{4, 5});
}
