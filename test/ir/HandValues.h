//===- HandValues.h - ops of constants and their results --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_IR_HAND_VALUES_H
#define SINTER_TEST_IR_HAND_VALUES_H

#include "test/ir/Evaluation.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

namespace sinter::test {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The result of a function of no arguments with this body and result type.
inline ir::Tensor evaluate(const std::string &type, const std::string &body,
                           ir::Rounding rounding = ir::Rounding::none) {
  std::string text = "func.func @f() -> " + type + " {\n" + body +
                     "\nreturn %r : " + type + "\n}";
  INFO(text);
  Program program(context(), text);
  REQUIRE(program.module);
  auto results = ir::evaluateFunction(program.function(), {}, rounding);
  REQUIRE(mlir::succeeded(results));
  return results->front();
}

inline std::string constant(const std::string &name, const std::string &value,
                            const std::string &type) {
  return "%" + name + " = sinter.constant dense<" + value + "> : " + type +
         "\n";
}

/// `op` of x, and of x and y, as integers of `type`.
inline std::vector<int64_t> ints(const std::string &op, const std::string &type,
                                 const std::string &x) {
  return evaluate(type, constant("x", x, type) + "%r = sinter." + op +
                            " %x : " + type)
      .ints;
}
inline std::vector<int64_t> ints(const std::string &op, const std::string &type,
                                 const std::string &x, const std::string &y) {
  return evaluate(type, constant("x", x, type) + constant("y", y, type) +
                            "%r = sinter." + op + " %x, %y : " + type)
      .ints;
}
inline std::vector<double>
floats(const std::string &op, const std::string &type, const std::string &x) {
  return evaluate(type, constant("x", x, type) + "%r = sinter." + op +
                            " %x : " + type)
      .floats;
}
inline std::vector<double> floats(const std::string &op,
                                  const std::string &type, const std::string &x,
                                  const std::string &y) {
  return evaluate(type, constant("x", x, type) + constant("y", y, type) +
                            "%r = sinter." + op + " %x, %y : " + type)
      .floats;
}

/// Equal with NaN equal to NaN and -0.0 different from 0.0.
inline void checkSame(const std::vector<double> &actual,
                      const std::vector<double> &expected) {
  REQUIRE(actual.size() == expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    INFO("element " << i << ": " << actual[i] << ", expected " << expected[i]);
    if (std::isnan(expected[i]))
      CHECK(std::isnan(actual[i]));
    else
      CHECK((actual[i] == expected[i] &&
             std::signbit(actual[i]) == std::signbit(expected[i])));
  }
}

/// The cast of `x` from one type to another.
inline ir::Tensor castOf(const std::string &x, const std::string &from,
                         const std::string &to) {
  return evaluate(to, constant("x", x, from) + "%r = sinter.cast %x : " + from +
                          " -> " + to);
}

using Ints = std::vector<int64_t>;
inline const std::string kNanF32 = "0x7FC00000", kInfF32 = "0x7F800000",
                         kNegInfF32 = "0xFF800000";

} // namespace sinter::test

#endif // SINTER_TEST_IR_HAND_VALUES_H
