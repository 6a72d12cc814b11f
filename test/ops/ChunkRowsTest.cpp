//===- ChunkRowsTest.cpp - chunks of rows compute the same ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The functions of the lit test of the pass are evaluated in float64 before and
// after it, for several numbers of chunks.
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
#include <random>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;
using ir::Tensor;

namespace {

std::vector<Tensor> draw(func::FuncOp function) {
  std::mt19937 random(7);
  std::vector<Tensor> operands;
  for (Type type : function.getArgumentTypes()) {
    Tensor &tensor = operands.emplace_back(cast<RankedTensorType>(type));
    // Numbers with few digits: products and their sums are exact, so that the
    // largest of a row is the same one.
    for (double &x : tensor.floats)
      x = std::ldexp(static_cast<double>(random() % 64) - 32, -4);
    for (int64_t &x : tensor.ints)
      x = static_cast<int64_t>(random() % 64);
  }
  return operands;
}

} // namespace

TEST_CASE("chunks of rows compute the same") {
  TestContext context;
  auto buffer = llvm::MemoryBuffer::getFile(SINTER_CHUNK_ROWS);
  REQUIRE(buffer);
  for (int chunks : {2, 3, 4, 16}) {
    OwningOpRef<ModuleOp> before = parseSourceString<ModuleOp>(
                              (*buffer)->getBuffer(), context.get()),
                          after = before->clone();
    PassManager manager(context.get());
    std::unique_ptr<Pass> pass = passes::createChunkRows(nullptr, {});
    REQUIRE(succeeded(pass->initializeOptions(
        "least-bytes=16384 most-chunks=" + std::to_string(chunks),
        [](const Twine &) { return failure(); })));
    manager.addNestedPass<func::FuncOp>(std::move(pass));
    REQUIRE(succeeded(manager.run(*after)));
    int changed = 0;
    for (auto function : before->getOps<func::FuncOp>()) {
      INFO(function.getName().str() << " in " << chunks);
      auto cut = after->lookupSymbol<func::FuncOp>(function.getName());
      changed += !cut.getOps<ir::AfterOp>().empty();
      CHECK(differenceBetween(function, cut, draw(function)) == "");
    }
    CHECK(changed == 6);
  }
}
