//===- SpecialValues.h - values at which machines differ --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Shared by the tests of element types: the values to try, programs written as
// text, and a comparison element by element.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_OPS_SPECIALVALUES_H
#define SINTER_TEST_OPS_SPECIALVALUES_H

#include "test/ops/OpBundle.h"
#include "test/ops/OpFixture.h"

namespace sinter::test {

inline constexpr const char *kIntegers[] = {"i8",  "i16",  "i32",  "i64",
                                            "ui8", "ui16", "ui32", "ui64"};
inline constexpr const char *kFloats[] = {"f16", "bf16", "f32", "f64"};
/// The oldest machine has the fewest instructions; missing ones are expanded.
inline constexpr const char *kMachines[] = {"native", "x86-64"};

/// The element type called `name`.
mlir::Type elementType(TestContext &context, llvm::StringRef name);

/// The values of `element` at which ops are special, and a few that are not.
ir::Tensor specialValues(mlir::Type element);

/// All pairs of a value of `x` and a value of `y`, as two tensors.
std::pair<ir::Tensor, ir::Tensor> allPairs(const ir::Tensor &x,
                                           const ir::Tensor &y);

/// "tensor<5xf32>".
std::string typeText(const ir::Tensor &tensor);

/// Adds a function of %x, %y, %z, %a, %b that computes %r of type `result`; its
/// reference is rounded after every op.
void addProgram(TestContext &context, OpBundle &bundle, const std::string &name,
                const std::string &body, const std::string &result,
                std::vector<ir::Tensor> inputs);

/// Adds one op, written without "%r = sinter.", on the operands %x, %y.
void addOp(TestContext &context, OpBundle &bundle, const std::string &op,
           const std::string &result, std::vector<ir::Tensor> inputs);

/// Equal bits; a NaN is equal to every NaN.
bool isSame(double a, double b);

/// Compiles and runs the bundle; a line for each failure and for each wrong
/// element, floats compared by `isEqual`. "" if everything is correct.
std::string wrongElements(
    OpBundle &bundle,
    llvm::function_ref<bool(double compiled, double reference)> isEqual);

} // namespace sinter::test

#endif // SINTER_TEST_OPS_SPECIALVALUES_H
