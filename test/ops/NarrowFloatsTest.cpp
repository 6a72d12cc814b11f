//===- NarrowFloatsTest.cpp - compiled values and gradients in 16 bits ----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Compares the op list on tensors of bf16 and of fp16 with its evaluation in
// float64 on the same 16-bit inputs.
//
//===----------------------------------------------------------------------===//
#include "test/ops/CompiledChecks.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;
using ir::Tensor;

namespace {

/// Whether the op returns elements of its operands: nothing is rounded.
bool isExact(Operation *op) {
  return isa<ir::ConstantOp, ir::ReshapeOp, ir::TransposeOp, ir::BroadcastOp,
             ir::SliceOp, ir::PadOp, ir::ConcatOp, ir::ReverseOp, ir::GatherOp,
             ir::GatherElementsOp, ir::GatherNdOp, ir::WhereOp, ir::ReluOp,
             ir::MaxOp, ir::MinOp, ir::NegOp, ir::AbsOp, ir::SignOp,
             ir::StopGradientOp>(op);
}

bool isNarrow(Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  return element.isBF16() || element.isF16();
}

/// The largest number of roundings on a path from an argument of the block to
/// an operand of its terminator.
int roundingsIn(Block &block) {
  llvm::DenseMap<Value, int> depth;
  int most = 0;
  for (Operation &op : block) {
    int deepest = 0;
    for (Value operand : op.getOperands())
      deepest = std::max(deepest, depth.lookup(operand));
    if (auto scan = dyn_cast<ir::ScanOp>(op))
      deepest += int(scan.getTrips()) * roundingsIn(scan.getBody().front());
    const bool isRounded = !isExact(&op) && !isa<ir::ScanOp>(op);
    for (Value result : op.getResults())
      depth[result] = deepest + (isRounded && isNarrow(result) ? 1 : 0);
    most = deepest; // at last, of the terminator
  }
  return most;
}

/// The same in a function after composites are decomposed.
int roundingsOf(func::FuncOp function) {
  func::FuncOp copy = function.clone();
  decomposeAll(copy);
  int most = roundingsIn(copy.getBody().front());
  copy.erase();
  return std::max(most, 1);
}

/// The difference, per result, between the evaluation that rounds each op's
/// result to 16 bits and that in float64: how much the program magnifies
/// rounding.
std::vector<double> spreads(func::FuncOp function, ArrayRef<Tensor> inputs) {
  auto exact = ir::evaluateFunction(function, inputs, ir::Rounding::none);
  auto rounded = ir::evaluateFunction(function, inputs, ir::Rounding::each_op);
  REQUIRE(succeeded(exact));
  REQUIRE(succeeded(rounded));
  std::vector<double> list;
  for (auto [a, b] : llvm::zip_equal(*exact, *rounded)) {
    double most = 0;
    for (auto [x, y] : llvm::zip_equal(a.floats, b.floats))
      if (std::isfinite(x) && std::isfinite(y))
        most = std::max(most, std::fabs(x - y));
    list.push_back(most);
  }
  return list;
}

/// Half a unit in the last place for each rounding: of the element itself if
/// there is only one, else of the largest element, to which earlier errors are
/// carried. If terms cancel, errors grow beyond that: allows twice the error of
/// the reference that rounds at the same points. The arithmetic in between is
/// float32, as in programs of float32.
Allowance allowance(Type floatType, func::FuncOp function,
                    ArrayRef<Tensor> inputs) {
  double unit = floatType.isBF16() ? 0x1p-8 : 0x1p-11;
  double tiny = floatType.isBF16() ? 0x1p-126 : 0x1p-25;
  int roundings = roundingsOf(function);
  if (roundings == 1)
    return {0x1p-18, unit, tiny, {}};
  std::vector<double> ofResult = spreads(function, inputs);
  for (double &spread : ofResult)
    spread *= 2;
  return {0x1p-18 + unit * roundings, 0, tiny * roundings, ofResult};
}

/// Every case in bf16. fp16 differs only in its conversions: every contraction,
/// and a third of the other shapes.
std::vector<OpCase> casesOf(bool isHalf) {
  std::vector<OpCase> chosen;
  for (auto [i, opCase] : llvm::enumerate(allCases()))
    if (!isHalf || i % 3 == 0 || opCase.op() == "sinter.dot_general" ||
        opCase.op().starts_with("sinter.conv"))
      chosen.push_back(opCase);
  return chosen;
}

void checkAll(bool isGradient, bool isHalf) {
  for (const std::vector<OpCase> &cases : chunks(casesOf(isHalf))) {
    TestContext context;
    Type floatType = isHalf ? Type(Float16Type::get(context.get()))
                            : Type(BFloat16Type::get(context.get()));
    OpBundle bundle(context.get());
    std::vector<Allowance> allowances;
    auto look = [&](func::FuncOp function, ArrayRef<Tensor> inputs) {
      allowances.push_back(allowance(floatType, function, inputs));
    };
    for (const OpCase &opCase : cases)
      if (!isGradient)
        addValue(bundle, opCase, floatType, look);
      else if (isDifferentiable(opCase, context.get()))
        addGradient(bundle, opCase, floatType, look);
    CHECK(problemsOf(bundle, allowances) == std::vector<std::string>{});
  }
}

} // namespace

TEST_CASE("compiled values in bf16 are those of the evaluation",
          "[compiled][narrow]") {
  checkAll(/*isGradient=*/false, /*isHalf=*/false);
}

TEST_CASE("compiled values in fp16 are those of the evaluation",
          "[compiled][narrow]") {
  checkAll(/*isGradient=*/false, /*isHalf=*/true);
}

TEST_CASE("compiled gradients in bf16 are those of the evaluation",
          "[compiled][narrow]") {
  checkAll(/*isGradient=*/true, /*isHalf=*/false);
}

TEST_CASE("compiled gradients in fp16 are those of the evaluation",
          "[compiled][narrow]") {
  checkAll(/*isGradient=*/true, /*isHalf=*/true);
}
