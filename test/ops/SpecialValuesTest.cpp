//===- SpecialValuesTest.cpp - one meaning at the edges -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Machines differ on division by zero, shifts beyond the width, conversions
// that do not fit, NaN and the sign of zero; ir/eval defines one meaning. Here
// compiled code gets every pair of such values: ops that are exact give the
// bits of the evaluation, functions its value within a few units in the last
// place.
//
//===----------------------------------------------------------------------===//
#include "test/ops/OpBundle.h"
#include "test/ops/OpFixture.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;
using ir::Tensor;

namespace {

const char *const kIntegers[] = {"i8",  "i16",  "i32",  "i64",
                                 "ui8", "ui16", "ui32", "ui64"};
const char *const kFloats[] = {"f16", "bf16", "f32", "f64"};
// The oldest machine has the fewest instructions: what it lacks is expanded.
const char *const kMachines[] = {"native", "x86-64"};

Type elementType(TestContext &context, StringRef name) {
  return parseType(name, context.get());
}

/// The values of `element` at which ops are special, and a few that are not.
Tensor specialValues(Type element) {
  std::vector<double> floats;
  std::vector<int64_t> ints;
  if (auto type = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    auto number = [](llvm::APFloat value) {
      bool losesInfo;
      value.convert(llvm::APFloat::IEEEdouble(),
                    llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      return value.convertToDouble();
    };
    for (double value :
         {0.0,
          1.0,
          0.5,
          1.5,
          2.5,
          0.75,
          3.0,
          7.25,
          100.0,
          127.5,
          128.0,
          255.0,
          256.0,
          1e-3,
          32768.0,
          65536.0,
          2147483648.0,
          4294967296.0,
          9223372036854775808.0,
          18446744073709551616.0,
          1e20,
          1e-20,
          number(llvm::APFloat::getLargest(semantics)),
          number(llvm::APFloat::getSmallestNormalized(semantics)),
          number(llvm::APFloat::getSmallest(semantics)),
          std::numeric_limits<double>::infinity()})
      floats.insert(floats.end(), {value, -value});
    floats.push_back(std::nan(""));
  } else if (element.isInteger(1)) {
    ints = {0, 1};
  } else {
    unsigned width = element.getIntOrFloatBitWidth();
    int64_t high = static_cast<int64_t>(uint64_t(1) << (width - 1));
    ints = {0, 1, -1, 2, -2, 3, -3, 5, 7, 8, 31, 32, 63, 64, 100, -100};
    ints.insert(ints.end(), {high, high - 1, high + 1, width, width - 1});
    // Ties of bfloat16 that float64 does not hold.
    for (int64_t odd : {0, 1, -1})
      ints.push_back((int64_t(0x101) << 54) + odd);
  }
  Tensor values(RankedTensorType::get(
      {static_cast<int64_t>(std::max(floats.size(), ints.size()))}, element));
  values.floats = floats;
  values.ints = ints;
  values.roundToStorage();
  return values;
}

/// Every value of `x` with every one of `y`, as two tensors.
std::pair<Tensor, Tensor> allPairs(const Tensor &x, const Tensor &y) {
  int64_t count = x.size() * y.size();
  Tensor first(RankedTensorType::get({count}, x.type().getElementType()));
  Tensor second(RankedTensorType::get({count}, y.type().getElementType()));
  for (int64_t i = 0; i < count; ++i) {
    first.copyElement(i, x, i / y.size());
    second.copyElement(i, y, i % y.size());
  }
  return {first, second};
}

std::string typeText(const Tensor &tensor) {
  std::string text;
  llvm::raw_string_ostream(text) << tensor.type();
  return text;
}

/// Adds a function of %x, %y, .. that computes %r of type `result`.
void addProgram(TestContext &context, OpBundle &bundle, const std::string &name,
                const std::string &body, const std::string &result,
                std::vector<Tensor> inputs) {
  std::string arguments, argument = "%x";
  for (const Tensor &input : inputs) {
    arguments +=
        (arguments.empty() ? "" : ", ") + argument + ": " + typeText(input);
    ++argument.back();
  }
  std::string text = "func.func @main(" + arguments + ") -> " + result + " { " +
                     body + " return %r : " + result + " }";
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, context.get());
  INFO(text << context.takeDiagnostics());
  REQUIRE(module);
  REQUIRE(bundle.add(name, module->lookupSymbol<func::FuncOp>("main"),
                     std::move(inputs), ir::Rounding::each_op));
}

/// Adds one op, written without "%r = sinter.", on the operands %x, %y, ...
void addOp(TestContext &context, OpBundle &bundle, const std::string &op,
           const std::string &result, std::vector<Tensor> inputs) {
  addProgram(context, bundle, op, "%r = sinter." + op, result,
             std::move(inputs));
}

std::string inputsText(const BundlePart &part, int64_t i) {
  std::string text;
  for (const Tensor &input : part.inputs)
    text +=
        " " + (input.isFloat()      ? std::to_string(input.floats[i])
               : input.isUnsigned() ? std::to_string(uint64_t(input.ints[i]))
                                    : std::to_string(input.ints[i]));
  return text;
}

/// Equal bits; a NaN is equal to every NaN.
bool isSame(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

/// Checks each element by `isEqual` for floats; integers are equal.
void checkElements(OpBundle &bundle,
                   llvm::function_ref<bool(double, double)> isEqual) {
  for (const std::string &failure : bundle.run())
    FAIL_CHECK(failure);
  for (const BundlePart &part : bundle.parts)
    for (size_t r = 0; r < part.compiled.size(); ++r) {
      const Tensor &compiled = part.compiled[r], &reference = part.reference[r];
      int numWrong = 0;
      std::string text = part.name + ":";
      for (int64_t i = 0; i < reference.size(); ++i) {
        bool isRight = reference.isFloat()
                           ? isEqual(compiled.floats[i], reference.floats[i])
                           : compiled.ints[i] == reference.ints[i];
        if (isRight || numWrong++ >= 8)
          continue;
        char line[200];
        if (reference.isFloat())
          std::snprintf(line, sizeof(line), " of%s is %.17g instead of %.17g;",
                        inputsText(part, i).c_str(), compiled.floats[i],
                        reference.floats[i]);
        else
          std::snprintf(line, sizeof(line), " of%s is %lld instead of %lld;",
                        inputsText(part, i).c_str(),
                        static_cast<long long>(compiled.ints[i]),
                        static_cast<long long>(reference.ints[i]));
        text += line;
      }
      INFO(text);
      CHECK(numWrong == 0);
    }
}

} // namespace

TEST_CASE("exact ops of integers give the bits of the evaluation") {
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
    checkElements(bundle, isSame);
  }
}

TEST_CASE("exact ops of floats give the bits of the evaluation") {
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
      checkElements(bundle, isSame);
    }
}

TEST_CASE("every cast gives the bits of the evaluation") {
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
    checkElements(bundle, isSame);
  }
}

TEST_CASE("functions keep their value at the edges") {
  for (const char *machine : kMachines)
    for (const char *name : {"f32", "f64"}) {
      TestContext context;
      OpBundle bundle(context.get(), machine);
      Type element = elementType(context, name);
      Tensor values = specialValues(element);
      for (const char *op :
           {"exp", "expm1", "log", "log1p", "rsqrt", "tanh", "sigmoid", "erf",
            "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh"})
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
      checkElements(bundle, [=](double a, double b) {
        if (b == 0 || !std::isfinite(a) || !std::isfinite(b))
          return isSame(a, b);
        return std::fabs(a - b) <= relative * std::fabs(b) + absolute;
      });
    }
}

TEST_CASE("what a library call applies has the meaning of the op") {
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
  checkElements(exact, isSame);

  for (const char *op : {"tanh", "sigmoid", "gelu erf", "gelu tanh"})
    add(functions, "%r = sinter." + std::string(op) + " %d : tensor<4x19xf32>");
  checkElements(functions, [](double a, double b) {
    if (!std::isfinite(a) || !std::isfinite(b))
      return isSame(a, b);
    return std::fabs(a - b) <= 0x1p-20 * std::max(1.0, std::fabs(b));
  });
}
