//===- StructureTest.cpp - malformed graphs -------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The items are those of the bad-input list: graph structure (11-22).
//
//===----------------------------------------------------------------------===//
#include "test/compiler/import/ModelBuilder.h"

#include <catch2/catch.hpp>
#include <google/protobuf/unknown_field_set.h>

using namespace sinter::test;

/// x [4] -> Relu 'a' -> Relu 'b' -> y.
static ModelBuilder chain() {
  ModelBuilder b;
  b.input("x", {int64_t(4)});
  b.node("Relu", {"x"}, {"h"}, "a");
  b.node("Relu", {"h"}, {"y"}, "b");
  b.output("y");
  return b;
}

static void rejects(const ModelBuilder &b, const std::string &part,
                    int code = 2) {
  Imported result = b.import();
  INFO(result.text());
  CHECK(result.errors.exitCode() == code);
  CHECK(result.says(part));
  CHECK_FALSE(result.module);
}

TEST_CASE("names of values are UTF-8") {
  for (const char *what : {"input", "initializer", "output"}) {
    auto nameOf = [&](const char *kind) {
      return std::string(kind) + (kind == std::string(what) ? "\xff" : "é");
    };
    ModelBuilder b;
    b.input(nameOf("input"), {int64_t(2)});
    b.floats(nameOf("initializer"), {2}, {1, 2});
    b.node("Add", {nameOf("input"), nameOf("initializer")}, {nameOf("output")});
    b.output(nameOf("output"));
    Imported imported = b.import();
    CHECK(imported.says("the name of " + std::string(what)));
    CHECK(imported.says("is not UTF-8"));
  }
  ModelBuilder b;
  b.input("größe", {int64_t(2)});
  b.node("Relu", {"größe"}, {"出力"});
  b.output("出力");
  CHECK(b.import().text() == "");
}

TEST_CASE("bytes that are no model") {
  CHECK(importBytes("").says("the file is empty"));
  CHECK(importBytes("x").errors.exitCode() == 2);
  CHECK(importBytes("just some text, no model").errors.exitCode() == 2);
  CHECK(importBytes("\x1f\x8b\x08zzzz").says("gzip"));
  CHECK(importBytes(std::string("PK\x03\x04") + "zzz").says("zip"));
}

TEST_CASE("versions") {
  ModelBuilder none = chain(), twice = chain(), zero = chain(), huge = chain(),
               foreign = chain(), irZero = chain(), irHuge = chain();
  none.model.clear_opset_import();
  rejects(none, "no operator set is imported");
  twice.model.add_opset_import()->set_version(17);
  rejects(twice, "imported twice");
  zero.model.mutable_opset_import(0)->set_version(0);
  rejects(zero, "operator set 0 is not supported; 7 to ");
  huge.model.mutable_opset_import(0)->set_version(9999);
  rejects(huge, "operator set 9999 is not supported");
  foreign.graph().mutable_node(0)->set_domain("com.example");
  rejects(foreign, "imports no operator set of domain 'com.example'");
  auto *entry = foreign.model.add_opset_import();
  entry->set_domain("com.example");
  entry->set_version(1);
  rejects(foreign, "operator com.example.Relu is not supported (node 'a')", 3);
  irZero.model.set_ir_version(0);
  rejects(irZero, "ir_version 0");
  irHuge.model.set_ir_version(999);
  rejects(irHuge, "ir_version 999");
}

TEST_CASE("names") {
  ModelBuilder noGraph = chain(), noOutput = chain(), cycle = chain(),
               unsorted = chain(), undefined = chain(), unproduced = chain(),
               twice = chain(), likeInput = chain(), likeInitializer = chain();
  noGraph.model.clear_graph();
  rejects(noGraph, "it has no graph");
  noOutput.graph().clear_output();
  rejects(noOutput, "has no outputs");
  cycle.graph().mutable_node(0)->set_input(0, "y");
  rejects(cycle,
          "node 'a' (Relu): input 'y' is produced only later, by node 'b'");
  unsorted.graph().mutable_node()->SwapElements(0, 1);
  rejects(unsorted, "nodes must be sorted");
  undefined.graph().mutable_node(0)->set_input(0, "z");
  rejects(undefined, "input 'z' is not defined");
  unproduced.graph().mutable_output(0)->set_name("q");
  rejects(unproduced, "output 'q' is not produced by any node");
  twice.graph().mutable_node(1)->set_output(0, "h");
  rejects(twice, "has the name of another value");
  likeInput.graph().mutable_node(1)->set_output(0, "x");
  rejects(likeInput, "has the name of another value");
  likeInitializer.floats("y", {1}, {1});
  rejects(likeInitializer, "has the name of another value");
}

TEST_CASE("names are escaped and cut in messages") {
  ModelBuilder b = chain();
  b.graph().mutable_node(0)->set_input(0, std::string("evil\n\x1b[31m") +
                                              std::string(70000, 'a'));
  Imported result = b.import();
  REQUIRE(result.errors.lines().size() == 1);
  const std::string &line = result.errors.lines().front();
  CHECK(line.size() < 1000);
  CHECK(line.find('\n') == std::string::npos);
  CHECK(line.find("\\x0A\\x1B[31m") != std::string::npos);
}

TEST_CASE("optional inputs") {
  ModelBuilder required = chain(), trailing = chain(), many = chain();
  required.graph().mutable_node(0)->set_input(0, "");
  rejects(required, "required input 0 is missing");
  trailing.graph().mutable_node(0)->add_input("");
  CHECK(trailing.import().module);
  many.graph().mutable_node(0)->add_input("x");
  rejects(many, "has 2 inputs; at most 1");
}

TEST_CASE("all unsupported operators are listed") {
  ModelBuilder b = chain();
  b.graph().mutable_node(0)->set_op_type("Frobnicate");
  b.graph().mutable_node(1)->set_op_type("NonMaxSuppression");
  Imported result = b.import();
  CHECK(result.errors.exitCode() == 3);
  CHECK(result.errors.lines().size() == 2);
  CHECK(result.says("operator Frobnicate is not supported (node 'a')"));
  CHECK(result.says("operator NonMaxSuppression is not supported (node 'b')"));
  b.graph().mutable_node(0)->set_op_type("RandomUniformLike");
  CHECK(b.import().says("operator RandomUniformLike is not supported (node "
                        "'a'); random numbers are supported only with"));
}

TEST_CASE("attributes") {
  ModelBuilder wrongType = chain(), unknown = chain(), twice = chain();
  auto &softmax = *wrongType.graph().mutable_node(0);
  softmax.set_op_type("Softmax");
  ModelBuilder::setFloat(softmax, "axis", 1);
  rejects(wrongType, "attribute 'axis' is of type FLOAT; it must be INT");
  ModelBuilder::setInt(*unknown.graph().mutable_node(0), "strength", 3);
  rejects(unknown, "attribute 'strength' of operator set 17", 3);
  ModelBuilder::setInt(*twice.graph().mutable_node(0), "k", 3);
  ModelBuilder::setInt(*twice.graph().mutable_node(0), "k", 3);
  rejects(twice, "attribute 'k' is given twice");
}

TEST_CASE("declared element types are checked") {
  ModelBuilder b = chain();
  auto &info = *b.graph().add_value_info();
  info.set_name("h");
  info.mutable_type()->mutable_tensor_type()->set_elem_type(
      ::onnx::TensorProto::INT32);
  rejects(b, "output 'h' is declared as INT32, but is FLOAT");
  ModelBuilder output = chain();
  output.graph()
      .mutable_output(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->set_elem_type(::onnx::TensorProto::INT64);
  rejects(output, "declared as INT64, but is FLOAT");
}

TEST_CASE("a declared shape of an output that it does not have is reported") {
  ModelBuilder b = chain();
  ::onnx::TensorShapeProto &shape = *b.graph()
                                         .mutable_output(0)
                                         ->mutable_type()
                                         ->mutable_tensor_type()
                                         ->mutable_shape();
  auto warnings = [&] { return b.import().errors.warnings().vec(); };
  REQUIRE(b.import().module);
  REQUIRE(warnings().size() == 1);
  CHECK(warnings()[0].find("is declared as [], but is [") != std::string::npos);
  // Some exporters write -1 for an open size. The line stays short.
  for (int64_t i = 0; i < 2000; ++i)
    shape.add_dim()->set_dim_value(-1);
  REQUIRE(warnings().size() == 1);
  CHECK(warnings()[0].find("is declared as [?, ?, ") != std::string::npos);
  CHECK(warnings()[0].size() < 700);
}

TEST_CASE("a constant condition chooses its branch") {
  for (bool condition : {false, true}) {
    ModelBuilder b;
    b.input("x", {int64_t(4)});
    auto &flag = *b.graph().add_initializer();
    flag.set_name("flag");
    flag.set_data_type(::onnx::TensorProto::BOOL);
    flag.add_int32_data(condition);
    auto &node = b.node("If", {"flag"}, {"y"}, "if");
    for (const char *branch : {"then_branch", "else_branch"}) {
      auto &graph =
          *ModelBuilder::attribute(node, branch, ::onnx::AttributeProto::GRAPH)
               .mutable_g();
      graph.set_name(branch);
      auto &inner = *graph.add_node();
      inner.set_op_type(*branch == 't' ? "Relu" : "Exp");
      inner.add_input("x");
      inner.add_output("z");
      graph.add_output()->set_name("z");
    }
    b.output("y");
    Imported result = b.import();
    REQUIRE(result.text() == "");
    CHECK(result.count("sinter.relu") == (condition ? 1 : 0));
    CHECK(result.count("sinter.exp") == (condition ? 0 : 1));
    // If the condition is not known, a select chooses between both.
    b.graph().clear_initializer();
    b.input("flag", {}, ::onnx::TensorProto::BOOL);
    CHECK(b.import().count("sinter.where") == 1);
  }
}

/// A model that calls f0; function i calls function i + 1 `calls` times.
static ModelBuilder callers(int functions, int calls, bool recursive) {
  ModelBuilder b;
  b.input("x", {int64_t(4)});
  b.node("f0", {"x"}, {"y"}, "call").set_domain("local");
  b.output("y");
  auto *import = b.model.add_opset_import();
  import->set_domain("local");
  import->set_version(1);
  for (int i = 0; i < functions; ++i) {
    auto &function = *b.model.add_functions();
    function.set_domain("local");
    function.set_name("f" + std::to_string(i));
    function.add_input("in");
    function.add_output("out");
    *function.mutable_opset_import() = b.model.opset_import();
    std::string value = "in";
    for (int k = 0; k < calls; ++k) {
      auto &node = *function.add_node();
      bool isLast = i + 1 == functions;
      node.set_op_type(isLast && !recursive
                           ? "Relu"
                           : "f" + std::to_string((i + 1) % functions));
      node.set_domain(isLast && !recursive ? "" : "local");
      node.add_input(value);
      value = k + 1 == calls ? "out" : "v" + std::to_string(k);
      node.add_output(value);
    }
  }
  return b;
}

TEST_CASE("functions of the model are inlined") {
  Imported result = callers(3, 2, false).import();
  REQUIRE(result.text() == "");
  CHECK(result.count("sinter.relu") == 8);
  CHECK(result.ir().find("tensor<4xf32>") != std::string::npos);
}

TEST_CASE("functions that never end are refused") {
  rejects(callers(1, 1, true), "calls itself");
  rejects(callers(3, 1, true), "calls itself");
  rejects(callers(40, 2, false), "expand to more than");
  rejects(callers(200, 1, false), "nested deeper than");
}

/// y = f(x), a LeakyRelu whose alpha is f's attribute `slope`.
static ModelBuilder leaky() {
  ModelBuilder b;
  b.input("x", {int64_t(4)});
  b.node("f", {"x"}, {"y"}, "call").set_domain("local");
  b.output("y");
  auto *import = b.model.add_opset_import();
  import->set_domain("local");
  import->set_version(1);
  auto &function = *b.model.add_functions();
  function.set_domain("local");
  function.set_name("f");
  function.add_input("in");
  function.add_output("out");
  auto &node = *function.add_node();
  node.set_op_type("LeakyRelu");
  node.add_input("in");
  node.add_output("out");
  auto &attribute =
      ModelBuilder::attribute(node, "alpha", ::onnx::AttributeProto::FLOAT);
  attribute.set_ref_attr_name("slope");
  return b;
}

static std::vector<double> leakyValues(const ModelBuilder &b) {
  Imported result = b.import();
  REQUIRE(result.text() == "");
  std::vector<sinter::ir::Tensor> y = evaluate(result, {{-2, 2, -4, 4}});
  REQUIRE(y.size() == 1);
  return y[0].floats;
}

TEST_CASE("function attributes reach its nodes") {
  ModelBuilder b = leaky();
  b.model.mutable_functions(0)->add_attribute("slope");
  ModelBuilder::setFloat(*b.graph().mutable_node(0), "slope", 0.5f);
  CHECK(leakyValues(b) == std::vector<double>{-1, 2, -2, 4});
}

TEST_CASE("function attributes have defaults") {
  ModelBuilder b = leaky();
  auto &function = *b.model.mutable_functions(0);
  // FunctionProto.attribute_proto, which older classes do not have.
  ::onnx::AttributeProto slope;
  slope.set_name("slope");
  slope.set_type(::onnx::AttributeProto::FLOAT);
  slope.set_f(0.25f);
  auto &fields = *function.GetReflection()->MutableUnknownFields(&function);
  *fields.AddLengthDelimited(11) = slope.SerializeAsString();
  CHECK(leakyValues(b) == std::vector<double>{-0.5, 2, -1, 4});
  ModelBuilder::setFloat(*b.graph().mutable_node(0), "slope", 0.5f);
  CHECK(leakyValues(b) == std::vector<double>{-1, 2, -2, 4});
  *fields.AddLengthDelimited(11) = "no attribute";
  rejects(b, "function 'f': a default attribute is damaged");
}

TEST_CASE("an attribute that a function does not declare is refused") {
  ModelBuilder b = leaky();
  ModelBuilder::setFloat(*b.graph().mutable_node(0), "slope", 0.5f);
  rejects(b, "attribute 'slope' (node 'call')", 3);
}

/// y = x * 2^trips, with a Loop whose body doubles; `depth` nested loops.
static ModelBuilder doubling(int64_t trips, int depth = 1) {
  ModelBuilder b;
  b.input("x", {int64_t(2)});
  b.ints("trips", {}, {trips});
  ::onnx::GraphProto *graph = &b.graph();
  for (int level = 0; level < depth; ++level) {
    std::string suffix = std::to_string(level);
    auto &node = *graph->add_node();
    node.set_op_type("Loop");
    node.set_name("loop" + suffix);
    for (const std::string &input :
         {std::string("trips"), std::string(),
          level ? "v" + std::to_string(level - 1) : "x"})
      node.add_input(input);
    node.add_output(level ? "w" + std::to_string(level - 1) : "y");
    auto &body =
        *ModelBuilder::attribute(node, "body", ::onnx::AttributeProto::GRAPH)
             .mutable_g();
    body.set_name("body" + suffix);
    for (const char *input : {"i", "c", "v"})
      body.add_input()->set_name(input + suffix);
    body.add_output()->set_name("c" + suffix);
    body.add_output()->set_name("w" + suffix);
    graph = &body;
  }
  auto &add = *graph->add_node();
  add.set_op_type("Add");
  std::string last = std::to_string(depth - 1);
  add.add_input("v" + last);
  add.add_input("v" + last);
  add.add_output("w" + last);
  b.output("y");
  return b;
}

TEST_CASE("loops of known trip count are scans") {
  Imported result = doubling(3).import();
  REQUIRE(result.text() == "");
  CHECK(result.count("sinter.scan trips 3") == 1);
  CHECK(result.count("sinter.add") == 1);
  CHECK(evaluate(result, {{1, -2}})[0].floats == std::vector<double>{8, -16});
  CHECK(doubling(0).import().count("sinter.add") == 0);
  CHECK(doubling(-5).import().count("sinter.add") == 0);
  CHECK(doubling(1).import().count("sinter.scan") == 0);
  Imported nested = doubling(4000, 3).import();
  REQUIRE(nested.text() == "");
  CHECK(nested.count("sinter.scan trips 4000") == 3);
  CHECK(nested.count("sinter.add") == 1);
  rejects(doubling(INT64_MAX), "more than 4096 iterations", 3);
}

namespace {

/// A Loop of `trips` over x (2) in table (4 x 2) and other outer values, whose
/// body has the nodes that `fill` adds between v and w, and stacks s.
struct LoopModel {
  explicit LoopModel(int64_t trips) {
    b.input("x", {int64_t(2)});
    b.input("table", {int64_t(4), int64_t(2)});
    b.output("y");
    b.output("ys");
    b.ints("trips", {}, {trips});
    auto &node = b.node("Loop", {"trips", "", "x"}, {"y", "ys"}, "loop");
    body = ModelBuilder::attribute(node, "body", ::onnx::AttributeProto::GRAPH)
               .mutable_g();
    body->set_name("body");
    for (const char *input : {"i", "c", "v"})
      body->add_input()->set_name(input);
    for (const char *output : {"c", "w", "s"})
      body->add_output()->set_name(output);
  }
  ::onnx::NodeProto &add(const char *op, const std::vector<std::string> &inputs,
                         const char *output) {
    auto &node = *body->add_node();
    node.set_op_type(op);
    for (const std::string &input : inputs)
      node.add_input(input);
    node.add_output(output);
    return node;
  }

  ModelBuilder b;
  ::onnx::GraphProto *body;
};

const std::vector<double> kTable = {1, 2, 3, 4, 5, 6, 7, 8};

} // namespace

TEST_CASE("the body of a loop reads outer values and the number of the trip") {
  LoopModel model(4);
  model.add("Gather", {"table", "i"}, "row"); // within the table: not checked
  model.add("Exp", {"table"}, "same");        // the same in each trip
  model.add("ReduceSum", {"same"}, "total");
  ModelBuilder::setInt(*model.body->mutable_node(2), "keepdims", 0);
  model.add("Mul", {"v", "row"}, "scaled");
  model.add("Sub", {"scaled", "v"}, "w");
  model.add("Mul", {"w", "total"}, "s");
  Imported result = model.b.import();
  INFO(result.text() << result.ir());
  REQUIRE(result.text() == "");
  CHECK(result.count("sinter.scan trips 4") == 1);
  CHECK(result.count("sinter.index_fault") == 0);
  auto values = evaluate(result, {{1, 1}, kTable});
  // v = v (row - 1): [0, 1], [0, 3], [0, 15], [0, 105]
  CHECK(values[0].floats == std::vector<double>{0, 105});
  double total = 0;
  for (double number : kTable)
    total += std::exp(number);
  const std::vector<double> expected = {0, 1, 0, 3, 0, 15, 0, 105};
  for (size_t i = 0; i < expected.size(); ++i)
    CHECK(values[1].floats[i] == Approx(expected[i] * total).epsilon(1e-12));
}

TEST_CASE("loops whose trips differ are unrolled") {
  SECTION("in indices that are checked") {
    LoopModel model(5); // one more than the table has rows
    model.add("Gather", {"table", "i"}, "w");
    model.add("Add", {"v", "w"}, "s");
    rejects(model.b, "index 4 is out of range");
  }
  SECTION("in shapes") {
    LoopModel model(3);
    model.add("Concat", {"v", "v"}, "w");
    ModelBuilder::setInt(*model.body->mutable_node(0), "axis", 0);
    model.add("ReduceSum", {"w"}, "s");
    Imported result = model.b.import();
    INFO(result.text());
    REQUIRE(result.text() == "");
    CHECK(result.count("sinter.scan") == 0);
    CHECK(evaluate(result, {{1, 2}, kTable})[0].floats.size() == 16);
  }
  SECTION("in what is dropped at random") {
    LoopModel model(3);
    model.add("Dropout", {"table"}, "some"); // the same operand in each trip
    model.add("Add", {"v", "some"}, "s");
    model.add("Add", {"v", "v"}, "w");
    Imported result = model.b.importTrain();
    INFO(result.text() << result.ir());
    REQUIRE(result.text() == "");
    CHECK(result.count("sinter.scan") == 0);
    CHECK(result.count("sinter.dropout") == 3);
    for (int id = 0; id < 10; ++id) // each trip drops others
      CHECK(result.count("op_id = " + std::to_string(id) + " ") <= 1);
  }
  SECTION("in the end of the loop") {
    LoopModel model(6);
    model.b.ints("three", {}, {3});
    model.add("Less", {"i", "three"}, "go");
    model.body->mutable_output(0)->set_name("go");
    model.add("Add", {"v", "v"}, "w");
    model.add("Neg", {"w"}, "s");
    Imported result = model.b.import();
    INFO(result.text());
    REQUIRE(result.text() == "");
    CHECK(result.count("sinter.scan") == 0);
    CHECK(evaluate(result, {{1, 2}, kTable})[0].floats ==
          std::vector<double>{16, 32});
  }
}

TEST_CASE("what fails in the body of a loop is reported once") {
  LoopModel model(3);
  model.add("NoSuchOperator", {"v"}, "w");
  model.add("Neg", {"w"}, "s");
  rejects(model.b, "NoSuchOperator is not supported", 3);
  LoopModel wrong(3);
  wrong.add("Add", {"v", "table"}, "w");
  wrong.add("MatMul", {"w", "w"}, "s");
  Imported result = wrong.b.import();
  CHECK(result.errors.exitCode() == 2);
  INFO(result.text());
  CHECK(result.errors.lines().size() == 1);
}

TEST_CASE("the body of a loop must fit") {
  ModelBuilder b = doubling(2);
  b.graph()
      .mutable_node(0)
      ->mutable_attribute(0)
      ->mutable_g()
      ->mutable_input()
      ->RemoveLast();
  Imported result = b.import();
  INFO(result.text());
  CHECK(result.errors.exitCode() == 2);
  ModelBuilder none = doubling(2);
  none.graph().mutable_node(0)->clear_attribute();
  rejects(none, "attribute 'body' must be a graph");
}
