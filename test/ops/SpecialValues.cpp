//===- SpecialValues.cpp - values at which machines differ ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/ops/SpecialValues.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

using namespace mlir;
using namespace sinter;
using ir::Tensor;

namespace sinter::test {

Type elementType(TestContext &context, StringRef name) {
  return parseType(name, context.get());
}

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
    // Ties of bfloat16 that float64 cannot represent.
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

void addProgram(TestContext &context, OpBundle &bundle, const std::string &name,
                const std::string &body, const std::string &result,
                std::vector<Tensor> inputs) {
  std::string arguments;
  for (auto [i, input] : llvm::enumerate(inputs))
    arguments +=
        (i ? ", %" : "%") + std::string(1, "xyzab"[i]) + ": " + typeText(input);
  std::string text = "func.func @main(" + arguments + ") -> " + result + " { " +
                     body + " return %r : " + result + " }";
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, context.get());
  INFO(text << context.takeDiagnostics());
  REQUIRE(module);
  REQUIRE(bundle.add(name, module->lookupSymbol<func::FuncOp>("main"),
                     std::move(inputs), ir::Rounding::each_op));
}

void addOp(TestContext &context, OpBundle &bundle, const std::string &op,
           const std::string &result, std::vector<Tensor> inputs) {
  addProgram(context, bundle, op, "%r = sinter." + op, result,
             std::move(inputs));
}

static std::string elementText(const Tensor &tensor, int64_t i) {
  if (!tensor.isFloat())
    return tensor.isUnsigned() ? std::to_string(uint64_t(tensor.ints[i]))
                               : std::to_string(tensor.ints[i]);
  char text[40];
  std::snprintf(text, sizeof(text), "%.17g", tensor.floats[i]);
  return text;
}

/// The operands of element `i`, where every operand has its position.
static std::string inputsText(const BundlePart &part, int64_t i) {
  std::string text;
  for (const Tensor &input : part.inputs) {
    if (input.size() != part.reference[0].size())
      return "";
    text += (text.empty() ? " of " : ", ") + elementText(input, i);
  }
  return text;
}

bool isSame(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

std::string wrongElements(OpBundle &bundle,
                          llvm::function_ref<bool(double, double)> isEqual) {
  std::string text;
  for (const std::string &failure : bundle.run())
    text += failure + "\n";
  for (const BundlePart &part : bundle.parts)
    for (size_t r = 0; r < part.compiled.size(); ++r) {
      const Tensor &compiled = part.compiled[r], &reference = part.reference[r];
      constexpr int kShown = 8;
      int numWrong = 0;
      for (int64_t i = 0; i < reference.size(); ++i) {
        bool isRight = reference.isFloat()
                           ? isEqual(compiled.floats[i], reference.floats[i])
                           : compiled.ints[i] == reference.ints[i];
        if (isRight || numWrong++ >= kShown)
          continue;
        text += part.name + ": element " + std::to_string(i) +
                inputsText(part, i) + ": " + elementText(compiled, i) +
                " instead of " + elementText(reference, i) + "\n";
      }
    }
  return text;
}

} // namespace sinter::test
