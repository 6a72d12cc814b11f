//===- QuantizedRewritesTest.cpp - rewrites of values of 8-bit codes ------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Rewrites of quantised values must not change a code. The programs are those
// of the lit test of these patterns; each is evaluated for all 256 codes before
// and after.
//
//===----------------------------------------------------------------------===//
#include "ir/eval/Evaluate.h"
#include "passes/simplify/SimplifyPatterns.h"
#include "test/ops/OpFixture.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/MemoryBuffer.h"

#include <catch2/catch.hpp>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;
using ir::Tensor;

namespace {

/// All codes, again and again.
std::vector<Tensor> codesOf(func::FuncOp function) {
  std::vector<Tensor> inputs;
  for (Type type : function.getArgumentTypes()) {
    Tensor &codes = inputs.emplace_back(cast<RankedTensorType>(type));
    for (size_t i = 0; i < codes.ints.size(); ++i)
      codes.ints[i] =
          static_cast<int64_t>(i % 256) - (codes.isUnsigned() ? 0 : 128);
  }
  return inputs;
}

std::vector<int64_t> resultsOf(func::FuncOp function) {
  auto results =
      ir::evaluateFunction(function, codesOf(function), ir::Rounding::each_op);
  REQUIRE(succeeded(results));
  return results->front().ints;
}

} // namespace

TEST_CASE("rewrites of quantised values keep all codes", "[rewrites]") {
  TestContext context;
  RewritePatternSet set(context.get());
  passes::addQuantizedPatterns(set);
  const FrozenRewritePatternSet patterns(std::move(set));
  auto file = llvm::MemoryBuffer::getFile(SINTER_SIMPLIFY_QUANTIZED);
  REQUIRE(file);
  llvm::SmallVector<StringRef> texts;
  (*file)->getBuffer().split(texts, "// -----");
  int numChanged = 0;
  for (StringRef text : texts) {
    auto module = parseSourceString<ModuleOp>(text.str(), context.get());
    REQUIRE(module);
    for (auto function : module->getOps<func::FuncOp>()) {
      INFO(function.getName().str());
      const std::vector<int64_t> before = resultsOf(function);
      bool changes = false;
      (void)applyPatternsAndFoldGreedily(function, patterns, {}, &changes);
      numChanged += changes;
      CHECK(resultsOf(function) == before);
    }
  }
  CHECK(numChanged >= 5);
}
