//===- TrainingTest.cpp - the train phase against PyTorch -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// test/models/train-step.json has PyTorch's results in float64 for a few steps
// of small programs. The same programs go through the train phase, and the
// reference evaluates @step, also in float64.
//
//===----------------------------------------------------------------------===//
#include "ir/Remarks.h"
#include "ir/exec/Exec.h"
#include "passes/Passes.h"
#include "sinter/program_names.h"
#include "test/ops/OpFixture.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <map>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;
using ir::Tensor;

namespace {

constexpr double kTolerance = 1e-6;

std::vector<double> numbers(const llvm::json::Value *value) {
  std::vector<double> list;
  for (const llvm::json::Value &element : *value->getAsArray())
    list.push_back(*element.getAsNumber());
  return list;
}

llvm::json::Object loadReference() {
  auto buffer = llvm::MemoryBuffer::getFile(SINTER_TRAIN_STEP_JSON);
  REQUIRE(buffer);
  llvm::Expected<llvm::json::Value> parsed =
      llvm::json::parse((*buffer)->getBuffer());
  REQUIRE(bool(parsed));
  return std::move(*parsed->getAsObject());
}

/// first (and a batch norm), tanh, last, as MLIR text in float64.
std::string programText(int64_t batch, int64_t inputs, int64_t hidden,
                        int64_t outputs, bool norm) {
  auto type = [](std::initializer_list<int64_t> shape) {
    std::string text = "tensor<";
    for (int64_t size : shape)
      text += std::to_string(size) + "x";
    return text + "f64>";
  };
  std::string states, arguments, body;
  auto state = [&](const std::string &value, const std::string &name,
                   const std::string &type, const std::string &role) {
    states += "sinter.state @" + name + " : " + type +
              " {role = #sinter<role " + role + ">}\n";
    arguments +=
        ", %" + value + ": " + type + " {sinter.state = @" + name + "}";
  };
  std::string x = type({batch, inputs}), h = type({batch, hidden}),
              y = type({batch, outputs});
  std::string w1 = type({hidden, inputs}), b1 = type({hidden}),
              w2 = type({outputs, hidden}), b2 = type({outputs});
  state("w1", "first.weight", w1, "param");
  state("b1", "first.bias", b1, "param");
  std::string activated = "%h1";
  if (norm) {
    state("s", "norm.weight", b1, "param");
    state("t", "norm.bias", b1, "param");
    state("m", "norm.running_mean", b1, "buffer");
    state("v", "norm.running_var", b1, "buffer");
  }
  state("w2", "last.weight", w2, "param");
  state("b2", "last.bias", b2, "param");
  body +=
      "%d1 = sinter.dot_general %x, %w1 batch [] x [] contract [1] x [1] : (" +
      x + ", " + w1 + ") -> " + h + "\n";
  body += "%c1 = sinter.broadcast %b1 dims [1] : " + b1 + " -> " + h + "\n";
  body += "%h1 = sinter.add %d1, %c1 : " + h + "\n";
  if (norm) {
    body += "%n1 = sinter.batch_norm %h1, %s, %t, %m, %v {epsilon = 1.0e-5 : "
            "f64, momentum = 0.9 : "
            "f64} : (" +
            h + ", " + b1 + ", " + b1 + ", " + b1 + ", " + b1 + ") -> " + h +
            "\n";
    activated = "%n1";
  }
  body += "%a = sinter.tanh " + activated + " : " + h + "\n";
  body +=
      "%d2 = sinter.dot_general %a, %w2 batch [] x [] contract [1] x [1] : (" +
      h + ", " + w2 + ") -> " + y + "\n";
  body += "%c2 = sinter.broadcast %b2 dims [1] : " + b2 + " -> " + y + "\n";
  body += "%y = sinter.add %d2, %c2 : " + y + "\n";
  return "module @mlp {\n" + states + "func.func @main(%x: " + x +
         " {sinter.input = \"x\"}" + arguments + ") -> (" + y +
         " {sinter.output = \"y\"}) {\n" + body + "return %y : " + y +
         "\n}\n}\n";
}

passes::BuildTrainingOptions optionsOf(const llvm::json::Object &given) {
  passes::BuildTrainingOptions options;
  for (const auto &[key, value] : given) {
    StringRef name = key;
    double number = value.getAsNumber().value_or(0);
    if (name == "optimizer")
      options.optimizer = value.getAsString()->str();
    else if (name == "loss")
      options.loss = value.getAsString()->str();
    else if (name == "bn-running-var")
      options.runningVariance = value.getAsString()->str();
    else if (name == "nesterov")
      options.nesterov = true;
    else if (name == "ignore-index")
      options.ignoreIndex = static_cast<int64_t>(number);
    else
      *std::map<StringRef, double *>{
          {"lr", &options.lr},
          {"momentum", &options.momentum},
          {"weight-decay", &options.weightDecay},
          {"beta1", &options.beta1},
          {"beta2", &options.beta2},
          {"eps", &options.eps},
          {"label-smoothing", &options.labelSmoothing},
          {"clip-norm", &options.clipNorm},
          {"clip-value", &options.clipValue}}
           .at(name) = number;
  }
  return options;
}

Tensor filled(Type type, std::vector<double> values) {
  Tensor tensor(cast<RankedTensorType>(type));
  REQUIRE(static_cast<int64_t>(values.size()) == tensor.size());
  if (tensor.isFloat())
    tensor.floats = std::move(values);
  else
    tensor.ints.assign(values.begin(), values.end());
  return tensor;
}

void checkCase(TestContext &context, const llvm::json::Object &reference,
               const llvm::json::Object &given) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      programText(*reference.getInteger("batch"),
                  *reference.getInteger("inputs"),
                  *reference.getInteger("hidden"), *given.getInteger("outputs"),
                  *given.getBoolean("norm")),
      context.get());
  REQUIRE(module);
  PassManager passes(context.get());
  passes.addPass(
      passes::createBuildTraining(optionsOf(*given.getObject("options"))));
  REQUIRE(succeeded(passes.run(*module)));
  auto step = module->lookupSymbol<func::FuncOp>("step");
  REQUIRE(step);

  auto training = exec::TrainingAttr::of(*module);
  REQUIRE(training);
  auto setting = [&](StringRef control) {
    return (control == SINTER_CONTROL_LR             ? training.getLr()
            : control == SINTER_CONTROL_WEIGHT_DECAY ? training.getWeightDecay()
                                                     : training.getClipNorm())
        .getValueAsDouble();
  };
  std::map<std::string, Tensor> states;
  for (const auto &[name, value] : *given.getObject("states")) {
    auto state = module->lookupSymbol<ir::StateOp>(StringRef(name));
    REQUIRE(state);
    states[StringRef(name).str()] = filled(state.getType(), numbers(&value));
  }
  auto losses = numbers(given.get("losses"));
  for (size_t i = 0; i < losses.size(); ++i) {
    std::vector<Tensor> arguments;
    for (unsigned k = 0; k < step.getNumArguments(); ++k) {
      Type type = step.getArgumentTypes()[k];
      if (auto input = step.getArgAttrOfType<StringAttr>(
              k, ir::SinterDialect::kInputAttr)) {
        const char *key = input == "x" ? "x" : "labels";
        arguments.push_back(filled(type, numbers(&(*given.getArray(key))[i])));
      } else if (auto control = step.getArgAttrOfType<StringAttr>(
                     k, ir::SinterDialect::kControlAttr)) {
        arguments.push_back(filled(type, {setting(control.getValue())}));
      } else {
        auto symbol = step.getArgAttrOfType<FlatSymbolRefAttr>(
            k, ir::SinterDialect::kStateAttr);
        std::string name = symbol.getValue().str();
        if (!states.count(name))
          states[name] = Tensor(cast<RankedTensorType>(type));
        arguments.push_back(states[name]);
      }
    }
    std::vector<Tensor> results = evaluate(step, arguments);
    REQUIRE(results.size() == step.getNumResults());
    INFO("step " << i);
    CHECK(results[0].floats[0] ==
          Approx(losses[i]).epsilon(0).margin(kTolerance));
    for (unsigned k = 1; k < results.size(); ++k) {
      auto symbol = step.getResultAttrOfType<FlatSymbolRefAttr>(
          k, ir::SinterDialect::kStateAttr);
      states[symbol.getValue().str()] = results[k];
    }
  }
  for (const auto &[name, value] : *given.getObject("after")) {
    INFO("state " << StringRef(name).str());
    auto expected = numbers(&value);
    const Tensor &state = states[StringRef(name).str()];
    for (size_t i = 0; i < expected.size(); ++i)
      CHECK(state.floats[i] ==
            Approx(expected[i]).epsilon(0).margin(kTolerance));
  }
}

} // namespace

TEST_CASE("training steps compute what PyTorch computes") {
  TestContext context;
  llvm::json::Object reference = loadReference();
  for (const llvm::json::Value &given : *reference.getArray("cases")) {
    std::string name = given.getAsObject()->getString("name")->str();
    INFO(name);
    checkCase(context, reference, *given.getAsObject());
    CHECK(context.takeDiagnostics() == "");
  }
}

TEST_CASE("evaluation counts only valid rows that are not ignored") {
  TestContext context;
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      programText(4, 2, 3, 2, false), context.get());
  passes::BuildTrainingOptions options;
  options.ignoreIndex = 7;
  PassManager passes(context.get());
  passes.addPass(passes::createBuildTraining(options));
  REQUIRE(succeeded(passes.run(*module)));
  auto eval = module->lookupSymbol<func::FuncOp>("eval");
  REQUIRE(eval);
  // With all weights zero the logits equal the last bias: the prediction is
  // always class 1.
  std::vector<Tensor> arguments;
  for (unsigned k = 0; k < eval.getNumArguments(); ++k) {
    Tensor tensor(cast<RankedTensorType>(eval.getArgumentTypes()[k]));
    auto input =
        eval.getArgAttrOfType<StringAttr>(k, ir::SinterDialect::kInputAttr);
    auto state = eval.getArgAttrOfType<FlatSymbolRefAttr>(
        k, ir::SinterDialect::kStateAttr);
    if (input && input == "labels")
      tensor.ints = {1, 0, 7, 1};
    if (state && state.getValue() == "last.bias")
      tensor.floats = {0, 1};
    if (eval.getArgAttr(k, ir::SinterDialect::kControlAttr))
      tensor.ints = {3};
    arguments.push_back(tensor);
  }
  std::vector<Tensor> sums = evaluate(eval, arguments);
  REQUIRE(sums.size() == 4);
  double right = std::log1p(std::exp(-1.0)), wrong = std::log1p(std::exp(1.0));
  CHECK(sums[0].floats[0] == Approx(right + wrong).epsilon(1e-6));
  CHECK(sums[1].floats[0] == 2);
  CHECK(sums[2].floats[0] == 1);
  CHECK(sums[3].floats[0] == 2);
}

TEST_CASE("the train phase says what it trains and what not") {
  TestContext context;
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      programText(4, 2, 3, 2, false), context.get());
  std::vector<std::string> said;
  ir::RemarkSink::attach(context.get(), [&](const ir::Remark &remark) {
    said.push_back(remark.kind.str() + ": " + remark.text);
  });
  passes::BuildTrainingOptions options;
  options.freeze = "first\\.bias";
  PassManager passes(context.get());
  passes.addPass(passes::createBuildTraining(options));
  REQUIRE(succeeded(passes.run(*module)));
  ir::RemarkSink::attach(context.get(), {});
  CHECK(said == std::vector<std::string>{
                    "not-trained: it matches freeze=first\\.bias",
                    "trained: 'first.weight'", "trained: 'last.weight'",
                    "trained: 'last.bias'"});
}

TEST_CASE("a scalar output can be the loss itself") {
  TestContext context;
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      "sinter.state @w : tensor<2xf64> {role = #sinter<role param>}\n"
      "func.func @main(%x: tensor<2xf64> {sinter.input = \"x\"},"
      " %w: tensor<2xf64> {sinter.state = @w})"
      " -> (tensor<f64> {sinter.output = \"loss\"}) {"
      " %p = sinter.mul %x, %w : tensor<2xf64>"
      " %y = sinter.reduce sum %p dims [0] : (tensor<2xf64>) -> tensor<f64>"
      " return %y : tensor<f64> }",
      context.get());
  REQUIRE(module);
  passes::BuildTrainingOptions options;
  options.loss = "none";
  PassManager passes(context.get());
  passes.addPass(passes::createBuildTraining(options));
  REQUIRE(succeeded(passes.run(*module)));
  auto step = module->lookupSymbol<func::FuncOp>("step");
  auto eval = module->lookupSymbol<func::FuncOp>("eval");
  auto argument = [&](unsigned i, std::vector<double> values) {
    return filled(step.getArgumentTypes()[i], std::move(values));
  };
  // x, w, lr, weight_decay
  std::vector<Tensor> after =
      evaluate(step, {argument(0, {2, 3}), argument(1, {5, 7}),
                      argument(2, {0.5}), argument(3, {0})});
  REQUIRE(after.size() == 2);
  CHECK(after[0].floats[0] == 31);
  CHECK(after[1].floats == std::vector<double>{4, 5.5});
  // x, w, valid_rows: each row has the weight of a batch of such rows.
  for (int64_t rows : {2, 1, 9}) {
    Tensor validRows(cast<RankedTensorType>(eval.getArgumentTypes()[2]));
    validRows.ints = {rows};
    std::vector<Tensor> sums =
        evaluate(eval, {argument(0, {2, 3}), argument(1, {5, 7}), validRows});
    REQUIRE(sums.size() == 2);
    CHECK(sums[0].floats[0] == (rows >= 2 ? 62 : 20));
    CHECK(sums[1].floats[0] == (rows >= 2 ? 2 : 1));
  }
}
