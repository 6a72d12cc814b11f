//===- StatesTest.cpp - initializers as state, and the export template ----===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/emit/Artifact.h"
#include "compiler/import/onnx/ExportTemplate.h"
#include "test/compiler/import/ModelBuilder.h"

#include "ir/Dialect.h"

#include <catch2/catch.hpp>

#include <limits>
#include <map>

using namespace sinter::test;
using namespace sinter;

static std::map<std::string, ir::StateOp> statesOf(const Imported &imported) {
  std::map<std::string, ir::StateOp> states;
  for (auto state : imported.module.get().getOps<ir::StateOp>())
    states[state.getSymName().str()] = state;
  return states;
}

/// smallNet of static shape, so that it imports without options.
static ModelBuilder staticNet() {
  ModelBuilder b = smallNet();
  b.graph()
      .mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_value(2);
  return b;
}

TEST_CASE("float initializers become state") {
  Imported result = staticNet().importTrain();
  REQUIRE(result.text() == "");
  auto states = statesOf(result);
  CHECK(states.size() == 8);
  REQUIRE(states.count("fc.weight"));
  CHECK(states["fc.weight"].getTrainable());
  CHECK(states["fc.weight"].getRole() == ir::StateRole::param);
  CHECK(*states["fc.weight"].getOnnx() == "fc.weight");
  CHECK(states["bn.running_mean"].getRole() == ir::StateRole::buffer);
  CHECK_FALSE(states["bn.running_mean"].getTrainable());
  CHECK(result.count("sinter.state = @fc.weight") == 1);
  CHECK(result.count("sinter.constant") == 0);
}

TEST_CASE("masks, scalars and integers are constants") {
  ModelBuilder b;
  b.input("x", {int64_t(2)});
  b.floats("mask", {2}, {0, -std::numeric_limits<float>::infinity()});
  b.floats("low", {2}, {0, -1e9f});
  b.floats("scale", {}, {2});
  b.floats("unused", {2}, {1, 2});
  b.node("Add", {"x", "mask"}, {"a"});
  b.node("Add", {"a", "low"}, {"b"});
  b.node("Mul", {"b", "scale"}, {"y"});
  b.output("y");
  Imported result = b.importTrain();
  REQUIRE(result.text() == "");
  auto states = statesOf(result);
  CHECK(states.empty());
}

/// x * scale + bias, the bias an Identity of the scale.
static ModelBuilder copied(float first, float second) {
  ModelBuilder b;
  b.input("x", {int64_t(2)});
  b.floats("scale", {2}, {first, second});
  b.node("Identity", {"scale"}, {"bias"}, "copy");
  b.node("Mul", {"x", "scale"}, {"m"});
  b.node("Add", {"m", "bias"}, {"y"});
  b.output("y");
  return b;
}

TEST_CASE("an Identity of equal elements is a parameter of its own") {
  Imported own = copied(1, 1).importTrain(), tied = copied(1, 2).importTrain();
  CHECK(statesOf(own).size() == 2);
  CHECK(statesOf(own).count("bias"));
  CHECK(statesOf(tied).size() == 1);
}

TEST_CASE("names of states never clash with functions") {
  ModelBuilder b;
  b.input("x", {int64_t(2)});
  b.floats("main", {2}, {1, 2});
  b.floats("we\nird", {2}, {1, 2});
  b.node("Mul", {"x", "main"}, {"m"});
  b.node("Add", {"m", "we\nird"}, {"y"});
  b.output("y");
  Imported result = b.importTrain();
  REQUIRE(result.text() == "");
  auto states = statesOf(result);
  CHECK(states.count("main_1"));
  CHECK(states.count("we\\x0Aird"));
}

TEST_CASE("float32 statistics of a float16 BatchNormalization stay states") {
  const auto half = ::onnx::TensorProto::FLOAT16;
  for (const char *scale : {"float32", "float16"}) {
    INFO(scale);
    ModelBuilder b;
    b.input("x", {int64_t(4), int64_t(2), int64_t(3)}, half);
    b.input("s", {int64_t(2)},
            scale[5] == '3' ? ::onnx::TensorProto::FLOAT : half);
    b.floats("mean", {2}, {0, 0});
    b.floats("variance", {2}, {1, 1});
    b.node("BatchNormalization", {"x", "s", "s", "mean", "variance"}, {"y"});
    b.output("y", 0);
    Imported train = b.importTrain();
    REQUIRE(train.text() == "");
    int count = 0;
    train.module.get().walk([&](ir::BatchNormOp op) {
      ++count;
      CHECK(mlir::isa<mlir::BlockArgument>(op.getMean()));
      CHECK(mlir::isa<mlir::BlockArgument>(op.getVariance()));
    });
    CHECK(count == 1);
  }
  // A float16 statistic would have to be rounded in every step.
  ModelBuilder b;
  b.input("x", {int64_t(4), int64_t(2), int64_t(3)}, half);
  b.floats("s", {2}, {1, 1});
  b.input("m", {int64_t(2)}, half);
  b.node("BatchNormalization", {"x", "s", "s", "m", "m"}, {"y"});
  b.output("y", 0);
  CHECK(b.importTrain().says("running statistics that are narrower"));
}

TEST_CASE("Dropout drops in training whatever mode it was exported in") {
  ModelBuilder b;
  b.input("x", {int64_t(2)});
  b.floats("w", {2}, {1, 2});
  b.floats("ratio", {}, {0.25f});
  b.node("Mul", {"x", "w"}, {"m"});
  b.node("Dropout", {"m", "ratio"}, {"y"}, "drop");
  b.output("y");
  Imported train = b.importTrain(), inference = b.import();
  REQUIRE(train.text() == "");
  CHECK(train.count("sinter.dropout") == 1);
  CHECK(train.count("sinter.control = \"seed\"") == 1);
  CHECK(train.count("sinter.control = \"step\"") == 1);
  CHECK(inference.count("sinter.dropout") == 0);
}

//===----------------------------------------------------------------------===//
// Export
//===----------------------------------------------------------------------===//

/// The file made from the template of `b`, with every state filled with `fill`
/// bytes of value 0.
static std::string exported(const ModelBuilder &b) {
  std::string bytes = b.model.SerializeAsString();
  mlir::MLIRContext context;
  compiler::ImportErrors errors;
  compiler::ImportOptions options;
  options.train = true;
  auto model =
      compiler::loadOnnxBytes({bytes.data(), bytes.size()}, "m.onnx", errors);
  REQUIRE(compiler::restoreParameters(*model, options, errors));
  auto module = compiler::importOnnx(model, options, &context, errors);
  REQUIRE(module);
  auto pieces = compiler::makeExportTemplate(*model, *module, errors);
  REQUIRE(errors.empty());
  std::string file;
  for (const compiler::ExportPiece &piece : pieces) {
    file += piece.bytes;
    if (piece.state.empty())
      continue;
    auto state = module->lookupSymbol<ir::StateOp>(piece.state);
    REQUIRE(state);
    auto value = ir::Tensor::fromAttr(*state.getInit());
    REQUIRE(mlir::succeeded(value));
    std::vector<char> raw = value->toBytes();
    file.append(raw.data(), raw.size());
  }
  return file;
}

TEST_CASE("the template gives the model back") {
  ModelBuilder b = staticNet();
  std::string file = exported(b);
  ::onnx::ModelProto model;
  REQUIRE(model.ParseFromString(file));
  CHECK(model.graph().node_size() == b.graph().node_size());
  CHECK(model.graph().initializer_size() == b.graph().initializer_size());
  std::vector<double> x(144);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = double(i % 7) / 7;
  CHECK(evaluate(importBytes(file), {x})[0].floats ==
        evaluate(b.import(), {x})[0].floats);
}

TEST_CASE("the template is in inference mode") {
  ModelBuilder b = staticNet();
  for (auto &node : *b.graph().mutable_node())
    if (node.op_type() == "BatchNormalization") {
      ModelBuilder::setInt(node, "training_mode", 1);
      node.add_output("new_mean");
      node.add_output("new_var");
    }
  b.output("new_mean");
  auto &flag = *b.graph().add_initializer();
  flag.set_name("flag");
  flag.set_data_type(::onnx::TensorProto::BOOL);
  flag.add_int32_data(1);
  b.floats("ratio", {}, {0.5f});
  b.graph().mutable_node(5)->set_output(0, "before");
  b.node("Dropout", {"before", "ratio", "flag"}, {"y"}, "drop");
  ::onnx::ModelProto model;
  REQUIRE(model.ParseFromString(exported(b)));
  CHECK(model.graph().output_size() == 1);
  for (const auto &node : model.graph().node()) {
    CHECK(node.output_size() == 1);
    if (node.op_type() == "Dropout")
      CHECK(node.input_size() == 2);
    for (const auto &attribute : node.attribute())
      CHECK(attribute.name() != "training_mode");
  }
  CHECK(importBytes(model.SerializeAsString()).text() == "");
}

TEST_CASE("copies are exported as initializers") {
  ::onnx::ModelProto model;
  REQUIRE(model.ParseFromString(exported(copied(1, 1))));
  CHECK(model.graph().node_size() == 2);
  CHECK(model.graph().initializer_size() == 2);
  Imported again = importBytes(model.SerializeAsString());
  CHECK(evaluate(again, {{3, 4}})[0].floats == std::vector<double>{4, 5});
}

TEST_CASE("symbolic dimensions are exported as they were") {
  ModelBuilder b = smallNet();
  std::string bytes = b.model.SerializeAsString();
  mlir::MLIRContext context;
  compiler::ImportErrors errors;
  compiler::ImportOptions options;
  options.train = true;
  options.batch = 4;
  auto model =
      compiler::loadOnnxBytes({bytes.data(), bytes.size()}, "m.onnx", errors);
  REQUIRE(compiler::restoreParameters(*model, options, errors));
  auto module = compiler::importOnnx(model, options, &context, errors);
  REQUIRE(module);
  auto pieces = compiler::makeExportTemplate(*model, *module, errors);
  REQUIRE_FALSE(pieces.empty());
  CHECK(pieces.front().bytes.find("N") != std::string::npos);
}
