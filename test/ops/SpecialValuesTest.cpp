//===- SpecialValuesTest.cpp - one meaning of edge cases ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Machines differ in division by zero, shifts beyond the width, conversions
// that overflow, NaN and the sign of zero; ir/eval defines one meaning. This
// test runs compiled code on every pair of such values: exact ops must give the
// bits of the evaluation, functions its value within a few units in the last
// place.
//
//===----------------------------------------------------------------------===//
#include "test/ops/SpecialValues.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;
using ir::Tensor;

TEST_CASE("exact ops of integers give the bits of the evaluation",
          "[compiled]") {
  for (const char *name : kIntegers) {
    TestContext context;
    OpBundle bundle(context.get());
    Tensor values = specialValues(elementType(context, name));
    auto [x, y] = allPairs(values, values);
    for (const char *op :
         {"add", "sub", "mul", "div", "mod", "rem", "pow", "max", "min", "and",
          "or", "xor", "shift_left", "shift_right"})
      addOp(context, bundle, std::string(op) + " %x, %y : " + typeText(x),
            typeText(x), {x, y});
    for (const char *op : {"abs", "neg", "sign", "relu", "bit_not"})
      addOp(context, bundle, std::string(op) + " %x : " + typeText(values),
            typeText(values), {values});
    std::string truth = "tensor<" + std::to_string(x.size()) + "xi1>";
    for (const char *kind : {"eq", "ne", "lt", "le", "gt", "ge"})
      addOp(context, bundle,
            "compare " + std::string(kind) + " %x, %y : " + typeText(x), truth,
            {x, y});
    CHECK(wrongElements(bundle, isSame) == "");
  }
}

TEST_CASE("exact ops of floats give the bits of the evaluation", "[compiled]") {
  for (const char *machine : kMachines)
    for (const char *name : kFloats) {
      TestContext context;
      OpBundle bundle(context.get(), machine);
      Tensor values = specialValues(elementType(context, name));
      auto [x, y] = allPairs(values, values);
      for (const char *op :
           {"add", "sub", "mul", "div", "mod", "rem", "max", "min"})
        addOp(context, bundle, std::string(op) + " %x, %y : " + typeText(x),
              typeText(x), {x, y});
      for (const char *op :
           {"abs", "neg", "sign", "relu", "sqrt", "floor", "ceil", "round"})
        addOp(context, bundle, std::string(op) + " %x : " + typeText(values),
              typeText(values), {values});
      std::string truth = "tensor<" + std::to_string(x.size()) + "xi1>";
      for (const char *kind : {"eq", "ne", "lt", "le", "gt", "ge"})
        addOp(context, bundle,
              "compare " + std::string(kind) + " %x, %y : " + typeText(x),
              truth, {x, y});
      CHECK(wrongElements(bundle, isSame) == "");
    }
}

TEST_CASE("every cast gives the bits of the evaluation", "[compiled]") {
  std::vector<const char *> names = {"i1"};
  names.insert(names.end(), std::begin(kFloats), std::end(kFloats));
  names.insert(names.end(), std::begin(kIntegers), std::end(kIntegers));
  for (const char *machine : kMachines) {
    TestContext context;
    OpBundle bundle(context.get(), machine);
    for (const char *from : names)
      for (const char *to : names) {
        if (StringRef(from) == to)
          continue;
        Tensor x = specialValues(elementType(context, from));
        std::string result =
            "tensor<" + std::to_string(x.size()) + "x" + to + ">";
        addOp(context, bundle, "cast %x : " + typeText(x) + " -> " + result,
              result, {x});
      }
    CHECK(wrongElements(bundle, isSame) == "");
  }
}

// Kernels omit bounds that saturation repeats. They must not omit others.
TEST_CASE("casts of bounded floats give the bits of the evaluation",
          "[compiled]") {
  struct Bounds {
    const char *to, *least, *greatest;
  };
  const Bounds list[] = {
      {"ui8", "0.0", "255.0"},        {"ui8", "-1.0", "256.0"},
      {"ui8", "1.0", "254.0"},        {"i8", "-128.0", "127.0"},
      {"i8", "0.0", "127.0"},         {"i8", "-128.0", "255.0"},
      {"i16", "-32768.0", "32767.0"}, {"i32", "-2147483648.0", "2147483647.0"}};
  for (const char *machine : kMachines) {
    TestContext context;
    OpBundle bundle(context.get(), machine);
    for (const char *from : {"f32", "f64"})
      for (const Bounds &bounds : list) {
        Tensor x = specialValues(elementType(context, from));
        const double edges[] = {0.5,   -0.5,   127.5, 128.0,   -128.5,  254.5,
                                255.5, -300.0, 300.0, 32767.5, -32769.0};
        std::copy(std::begin(edges), std::end(edges), x.floats.begin());
        const std::string type = typeText(x);
        const std::string result =
            "tensor<" + std::to_string(x.size()) + "x" + bounds.to + ">";
        auto program = [&](const std::string &lower) {
          addProgram(context, bundle, "bounded cast",
                     lower + "%h = sinter.constant dense<" + bounds.greatest +
                         "> : " + type + " %m = sinter.min %b, %h : " + type +
                         " %r = sinter.cast %m : " + type + " -> " + result +
                         " ",
                     result, {x});
        };
        program(std::string("%l = sinter.constant dense<") + bounds.least +
                "> : " + type + " %b = sinter.max %x, %l : " + type + " ");
        program("%b = sinter.relu %x : " + type + " ");
      }
    CHECK(wrongElements(bundle, isSame) == "");
  }
}

TEST_CASE("functions keep their value at the edges", "[compiled]") {
  for (const char *machine : kMachines)
    for (const char *name : {"f32", "f64"}) {
      TestContext context;
      OpBundle bundle(context.get(), machine);
      Type element = elementType(context, name);
      Tensor values = specialValues(element);
      for (const char *op :
           {"exp", "expm1", "log", "log1p", "rsqrt", "tanh", "sigmoid", "erf",
            "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
            "asinh", "acosh", "atanh"})
        addOp(context, bundle, std::string(op) + " %x : " + typeText(values),
              typeText(values), {values});
      auto [x, y] = allPairs(values, values);
      addOp(context, bundle, "pow %x, %y : " + typeText(x), typeText(x),
            {x, y});
      // Within 8 units in the last place. float32 functions may flush what is
      // below the smallest normal number.
      bool isDouble = element.isF64();
      double relative = std::ldexp(1, isDouble ? -49 : -20);
      double absolute = std::ldexp(1, isDouble ? -1074 : -126);
      auto isNear = [=](double a, double b) {
        if (b == 0 || !std::isfinite(a) || !std::isfinite(b))
          return isSame(a, b);
        return std::fabs(a - b) <= relative * std::fabs(b) + absolute;
      };
      CHECK(wrongElements(bundle, isNear) == "");
    }
}

TEST_CASE("periods of large arguments are right up to 2^52", "[compiled]") {
  for (const char *machine : kMachines)
    for (const char *name : {"f32", "f64"}) {
      TestContext context;
      OpBundle bundle(context.get(), machine);
      Type element = elementType(context, name);
      Tensor x(RankedTensorType::get({3000}, element));
      for (int64_t i = 0; i < x.size(); ++i)
        x.floats[i] =
            std::ldexp(1 + std::fmod(0.618 * double(i), 1.0), int(i % 60)) *
            (i % 2 ? -1 : 1);
      x.floats[0] = 4449513641082880; // near the middle between two quarters
      x.roundToStorage();
      for (const char *op : {"sin", "cos"})
        addOp(context, bundle, std::string(op) + " %x : " + typeText(x),
              typeText(x), {x});
      auto isNear = [&](double a, double b) {
        if (std::isnan(b))
          return std::isnan(a);
        return std::fabs(a - b) <= (element.isF64() ? 0x1p-52 : 0x1p-22);
      };
      CHECK(wrongElements(bundle, isNear) == "");
    }
}

TEST_CASE("the error function is 1 where that is nearest", "[compiled]") {
  for (const char *machine : kMachines) {
    TestContext context;
    OpBundle bundle(context.get(), machine);
    Tensor x(RankedTensorType::get({8}, elementType(context, "f64")));
    x.floats = {6,  7.5, 1e16,   1e300,
                -6, -10, -1e300, -std::numeric_limits<double>::infinity()};
    addOp(context, bundle, "erf %x : " + typeText(x), typeText(x), {x});
    CHECK(wrongElements(bundle, [](double a, double b) {
            return std::fabs(b) == 1 && a == b;
          }) == "");
  }
}

TEST_CASE("what a library call applies has the meaning of the op",
          "[compiled]") {
  TestContext context;
  OpBundle exact(context.get()), functions(context.get());
  // An outer product: NaN and infinities, and small and large numbers.
  Tensor x(RankedTensorType::get({4, 1}, elementType(context, "f32")));
  x.floats = {1, -2, 0, std::nan("")};
  Tensor y(RankedTensorType::get({1, 19}, elementType(context, "f32")));
  for (int64_t i = 0; i < y.size(); ++i)
    y.floats[i] = static_cast<double>(i) - 9;
  y.floats[2] = 100;
  y.floats[3] = std::nan("");
  y.floats[17] = std::numeric_limits<double>::infinity();
  auto add = [&](OpBundle &bundle, const std::string &after) {
    addProgram(
        context, bundle, after,
        "%d = sinter.dot_general %x, %y batch [] x [] contract [1] x "
        "[0] : (tensor<4x1xf32>, tensor<1x19xf32>) -> tensor<4x19xf32> " +
            after,
        "tensor<4x19xf32>", {x, y});
  };
  add(exact, "%r = sinter.relu %d : tensor<4x19xf32>");
  add(exact, "%l = sinter.constant dense<-3.0> : tensor<4x19xf32> "
             "%m = sinter.max %d, %l : tensor<4x19xf32> "
             "%h = sinter.constant dense<6.0> : tensor<4x19xf32> "
             "%r = sinter.min %m, %h : tensor<4x19xf32>");
  add(exact, "%c = sinter.constant dense<-2.0> : tensor<4x19xf32> "
             "%n = sinter.mul %d, %c : tensor<4x19xf32> "
             "%r = sinter.relu %n : tensor<4x19xf32>");
  // The sign of a zero product is the library's.
  auto isSameNumber = [](double a, double b) { return a == b || isSame(a, b); };
  CHECK(wrongElements(exact, isSameNumber) == "");

  for (const char *op : {"tanh", "sigmoid", "gelu erf", "gelu tanh"})
    add(functions, "%r = sinter." + std::string(op) + " %d : tensor<4x19xf32>");
  auto isNear = [](double a, double b) {
    if (!std::isfinite(a) || !std::isfinite(b))
      return isSame(a, b);
    return std::fabs(a - b) <= 0x1p-20 * std::max(1.0, std::fabs(b));
  };
  CHECK(wrongElements(functions, isNear) == "");
}
