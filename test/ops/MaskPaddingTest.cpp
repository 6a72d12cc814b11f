//===- MaskPaddingTest.cpp - masked columns compute the same --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The functions of the lit test of the pass are evaluated in float64 before and
// after it. Columns that do not count hold numbers, infinities or NaN.
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"
#include "test/ops/OpFixture.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MemoryBuffer.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <random>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;
using ir::Tensor;

namespace {

constexpr int64_t kColumns = 61, kPadded = 64;

/// Operand 1 is the weight of the logits: its last rows make the columns that
/// do not count. Labels are -1, one of the columns, or one that does not count.
std::vector<Tensor> draw(func::FuncOp function, double unused) {
  std::mt19937 random(7);
  std::vector<Tensor> operands;
  for (Type type : function.getArgumentTypes()) {
    Tensor &tensor = operands.emplace_back(cast<RankedTensorType>(type));
    for (double &x : tensor.floats)
      x = std::ldexp(static_cast<double>(random() % 64) - 32, -4);
    for (size_t i = 0; i < tensor.ints.size(); ++i)
      tensor.ints[i] = static_cast<int64_t>(i * 13 % (kPadded + 1)) - 1;
    if (!tensor.ints.empty())
      tensor.ints[0] = kColumns - 1;
  }
  std::vector<double> &weight = operands[1].floats;
  auto first = static_cast<ptrdiff_t>(weight.size() * kColumns / kPadded);
  std::fill(weight.begin() + first, weight.end(), unused);
  return operands;
}

} // namespace

TEST_CASE("masked columns compute the same") {
  TestContext context;
  auto buffer = llvm::MemoryBuffer::getFile(SINTER_MASK_PADDING);
  REQUIRE(buffer);
  OwningOpRef<ModuleOp> before = parseSourceString<ModuleOp>(
                            (*buffer)->getBuffer(), context.get()),
                        after = before->clone();
  PassManager manager(context.get());
  manager.addNestedPass<func::FuncOp>(passes::createMaskPadding());
  REQUIRE(succeeded(manager.run(*after)));
  int changed = 0;
  for (auto function : before->getOps<func::FuncOp>()) {
    auto masked = after->lookupSymbol<func::FuncOp>(function.getName());
    auto numWhere = [](func::FuncOp f) {
      auto list = f.getOps<ir::WhereOp>();
      return std::distance(list.begin(), list.end());
    };
    if (numWhere(masked) == numWhere(function))
      continue;
    ++changed;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    for (double unused : {0.0, 100.0, -100.0, kInfinity, -kInfinity,
                          std::numeric_limits<double>::quiet_NaN()}) {
      INFO(function.getName().str() << " with " << unused);
      CHECK(differenceBetween(function, masked, draw(function, unused)) == "");
    }
  }
  CHECK(changed == 4);
}
