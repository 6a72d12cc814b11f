//===- ShapesTest.cpp - open dimensions and shape arithmetic --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "test/compiler/import/ModelBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <catch2/catch.hpp>

using namespace sinter::test;
using sinter::compiler::ImportOptions;

static ImportOptions withBatch(int64_t batch) {
  ImportOptions options;
  options.batch = batch;
  return options;
}

TEST_CASE("a small network becomes one function") {
  Imported result = smallNet().import(withBatch(2));
  REQUIRE(result.text() == "");
  INFO(result.ir());
  CHECK(result.count("sinter.conv ") == 1);
  CHECK(result.count("sinter.batch_norm ") == 1);
  CHECK(result.count("sinter.input = \"x\"") == 1);
  CHECK(result.count("sinter.output = \"y\"") == 1);
  CHECK(result.count("sinter.state") == 0);
  CHECK(result.count("tensor<2x3xf32>") > 0);
  CHECK(evaluate(result, {std::vector<double>(144, 0.25)}).size() == 1);
}

TEST_CASE("an open dimension must be bound") {
  Imported result = smallNet().import();
  CHECK(result.errors.exitCode() == 2);
  CHECK(result.says(
      "open dimensions: 'N' of input 'x'; bind them, for example with "
      "--batch=N"));
}

TEST_CASE("--dim, --shape and --batch bind") {
  ImportOptions byDim, byShape, both, unknown;
  byDim.dims["N"] = 3;
  byShape.shapes["x"] = {3, 2, 6, 6};
  both.dims["N"] = 3;
  both.batch = 4;
  unknown.dims["M"] = 3;
  CHECK(smallNet().import(byDim).count("tensor<3x3xf32>") > 0);
  CHECK(smallNet().import(byShape).count("tensor<3x3xf32>") > 0);
  CHECK(smallNet().import(both).says("bound to both 3 and 4"));
  CHECK(smallNet().import(unknown).says(
      "no input has a dimension of that name; it has 'N'"));
  byShape.shapes["x"] = {3, 2, 6, 7};
  CHECK(smallNet().import(byShape).says("fixed size 6, not 7"));
}

TEST_CASE("shape arithmetic disappears") {
  // y = reshape(x, concat(shape(x)[0:1], [-1])), as exporters write flatten.
  ModelBuilder b;
  b.input("x", {std::string("N"), int64_t(3), int64_t(4)});
  b.ints("zero", {}, {0});
  b.ints("axis", {1}, {0});
  b.ints("rest", {1}, {-1});
  b.node("Shape", {"x"}, {"s"});
  b.node("Gather", {"s", "zero"}, {"n"});
  b.node("Unsqueeze", {"n", "axis"}, {"u"});
  ModelBuilder::setInt(b.node("Concat", {"u", "rest"}, {"t"}), "axis", 0);
  b.node("Reshape", {"x", "t"}, {"y"}, "flat");
  b.output("y");
  Imported result = b.import(withBatch(5));
  REQUIRE(result.text() == "");
  INFO(result.ir());
  CHECK(result.count("sinter.reshape") == 1);
  CHECK(result.count("sinter.") == 4); // model, input, output, reshape
  CHECK(result.count("tensor<5x12xf32>") > 0);
}

TEST_CASE("a shape that depends on data is named") {
  ModelBuilder b;
  b.input("x", {int64_t(4)});
  b.input("s", {int64_t(2)}, ::onnx::TensorProto::INT64);
  b.node("Reshape", {"x", "s"}, {"y"}, "r");
  b.output("y");
  Imported result = b.import();
  CHECK(result.errors.exitCode() == 3);
  CHECK(result.says(
      "input 'shape' ('s') must be known at compile time (node 'r')"));
}

/// A static export for batch 8 whose Reshape has `shape`.
static ModelBuilder staticReshape(const std::vector<int64_t> &shape) {
  ModelBuilder b;
  b.input("x", {int64_t(8), int64_t(2), int64_t(6)});
  b.ints("shape", {int64_t(shape.size())}, shape);
  b.node("Reshape", {"x", "shape"}, {"y"}, "flat");
  b.output("y");
  return b;
}

TEST_CASE("--batch changes static exports") {
  CHECK(staticReshape({8, 12}).import(withBatch(3)).count("tensor<3x12xf32>") >
        0);
  CHECK(staticReshape({16, 6}).import(withBatch(3)).count("tensor<6x6xf32>") >
        0);
  CHECK(staticReshape({-1, 12}).import(withBatch(3)).count("tensor<3x12xf32>") >
        0);
  CHECK(staticReshape({0, -1}).import(withBatch(3)).count("tensor<3x12xf32>") >
        0);
  // Either of the last two dimensions could be the batch.
  Imported result = staticReshape({1, 8, 8, 3, 1}).import(withBatch(3));
  CHECK(result.errors.exitCode() == 2);
  CHECK(result.says("node 'flat' (Reshape)"));
}

TEST_CASE("inputs can be bound at compile time") {
  ModelBuilder b;
  b.input("x", {int64_t(4)});
  b.input("s", {int64_t(2)}, ::onnx::TensorProto::INT64);
  b.node("Reshape", {"x", "s"}, {"y"}, "r");
  b.output("y");
  mlir::MLIRContext context;
  sinter::ir::Tensor shape(
      mlir::RankedTensorType::get({2}, mlir::IntegerType::get(&context, 64)));
  shape.ints = {2, 2};
  ImportOptions options;
  options.constantInputs["s"] = shape;
  sinter::compiler::ImportErrors errors;
  std::string bytes = b.model.SerializeAsString();
  auto model = sinter::compiler::loadOnnxBytes({bytes.data(), bytes.size()},
                                               "m", errors);
  auto module = sinter::compiler::importOnnx(model, options, &context, errors);
  REQUIRE(module);
  auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
  CHECK(main.getNumArguments() == 1);
}
