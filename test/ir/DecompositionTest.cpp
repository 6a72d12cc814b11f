//===- DecompositionTest.cpp - composites equal their decompositions ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/ir/Evaluation.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <random>

using namespace mlir;
using namespace sinter::ir;
using sinter::test::Program;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Replaces every composite of `function` by its decomposition.
void decomposeAll(func::FuncOp function) {
  SmallVector<CompositeOpInterface> composites;
  function.walk([&](CompositeOpInterface op) { composites.push_back(op); });
  for (CompositeOpInterface composite : composites) {
    OpBuilder builder(composite);
    SmallVector<Value> values = composite.decompose(builder);
    REQUIRE(values.size() == composite->getNumResults());
    for (auto [result, value] :
         llvm::zip_equal(composite->getResults(), values)) {
      REQUIRE(result.getType() == value.getType());
      result.replaceAllUsesWith(value);
    }
    composite->erase();
  }
}

/// Random floats of about unit size; integers below 12, so that some labels of
/// 10 classes are invalid. Elements that `mask` chooses become -inf.
Tensor randomTensor(RankedTensorType type, std::mt19937 &random, bool isMask) {
  Tensor tensor(type);
  std::normal_distribution<double> normal;
  for (double &value : tensor.floats)
    value = isMask && random() % 2 ? -kInfinity : normal(random);
  for (int64_t &value : tensor.ints)
    value = random() % 12;
  tensor.roundToStorage();
  return tensor;
}

/// Evaluates the function of `text`, in which ELT stands for `element` and
/// STATS for the element type of its statistics, before and after decomposition
/// on the same data.
void compare(std::string text, const std::string &element, double tolerance) {
  for (size_t at; (at = text.find("ELT")) != std::string::npos;)
    text.replace(at, 3, element);
  for (size_t at; (at = text.find("STATS")) != std::string::npos;)
    text.replace(at, 5, element == "f64" ? "f64" : "f32");
  INFO(text);
  Program whole(sinter::test::context(), text),
      parts(sinter::test::context(), text);
  REQUIRE(whole.module);
  decomposeAll(parts.function());
  REQUIRE(succeeded(parts.module->verify()));

  std::mt19937 random(7);
  SmallVector<Tensor> inputs;
  for (BlockArgument argument : whole.function().getArguments()) {
    bool isMask = whole.function().getArgAttr(argument.getArgNumber(),
                                              "test.mask") != nullptr;
    inputs.push_back(randomTensor(tensorType(argument), random, isMask));
    // Update counts and variances are positive.
    if (whole.function().getArgAttr(argument.getArgNumber(), "test.positive"))
      for (double &value : inputs.back().floats)
        value = 1 + std::fabs(value);
  }
  auto expected = evaluateFunction(whole.function(), inputs);
  auto actual = evaluateFunction(parts.function(), inputs);
  REQUIRE(succeeded(expected));
  REQUIRE(succeeded(actual));
  for (auto [e, a] : llvm::zip_equal(*expected, *actual))
    for (int64_t i = 0; i < e.size(); ++i) {
      if (std::isnan(e.floats[i])) {
        CHECK(std::isnan(a.floats[i]));
        continue;
      }
      CHECK(a.floats[i] ==
            Approx(e.floats[i]).epsilon(tolerance).margin(tolerance));
    }
}

void compareAll(const std::string &text) {
  compare(text, "f64", 1e-12);
  compare(text, "f32", 1e-6);
  compare(text, "bf16", 2e-2);
}

} // namespace

TEST_CASE("gelu") {
  compareAll(R"(func.func @f(%x : tensor<7xELT>) -> tensor<7xELT> {
    %y = sinter.gelu erf %x : tensor<7xELT>
    return %y : tensor<7xELT> })");
  compareAll(R"(func.func @f(%x : tensor<3x5xELT>) -> tensor<3x5xELT> {
    %y = sinter.gelu tanh %x : tensor<3x5xELT>
    return %y : tensor<3x5xELT> })");
  for (std::string form : {"erf", "tanh"})
    compareAll("func.func @f(%g : tensor<7xELT>, %x : tensor<7xELT>) -> "
               "tensor<7xELT> {\n  %y = sinter.gelu_grad " +
               form + " %g, %x : tensor<7xELT>\n  return %y : tensor<7xELT> }");
}

TEST_CASE("softmax and log_softmax along every axis, and of nothing") {
  for (std::string op : {"softmax", "log_softmax"})
    for (std::string shape : {"5x1x3", "1x1x1", "2x0x3"})
      for (std::string axis : {"0", "1", "2"}) {
        std::string type = "tensor<" + shape + "xELT>";
        compareAll("func.func @f(%x : " + type + ") -> " + type +
                   " {\n  %y = sinter." + op + " %x {axis = " + axis +
                   " : i64} : " + type + "\n  return %y : " + type + " }");
      }
}

TEST_CASE("softmax of a row that is all -inf is NaN, as in PyTorch") {
  compareAll(R"(func.func @f() -> tensor<2xELT> {
    %x = sinter.constant dense<0xFF800000> : tensor<2xf32>
    %z = sinter.cast %x : tensor<2xf32> -> tensor<2xELT>
    %y = sinter.softmax %z {axis = 0 : i64} : tensor<2xELT>
    return %y : tensor<2xELT> })");
}

TEST_CASE("layer_norm with and without bias") {
  compareAll(
      R"(func.func @f(%x : tensor<4x3x5xELT>, %s : tensor<3x5xELT>) -> tensor<4x3x5xELT> {
    %y = sinter.layer_norm %x, %s {axis = 1 : i64, epsilon = 1.0e-5 : f64}
       : (tensor<4x3x5xELT>, tensor<3x5xELT>) -> tensor<4x3x5xELT>
    return %y : tensor<4x3x5xELT> })");
  compareAll(
      R"(func.func @f(%x : tensor<4x7xELT>, %s : tensor<7xELT>, %b : tensor<7xELT>) -> tensor<4x7xELT> {
    %y = sinter.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-5 : f64}
       : (tensor<4x7xELT>, tensor<7xELT>, tensor<7xELT>) -> tensor<4x7xELT>
    return %y : tensor<4x7xELT> })");
  compareAll(
      R"(func.func @f(%x : tensor<0x7xELT>, %s : tensor<0x7xELT>) -> tensor<0x7xELT> {
    %y = sinter.layer_norm %x, %s {axis = 0 : i64, epsilon = 1.0e-5 : f64}
       : (tensor<0x7xELT>, tensor<0x7xELT>) -> tensor<0x7xELT>
    return %y : tensor<0x7xELT> })");
}

TEST_CASE("batch_norm and batch_norm_training") {
  compareAll(
      R"(func.func @f(%x : tensor<2x3x4xELT>, %s : tensor<3xELT>, %b : tensor<3xELT>, %m : tensor<3xELT>,
      %v : tensor<3xELT> {test.positive}) -> tensor<2x3x4xELT> {
    %y = sinter.batch_norm %x, %s, %b, %m, %v {epsilon = 1.0e-3 : f64}
       : (tensor<2x3x4xELT>, tensor<3xELT>, tensor<3xELT>, tensor<3xELT>, tensor<3xELT>) -> tensor<2x3x4xELT>
    return %y : tensor<2x3x4xELT> })");
  for (std::string shape : {"4x3", "2x3x4x5", "1x3x1"}) {
    std::string x = "tensor<" + shape + "xELT>", c = "tensor<3xELT>";
    compareAll("func.func @f(%x : " + x + ", %s : " + c + ", %b : " + c +
               ") -> (" + x + ", " + c + ", " + c +
               ") {\n  %y, %m, %v = sinter.batch_norm_training %x, %s, %b "
               "{epsilon = 1.0e-3 : f64}\n     : (" +
               x + ", " + c + ", " + c + ") -> (" + x + ", " + c + ", " + c +
               ")\n  return %y, %m, %v : " + x + ", " + c + ", " + c + " }");
  }
}

TEST_CASE("group_norm") {
  for (std::string groups : {"1", "2", "4"})
    for (std::string shape : {"2x4x5", "3x4", "1x4x2x3"}) {
      std::string x = "tensor<" + shape + "xELT>";
      compareAll("func.func @f(%x : " + x +
                 ", %s : tensor<4xELT>, %b : tensor<4xELT>) -> " + x +
                 " {\n  %y = sinter.group_norm %x, %s, %b {groups = " + groups +
                 " : i64, epsilon = 1.0e-1 : f64} : (" + x +
                 ", tensor<4xELT>, tensor<4xELT>) -> " + x +
                 "\n  return %y : " + x + " }");
    }
}

TEST_CASE("attention and its gradient with masks, causal and not") {
  const std::string query = "tensor<2x3x4xELT>", key = "tensor<2x5x4xELT>",
                    value = "tensor<2x5x6xELT>", output = "tensor<2x3x6xELT>",
                    stats = "tensor<2x3xSTATS>";
  for (std::string causal : {"", ", causal"}) {
    std::string attributes = " {scale = 0.5 : f64" + causal + "} : ";
    std::string whole = "%y, %s = sinter.attention %q, %k, %v" + attributes +
                        "(" + query + ", " + key + ", " + value + ") -> (" +
                        output + ", " + stats + ")\n";
    compareAll("func.func @f(%q : " + query + ", %k : " + key +
               ", %v : " + value + ") -> (" + output + ", " + stats + ") {\n" +
               whole + "return %y, %s : " + output + ", " + stats + " }");
    compareAll("func.func @f(%q : " + query + ", %k : " + key +
               ", %v : " + value + ", %g : " + output + ") -> (" + query +
               ", " + key + ", " + value + ") {\n" + whole +
               "%r:3 = sinter.attention_grad %q, %k, %v, %y, %s, %g" +
               attributes + "(" + query + ", " + key + ", " + value + ", " +
               output + ", " + stats + ", " + output + ") -> (" + query + ", " +
               key + ", " + value + ")\nreturn %r#0, %r#1, %r#2 : " + query +
               ", " + key + ", " + value + " }");
  }
  // With so few keys, some rows are masked completely.
  const std::string q = "tensor<2x2x7x4xELT>", k = "tensor<2x2x3x4xELT>",
                    v = "tensor<2x2x3x1xELT>", m = "tensor<2x2x7x3xELT>",
                    y = "tensor<2x2x7x1xELT>", s = "tensor<2x2x7xSTATS>";
  for (std::string causal : {"", ", causal"}) {
    std::string attributes = " {scale = 0.5 : f64" + causal + "} : ";
    std::string arguments = "func.func @f(%q : " + q + ", %k : " + k +
                            ", %v : " + v + ", %m : " + m + " {test.mask}";
    std::string whole = "%y, %s = sinter.attention %q, %k, %v, %m" +
                        attributes + "(" + q + ", " + k + ", " + v + ", " + m +
                        ") -> (" + y + ", " + s + ")\n";
    compareAll(arguments + ") -> (" + y + ", " + s + ") {\n" + whole +
               "return %y, %s : " + y + ", " + s + " }");
    std::string results = q + ", " + k + ", " + v + ", " + m;
    compareAll(arguments + ", %g : " + y + ") -> (" + results + ") {\n" +
               whole +
               "%r:4 = sinter.attention_grad %q, %k, %v, %y, %s, %g, %m" +
               attributes + "(" + q + ", " + k + ", " + v + ", " + y + ", " +
               s + ", " + y + ", " + m + ") -> (" + results +
               ")\nreturn %r#0, %r#1, %r#2, %r#3 : " + results + " }");
  }
}

TEST_CASE("softmax_cross_entropy with smoothing, ignored and wrong labels") {
  for (std::string smoothing : {"0.0", "0.1"})
    for (std::string ignored : {"", ", ignore_index = 2 : i64"})
      for (std::string label : {"i64", "i32", "ui8"}) {
        compareAll("func.func @f(%x : tensor<9x10xELT>, %t : tensor<9x" +
                   label + ">) -> tensor<9xELT> {\n" +
                   "%y = sinter.softmax_cross_entropy %x, %t {axis = 1 : i64, "
                   "label_smoothing = " +
                   smoothing + " : f64" + ignored +
                   "} : (tensor<9x10xELT>, tensor<9x" + label +
                   ">) -> tensor<9xELT>\nreturn %y : tensor<9xELT> }");
        compareAll("func.func @f(%x : tensor<2x10x3xELT>, %t : tensor<2x3x" +
                   label + ">) -> tensor<2x3xELT> {\n" +
                   "%y = sinter.softmax_cross_entropy %x, %t {axis = 1 : i64, "
                   "label_smoothing = " +
                   smoothing + " : f64" + ignored +
                   "} : (tensor<2x10x3xELT>, tensor<2x3x" + label +
                   ">) -> tensor<2x3xELT>\nreturn %y : tensor<2x3xELT> }");
      }
}

TEST_CASE("sgd_update") {
  compareAll(
      R"(func.func @f(%w : tensor<5xELT>, %g : tensor<5xELT>, %lr : tensor<f32>, %wd : tensor<f32>) -> tensor<5xELT> {
    %p = sinter.sgd_update %w, %g, %lr, %wd {momentum = 0.0 : f64}
       : (tensor<5xELT>, tensor<5xELT>, tensor<f32>, tensor<f32>) -> tensor<5xELT>
    return %p : tensor<5xELT> })");
  for (std::string nesterov : {"", ", nesterov"})
    compareAll(
        R"(func.func @f(%w : tensor<5x2xELT>, %g : tensor<5x2xELT>, %lr : tensor<f32>, %wd : tensor<f32>,
        %v : tensor<5x2xELT>) -> (tensor<5x2xELT>, tensor<5x2xELT>) {
      %p, %n = sinter.sgd_update %w, %g, %lr, %wd, %v {momentum = 0.9 : f64)" +
        nesterov + R"(}
         : (tensor<5x2xELT>, tensor<5x2xELT>, tensor<f32>, tensor<f32>, tensor<5x2xELT>) -> (tensor<5x2xELT>, tensor<5x2xELT>)
      return %p, %n : tensor<5x2xELT>, tensor<5x2xELT> })");
}

TEST_CASE("adam_update and its decoupled form; a beta of 0") {
  for (std::string betas : {"beta1 = 0.9 : f64, beta2 = 0.999 : f64",
                            "beta1 = 0.0 : f64, beta2 = 0.0 : f64"})
    for (std::string decoupled : {"", ", decoupled"})
      compareAll(
          R"(func.func @f(%w : tensor<6xELT>, %g : tensor<6xELT>, %m : tensor<6xELT>,
          %v : tensor<6xELT> {test.positive}, %lr : tensor<f32>, %wd : tensor<f32>,
          %t : tensor<f32> {test.positive}) -> (tensor<6xELT>, tensor<6xELT>, tensor<6xELT>) {
        %p, %a, %b = sinter.adam_update %w, %g, %m, %v, %lr, %wd, %t {)" +
          betas + ", epsilon = 1.0e-8 : f64" + decoupled + R"(}
           : (tensor<6xELT>, tensor<6xELT>, tensor<6xELT>, tensor<6xELT>, tensor<f32>, tensor<f32>, tensor<f32>)
          -> (tensor<6xELT>, tensor<6xELT>, tensor<6xELT>)
        return %p, %a, %b : tensor<6xELT>, tensor<6xELT>, tensor<6xELT> })");
}

TEST_CASE("dropout zeroes the same elements") {
  for (std::string ratio : {"0.0", "0.5", "0.9"})
    compareAll(
        R"(func.func @f(%x : tensor<11x13xELT>, %seed : tensor<i64>, %step : tensor<i64>) -> tensor<11x13xELT> {
      %y = sinter.dropout %x, %seed, %step {ratio = )" +
        ratio + R"( : f64, op_id = 5 : i64}
         : (tensor<11x13xELT>, tensor<i64>, tensor<i64>) -> tensor<11x13xELT>
      return %y : tensor<11x13xELT> })");
}
