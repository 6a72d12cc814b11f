//===- SmallIntegersTest.cpp - evaluation in 16-bit integers --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Evaluations in 16 bits have the values of those in Tensors, or none.
//
//===----------------------------------------------------------------------===//
#include "ir/eval/SmallIntegers.h"
#include "test/ir/HandValues.h"

#include <map>
#include <random>

using namespace mlir;
using namespace sinter::ir;
using namespace sinter::test;

namespace {

/// %r of `body` in 16 bits; nothing if one of its ops has no such value.
std::optional<SmallIntegers> smallValue(func::FuncOp function) {
  std::map<void *, SmallIntegers> values;
  std::optional<SmallIntegers> last;
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      last = SmallIntegers::fromAttr(cast<ElementsAttr>(constant.getValue()));
    } else {
      SmallVector<SmallIntegers> operands;
      for (Value operand : op.getOperands())
        operands.push_back(values.at(operand.getAsOpaquePointer()));
      last = evaluateSmall(&op, operands);
    }
    if (!last)
      return std::nullopt;
    values[op.getResult(0).getAsOpaquePointer()] = *last;
  }
  return last;
}

std::optional<SmallIntegers> smallValue(const std::string &type,
                                        const std::string &body) {
  Program program(context(), "func.func @f() -> " + type + " {\n" + body +
                                 "\nreturn %r : " + type + "\n}");
  REQUIRE(program.module);
  return smallValue(program.function());
}

/// %r has the values that Tensors give.
void checkSameAsTensors(const std::string &type, const std::string &body) {
  INFO(body);
  Tensor expected = evaluate(type, body, Rounding::each_op);
  std::optional<SmallIntegers> small = smallValue(type, body);
  REQUIRE(small);
  CHECK(small->type == expected.type());
  IntegerRange bounds = small->bounds;
  small->tightenBounds();
  CHECK(bounds.contains(small->bounds));
  small->expandSplat();
  REQUIRE(int64_t(small->numbers.size()) == expected.size());
  for (int64_t i = 0; i < expected.size(); ++i)
    CHECK(small->numbers[i] == (expected.isFloat() ? int64_t(expected.floats[i])
                                                   : expected.ints[i]));
}

/// `count` integers between `least` and `greatest` as a list.
std::string listOf(std::mt19937 &random, int count, int least, int greatest) {
  std::string text;
  std::uniform_int_distribution<int> draw(least, greatest);
  for (int i = 0; i < count; ++i)
    text += (i ? ", " : "[") + std::to_string(draw(random));
  return text + "]";
}

bool hasValue(const std::string &op, const std::string &type,
              const std::string &x, const std::string &y) {
  return smallValue(type, constant("x", x, type) + constant("y", y, type) +
                              "%r = sinter." + op + " %x, %y : " + type)
      .has_value();
}

} // namespace

TEST_CASE("sums, differences, shifts and bitwise and in 16 bits") {
  std::mt19937 random(1);
  struct {
    std::string type;
    int least, greatest;
  } cases[] = {{"i32", -16000, 16000}, {"ui8", 100, 120},  {"i8", -60, 60},
               {"i16", -16000, 16000}, {"ui32", 0, 16000}, {"i64", -9, 9}};
  for (const auto &[element, least, greatest] : cases) {
    const std::string type = "tensor<40x" + element + ">";
    auto check = [&](const std::string &op, const std::string &x,
                     const std::string &y) {
      checkSameAsTensors(type, constant("x", x, type) + constant("y", y, type) +
                                   "%r = sinter." + op + " %x, %y : " + type);
    };
    const std::string x = listOf(random, 40, least, greatest),
                      y = listOf(random, 40, least, greatest),
                      low = std::to_string(least);
    check("add", x, y);
    check("add", low, y);
    check("add", low, low);
    check("sub", x, low);
    check("sub", low, low);
    if (least < 0)
      check("sub", x, y);
    check("and", x, listOf(random, 40, 0, greatest));
    check("and", x, "15");
    check("shift_right", x, listOf(random, 40, 0, 15));
    check("shift_right", x, "4");
    check("shift_right", low, "3");
  }
}

TEST_CASE("sums of whole floats in 16 bits") {
  const std::string type = "tensor<4xf32>",
                    x = constant("x", "[1.0, -255.0, 0.0, 12.0]", type),
                    y = constant("y", "8.0", type);
  checkSameAsTensors(type, x + y + "%r = sinter.sub %x, %y : " + type);
  checkSameAsTensors(type, x + y + "%r = sinter.add %y, %x : " + type);
  CHECK(!smallValue(type, constant("r", "[1.0, 0.5, 0.0, 2.0]", type)));
  CHECK(!smallValue(type, constant("r", "[1.0, 40000.0, 0.0, 2.0]", type)));
  CHECK(!smallValue(type,
                    constant("r", "[1.0, " + kNanF32 + ", 0.0, 2.0]", type)));
  CHECK(!smallValue(type, constant("r", kInfF32, type)));
}

TEST_CASE("nothing where 16 bits or the type may not have the result") {
  CHECK(!hasValue("add", "tensor<2xi32>", "[30000, 0]", "[30000, 0]"));
  CHECK(!hasValue("sub", "tensor<2xui8>", "[0, 9]", "[1, 1]"));
  CHECK(!hasValue("add", "tensor<2xi8>", "[100, 0]", "[100, 0]"));
  CHECK(!hasValue("and", "tensor<2xi32>", "[-1, 1]", "[-2, 1]"));
  CHECK(!hasValue("shift_right", "tensor<2xi32>", "[1, 2]", "[0, 16]"));
  CHECK(!hasValue("shift_right", "tensor<2xi32>", "[1, 2]", "[0, -1]"));
  CHECK(!hasValue("mul", "tensor<2xi32>", "[1, 2]", "[0, 1]"));
  CHECK(!smallValue("tensor<2xi32>",
                    constant("r", "[1, 40000]", "tensor<2xi32>")));
  CHECK(!smallValue("tensor<2xi1>", constant("r", "true", "tensor<2xi1>")));
  CHECK(!smallValue("tensor<2xi8>",
                    constant("x", "[200, 1]", "tensor<2xui8>") +
                        "%r = sinter.cast %x : tensor<2xui8> -> tensor<2xi8>"));
  CHECK(
      !smallValue("tensor<2xf16>",
                  constant("x", "[200, 1]", "tensor<2xui8>") +
                      "%r = sinter.cast %x : tensor<2xui8> -> tensor<2xf16>"));
}

TEST_CASE("elements that move in 16 bits") {
  std::mt19937 random(2);
  const std::string x = constant("x",
                                 "[" + listOf(random, 4, -128, 127) + ", " +
                                     listOf(random, 4, -128, 127) + ", " +
                                     listOf(random, 4, -128, 127) + "]",
                                 "tensor<3x4xi8>");
  checkSameAsTensors("tensor<4x3xi8>",
                     x + "%r = sinter.transpose %x perm [1, 0] : "
                         "(tensor<3x4xi8>) -> tensor<4x3xi8>");
  checkSameAsTensors("tensor<2x2xi8>",
                     x + "%r = sinter.slice %x starts [1, 0] limits [3, 4] "
                         "strides [1, 2] : (tensor<3x4xi8>) -> tensor<2x2xi8>");
  checkSameAsTensors("tensor<3x4xi8>", x + "%r = sinter.reverse %x dims [1] : "
                                           "tensor<3x4xi8>");
  checkSameAsTensors("tensor<3x5x4xi8>",
                     x + "%r = sinter.broadcast %x dims [0, 2] : "
                         "tensor<3x4xi8> -> tensor<3x5x4xi8>");
  checkSameAsTensors("tensor<3x4x5xi8>",
                     x + "%r = sinter.broadcast %x dims [0, 1] : "
                         "tensor<3x4xi8> -> tensor<3x4x5xi8>");
  checkSameAsTensors("tensor<2x6xi8>", x + "%r = sinter.reshape %x : "
                                           "tensor<3x4xi8> -> tensor<2x6xi8>");
  checkSameAsTensors("tensor<6x4xi8>",
                     x + "%r = sinter.concat %x, %x axis 0 : (tensor<3x4xi8>, "
                         "tensor<3x4xi8>) -> tensor<6x4xi8>");
  checkSameAsTensors("tensor<3x6xi8>",
                     x + constant("y", "7", "tensor<3x2xi8>") +
                         "%r = sinter.concat %y, %x axis 1 : (tensor<3x2xi8>, "
                         "tensor<3x4xi8>) -> tensor<3x6xi8>");
}

TEST_CASE("two codes of each byte, less a zero point for each block") {
  std::mt19937 random(3);
  std::string bytes = listOf(random, 64, 0, 255),
              zeros = listOf(random, 8, 0, 15);
  checkSameAsTensors("tensor<2x64xf32>",
                     constant("flat", bytes, "tensor<64xui8>") +
                         constant("points", zeros, "tensor<8xi32>") +
                         R"(
    %b = sinter.reshape %flat : tensor<64xui8> -> tensor<2x32xui8>
    %wide = sinter.cast %b : tensor<2x32xui8> -> tensor<2x32xi32>
    %four = sinter.constant dense<4> : tensor<2x32xi32>
    %mask = sinter.constant dense<15> : tensor<i32>
    %masks = sinter.broadcast %mask dims [] : tensor<i32> -> tensor<2x32xi32>
    %low = sinter.and %wide, %masks : tensor<2x32xi32>
    %high = sinter.shift_right %wide, %four : tensor<2x32xi32>
    %l = sinter.reshape %low : tensor<2x32xi32> -> tensor<2x32x1xi32>
    %h = sinter.reshape %high : tensor<2x32xi32> -> tensor<2x32x1xi32>
    %both = sinter.concat %l, %h axis 2 : (tensor<2x32x1xi32>, tensor<2x32x1xi32>) -> tensor<2x32x2xi32>
    %codes = sinter.reshape %both : tensor<2x32x2xi32> -> tensor<2x64xi32>
    %x = sinter.cast %codes : tensor<2x64xi32> -> tensor<2x64xf32>
    %p = sinter.cast %points : tensor<8xi32> -> tensor<8xf32>
    %p1 = sinter.reshape %p : tensor<8xf32> -> tensor<2x4x1xf32>
    %p2 = sinter.broadcast %p1 dims [0, 1, 2] : tensor<2x4x1xf32> -> tensor<2x4x16xf32>
    %zeros = sinter.reshape %p2 : tensor<2x4x16xf32> -> tensor<2x64xf32>
    %r = sinter.sub %x, %zeros : tensor<2x64xf32>)");
}

TEST_CASE("Tensors as integers of 16 bits") {
  auto type = RankedTensorType::get({3}, Float32Type::get(&context()));
  Tensor tensor(type);
  tensor.floats = {-3, 0, 32767};
  std::optional<SmallIntegers> small = SmallIntegers::fromTensor(tensor);
  REQUIRE(small);
  CHECK(small->numbers == std::vector<int16_t>{-3, 0, 32767});
  CHECK(small->bounds.least == -3);
  CHECK(small->bounds.greatest == 32767);
  for (double other : {0.5, 32768.0, kNan, kInfinity}) {
    tensor.floats[1] = other;
    CHECK(!SmallIntegers::fromTensor(tensor));
  }
}
