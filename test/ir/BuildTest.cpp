//===- BuildTest.cpp - short forms for building sinter IR -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Build.h"
#include "test/ir/Evaluation.h"

#include <catch2/catch.hpp>

using namespace mlir;
using namespace sinter::ir;
using sinter::test::context;
using Sizes = SmallVector<int64_t>;

namespace {
/// A function to build in, with one argument of `shape` and f32.
struct Body {
  explicit Body(ArrayRef<int64_t> shape)
      : b(&context()), loc(b.getUnknownLoc()) {
    context().loadDialect<SinterDialect, func::FuncDialect>();
    auto type = RankedTensorType::get(shape, b.getF32Type());
    module = ModuleOp::create(loc);
    b.setInsertionPointToEnd(module->getBody());
    auto function =
        b.create<func::FuncOp>(loc, "f", b.getFunctionType(type, {}));
    b.setInsertionPointToStart(function.addEntryBlock());
    x = function.getArgument(0);
  }

  OpBuilder b;
  Location loc;
  OwningOpRef<ModuleOp> module;
  Value x;
};

ArrayRef<int64_t> shapeOf(Value value) { return tensorType(value).getShape(); }
} // namespace

TEST_CASE("NumPy's rule for shapes") {
  CHECK(broadcastShapes({4, 1, 3}, {5, 1}) == Sizes{4, 5, 3});
  CHECK(broadcastShapes({}, {2, 0}) == Sizes{2, 0});
  CHECK(broadcastShapes({1}, {0}) == Sizes{0});
  CHECK_FALSE(broadcastShapes({2}, {3}).has_value());
  CHECK_FALSE(broadcastShapes({2}, {0}).has_value());
}

TEST_CASE("nothing is built where there is nothing to do") {
  Body body({4, 1});
  CHECK(broadcastTo(body.b, body.loc, body.x, {4, 1}) == body.x);
  CHECK(reshapeTo(body.b, body.loc, body.x, {4, 1}) == body.x);
  CHECK(transposeTo(body.b, body.loc, body.x, {0, 1}) == body.x);
  CHECK(castTo(body.b, body.loc, body.x, body.b.getF32Type()) == body.x);
  CHECK(reduceOver(body.b, body.loc, ReduceKind::sum, body.x, {}) == body.x);
}

TEST_CASE("what is built verifies and has the shape asked for") {
  Body body({4, 1});
  OpBuilder &b = body.b;
  Location loc = body.loc;
  CHECK(shapeOf(broadcastTo(b, loc, body.x, {2, 4, 3})) ==
        ArrayRef<int64_t>({2, 4, 3}));
  CHECK(shapeOf(reduceKeep(b, loc, ReduceKind::max, body.x, {1, 0})) ==
        ArrayRef<int64_t>({1, 1}));
  CHECK(shapeOf(reduceMean(b, loc, body.x, {0})) == ArrayRef<int64_t>({1, 1}));
  Value sum = reduceOver(b, loc, ReduceKind::sum, body.x, {0});
  CHECK(shapeOf(spreadOver(b, loc, sum, {4, 1}, {0})) ==
        ArrayRef<int64_t>({4, 1}));
  CHECK(shapeOf(constantI64(b, loc, {1, 2, 3})) == ArrayRef<int64_t>({3}));
  b.create<func::ReturnOp>(loc);
  CHECK(succeeded(body.module->verify()));
}

TEST_CASE("a splat is rounded to the element type") {
  Builder b(&context());
  auto value = [&](Type element, double v) {
    auto tensor =
        Tensor::fromAttr(splatAttr(RankedTensorType::get({2}, element), v));
    return tensor->isFloat() ? tensor->floats[1]
                             : static_cast<double>(tensor->ints[1]);
  };
  CHECK(value(b.getF16Type(), 2049) == 2048);
  CHECK(value(b.getF32Type(), 0.1) == static_cast<double>(0.1f));
  CHECK(value(b.getI32Type(), -3.9) == -3);
  CHECK(value(b.getIntegerType(64, false), 4294967295.0) == 4294967295.0);
  CHECK(value(b.getI1Type(), 0.5) == 1);
}

TEST_CASE("createChecked reports instead of aborting") {
  Body body({4, 1});
  std::string message;
  ScopedDiagnosticHandler handler(&context(), [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  auto perm = [&](ArrayRef<int64_t> dims) {
    return body.b.getNamedAttr("perm", body.b.getDenseI64ArrayAttr(dims));
  };
  CHECK(failed(
      createChecked<TransposeOp>(body.b, body.loc, body.x, perm({0, 2}))));
  CHECK(message == "'sinter.transpose' op 'perm' holds 2, but the rank is 2");
  auto transpose =
      createChecked<TransposeOp>(body.b, body.loc, body.x, perm({1, 0}));
  REQUIRE(succeeded(transpose));
  CHECK(shapeOf(*transpose) == ArrayRef<int64_t>({1, 4}));
}
