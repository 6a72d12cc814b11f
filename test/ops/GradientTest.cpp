//===- GradientTest.cpp - gradient rules against finite differences -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// For every case of the op list: a weighted sum of the results is
// differentiated by the rules, evaluated in float64, and compared with central
// differences in float64.
//
//===----------------------------------------------------------------------===//
#include "passes/autodiff/Gradient.h"
#include "test/ops/OpFixture.h"
#include "test/ops/OpList.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <map>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;
using ir::Tensor;
using passes::GradientRuleKind;

namespace {

constexpr double kStep = 1e-5;
constexpr double kTolerance = 2e-6;
// The number of elements of an operand that are tried; in small cases all are.
constexpr int64_t kMaxElements = 12;

double lossOf(func::FuncOp loss, ArrayRef<Tensor> inputs) {
  std::vector<Tensor> results = evaluate(loss, inputs);
  return results.empty() ? std::nan("") : results[0].floats[0];
}

void checkCase(TestContext &context, const OpCase &opCase) {
  Type f64 = Float64Type::get(context.get());
  OwningOpRef<ModuleOp> module = buildModule(opCase, f64);
  auto main = module->lookupSymbol<func::FuncOp>("main");
  func::FuncOp loss = makeScalarLoss(main, "loss"),
               grad = makeScalarLoss(main, "grad");

  std::vector<Tensor> inputs = drawInputs(opCase, f64, 1);
  for (Tensor &weight : drawWeights(loss, inputs.size(), f64))
    inputs.push_back(std::move(weight));

  SmallVector<unsigned> wrt = floatOperands(opCase);
  SmallVector<bool> isNull;
  REQUIRE(succeeded(returnGradients(grad, wrt, isNull)));
  REQUIRE(succeeded(verify(*module)));
  std::vector<Tensor> gradients = evaluate(grad, inputs);
  REQUIRE(gradients.size() == wrt.size());

  for (size_t k = 0; k < wrt.size(); ++k) {
    Tensor &input = inputs[wrt[k]];
    int64_t stride = std::max<int64_t>(1, input.size() / kMaxElements);
    for (int64_t i = 0; i < input.size(); i += stride) {
      double x = input.floats[i];
      input.floats[i] = x + kStep;
      double above = lossOf(loss, inputs);
      input.floats[i] = x - kStep;
      double below = lossOf(loss, inputs);
      input.floats[i] = x;
      double difference = (above - below) / (2 * kStep),
             rule = gradients[k].floats[i];
      INFO("operand " << wrt[k] << " element " << i << " = " << x << ": rule "
                      << rule << ", difference " << difference);
      CHECK(std::fabs(rule - difference) <=
            kTolerance *
                std::max({1.0, std::fabs(rule), std::fabs(difference)}));
    }
  }
}

/// The gradient of the sum of @main's results by one of its arguments, as
/// row-major numbers; inputs beyond the given ones are 1.
std::vector<double> gradientOf(TestContext &context, StringRef text,
                               std::vector<std::vector<double>> inputs,
                               unsigned wrt = 0) {
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, context.get());
  REQUIRE(module);
  auto main = module->lookupSymbol<func::FuncOp>("main");
  func::FuncOp grad = makeScalarLoss(main, "grad");
  std::vector<Tensor> arguments;
  for (auto [i, type] : llvm::enumerate(grad.getArgumentTypes())) {
    Tensor tensor(cast<RankedTensorType>(type));
    if (i < inputs.size() && tensor.isFloat())
      tensor.floats = inputs[i];
    else if (i < inputs.size())
      tensor.ints.assign(inputs[i].begin(), inputs[i].end());
    else
      tensor.floats.assign(tensor.size(), 1);
    arguments.push_back(std::move(tensor));
  }
  SmallVector<bool> isNull;
  REQUIRE(succeeded(returnGradients(grad, {wrt}, isNull)));
  return evaluate(grad, arguments).at(0).floats;
}

std::string unaryText(const std::string &body,
                      const std::string &type = "tensor<3xf64>") {
  return "func.func @main(%x: " + type + ") -> " + type + " { " + body +
         " return %y : " + type + " }";
}

} // namespace

TEST_CASE("every op has a rule, a reason to have none, or cases") {
  TestContext context;
  std::map<std::string, int> count;
  for (const OpCase &opCase : allCases())
    ++count[opCase.op().str()];
  for (RegisteredOperationName name : context->getRegisteredOperations()) {
    if (!isa<ir::SinterDialect>(name.getDialect()))
      continue;
    std::string op = name.getStringRef().str();
    INFO(op);
    GradientRuleKind kind = passes::gradientRuleKind(name);
    // Ops that no model has; phases make them. What replicas do with parts is
    // in test/e2e/replicas/shard.test.
    if (name.hasInterface<ir::FusionOpInterface>() || op == "sinter.state" ||
        op == "sinter.yield" || op == "sinter.copy" || op == "sinter.after" ||
        op == "sinter.scan_call" || op == "sinter.reduce_scatter" ||
        op == "sinter.all_gather")
      continue;
    CHECK(kind != GradientRuleKind::Missing);
    CHECK(count[op] >= 1);
    if (kind == GradientRuleKind::Rule || kind == GradientRuleKind::Decomposed)
      CHECK(count[op] >= 10);
  }
}

TEST_CASE("gradients agree with finite differences") {
  TestContext context;
  for (const OpCase &opCase : allCases()) {
    if (!isDifferentiable(opCase, context.get()))
      continue;
    INFO(opCase.name);
    checkCase(context, opCase);
    std::string diagnostics = context.takeDiagnostics();
    CHECK(diagnostics == "");
  }
}

TEST_CASE("where a derivative does not exist PyTorch's choice is made") {
  TestContext context;
  using Numbers = std::vector<double>;
  CHECK(gradientOf(context, unaryText("%y = sinter.relu %x : tensor<3xf64>"),
                   {{-1, 0, 2}}) == Numbers{0, 0, 1});
  CHECK(gradientOf(context, unaryText("%y = sinter.abs %x : tensor<3xf64>"),
                   {{-1, 0, 2}}) == Numbers{-1, 0, 1});
  const char *binary =
      "func.func @main(%x: tensor<3xf64>, %z: tensor<3xf64>) -> tensor<3xf64> {"
      " %y = sinter.{} %x, %z : tensor<3xf64> return %y : tensor<3xf64> }";
  auto textOf = [&](const std::string &op) {
    std::string text = binary;
    return text.replace(text.find("{} "), 2, op);
  };
  CHECK(gradientOf(context, textOf("max"), {{1, 2, 3}, {2, 2, 2}}) ==
        Numbers{0, 0.5, 1});
  CHECK(gradientOf(context, textOf("min"), {{1, 2, 3}, {2, 2, 2}}) ==
        Numbers{1, 0.5, 0});
  // d x^y / dx at x = 0: 0 for y = 0, 1 for y = 1, 0 for y = 2.
  CHECK(gradientOf(context, textOf("pow"), {{0, 0, 0}, {0, 1, 2}}) ==
        Numbers{0, 1, 0});
  const char *reduce =
      "func.func @main(%x: tensor<4xf64>) -> tensor<f64> { %y = sinter.reduce "
      "max %x dims [0] : (tensor<4xf64>) -> tensor<f64> return %y : "
      "tensor<f64> }";
  CHECK(gradientOf(context, reduce, {{3, 1, 3, 2}}) == Numbers{0.5, 0, 0.5, 0});
  const char *prod =
      "func.func @main(%x: tensor<3xf64>) -> tensor<f64> { %y = sinter.reduce "
      "prod %x dims [0] : (tensor<3xf64>) -> tensor<f64> return %y : "
      "tensor<f64> }";
  CHECK(gradientOf(context, prod, {{0, 2, 3}}) == Numbers{6, 0, 0});
  const char *scan =
      "func.func @main(%x: tensor<3xf64>) -> tensor<3xf64> { %y = "
      "sinter.cumulative "
      "prod %x {axis = 0 : i64} : tensor<3xf64> return %y : tensor<3xf64> }";
  CHECK(gradientOf(context, scan, {{2, 0, 5}}) == Numbers{1, 12, 0});
}

TEST_CASE("what is written shares ties and zeros as in PyTorch") {
  TestContext context;
  auto buffer = llvm::MemoryBuffer::getFile(SINTER_SCATTER_REDUCE_JSON);
  REQUIRE(buffer);
  auto parsed = llvm::json::parse((*buffer)->getBuffer());
  REQUIRE(bool(parsed));
  auto numbers = [](const llvm::json::Object &object, StringRef key) {
    std::vector<double> list;
    for (const llvm::json::Value &value : *object.getArray(key))
      list.push_back(*value.getAsNumber());
    return list;
  };
  const llvm::json::Object &reference = *parsed->getAsObject();
  std::vector<double> cotangent = numbers(reference, "cotangent");
  auto textOf = [](const std::string &op, const std::string &indices,
                   const std::string &rest) {
    std::string types = "(tensor<4xf64>, " + indices + ", tensor<4xf64>)";
    return "func.func @main(%x: tensor<4xf64>, %i: " + indices +
           ", %u: tensor<4xf64>) -> tensor<4xf64> { %y = sinter." + op +
           " %x, %i, %u" + rest + " : " + types +
           " -> tensor<4xf64> return %y : tensor<4xf64> }";
  };
  for (const llvm::json::Value &value : *reference.getArray("cases")) {
    const llvm::json::Object &row = *value.getAsObject();
    std::string kind = row.getString("kind")->str();
    for (const std::string &text :
         {textOf("scatter " + kind, "tensor<4xi64>", " axis 0"),
          textOf("scatter_elements " + kind, "tensor<4xi64>", " axis 0"),
          textOf("scatter_nd " + kind, "tensor<4x1xi64>", "")}) {
      INFO(text << " of " << llvm::formatv("{0}", value).str());
      std::vector<std::vector<double>> inputs{
          numbers(row, "x"), numbers(row, "indices"), numbers(row, "updates"),
          cotangent};
      CHECK(gradientOf(context, text, inputs, 0) == numbers(row, "gradX"));
      CHECK(gradientOf(context, text, inputs, 2) ==
            numbers(row, "gradUpdates"));
    }
  }
}

TEST_CASE("only the last of several updates to one place has a gradient") {
  TestContext context;
  const char *text = "func.func @main(%u: tensor<3xf64>, %x: tensor<4xf64>, "
                     "%i: tensor<3xi64>) -> tensor<4xf64> {"
                     " %y = sinter.scatter set %x, %i, %u axis 0 : "
                     "(tensor<4xf64>, tensor<3xi64>, tensor<3xf64>)"
                     " -> tensor<4xf64> return %y : tensor<4xf64> }";
  CHECK(gradientOf(context, text, {{1, 2, 3}, {0, 0, 0, 0}, {1, 1, 2}}) ==
        std::vector<double>{0, 1, 1});
}

TEST_CASE("a value used twice gets the sum of its cotangents") {
  TestContext context;
  CHECK(gradientOf(context,
                   unaryText("%a = sinter.mul %x, %x : tensor<3xf64>"
                             "%y = sinter.add %a, %x : tensor<3xf64>"),
                   {{1, 2, 3}}) == std::vector<double>{3, 5, 7});
}

TEST_CASE("nothing is built for values that the loss does not depend on") {
  TestContext context;
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      "func.func @main(%x: tensor<3xf64>, %z: tensor<3xf64>) -> tensor<3xf64> {"
      " %s = sinter.stop_gradient %z : tensor<3xf64>"
      " %y = sinter.mul %x, %s : tensor<3xf64> return %y : tensor<3xf64> }",
      context.get());
  func::FuncOp grad =
      makeScalarLoss(module->lookupSymbol<func::FuncOp>("main"), "grad");
  SmallVector<bool> isNull;
  REQUIRE(succeeded(returnGradients(grad, {0, 1}, isNull)));
  CHECK(!isNull[0]);
  CHECK(isNull[1]);
}

TEST_CASE("each missing gradient is an error that names the op") {
  TestContext context;
  std::string window = " {window = array<i64: 2>, strides = array<i64: 1>, "
                       "dilations = array<i64: 1>, pads_low = array<i64: 0>, "
                       "pads_high = array<i64: 0>} : "
                       "(tensor<3xf64>, tensor<2xf64>) -> tensor<3xf64>";
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      "func.func @main(%x: tensor<3xf64>, %z: tensor<3xf64>) -> tensor<3xf64> {"
      " %u = sinter.slice %x starts [0] limits [2] strides [1] : "
      "(tensor<3xf64>) -> tensor<2xf64>"
      " %a = sinter.reduce_window_grad max %z, %u" +
          window + " %b = sinter.neg %a : tensor<3xf64>" +
          " %c = sinter.copy %b to 0 : tensor<3xf64>"
          " return %c : tensor<3xf64> }",
      context.get());
  REQUIRE(module);
  func::FuncOp grad =
      makeScalarLoss(module->lookupSymbol<func::FuncOp>("main"), "grad");
  SmallVector<bool> isNull;
  CHECK(failed(returnGradients(grad, {0}, isNull)));
  std::string diagnostics = context.takeDiagnostics();
  CHECK_THAT(diagnostics, Catch::Contains("'sinter.reduce_window_grad'") &&
                              Catch::Contains("'sinter.copy'"));
}

TEST_CASE("gradients can be differentiated again") {
  TestContext context;
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      unaryText("%a = sinter.mul %x, %x : tensor<3xf64>"
                "%y = sinter.mul %a, %x : tensor<3xf64>"),
      context.get());
  auto main = module->lookupSymbol<func::FuncOp>("main");
  func::FuncOp first = makeScalarLoss(main, "first");
  SmallVector<bool> isNull;
  REQUIRE(succeeded(returnGradients(first, {0}, isNull)));
  func::FuncOp second = makeScalarLoss(first, "second");
  REQUIRE(succeeded(returnGradients(second, {0}, isNull)));
  auto type = cast<RankedTensorType>(main.getArgumentTypes()[0]);
  Tensor x(type), ones(type);
  x.floats = {1, 2, 3};
  ones.floats = {1, 1, 1};
  std::vector<Tensor> result = evaluate(second, {x, ones, ones});
  REQUIRE(result.size() == 1);
  CHECK(result[0].floats == std::vector<double>{6, 12, 18});
}
