//===- ParametersTest.cpp - trained parameters and their names ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/ParameterFile.h"
#include "compiler/import/onnx/Signature.h"
#include "test/compiler/import/ModelBuilder.h"

#include "ir/Dialect.h"

#include <catch2/catch.hpp>
#include <google/protobuf/unknown_field_set.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <unistd.h>

using namespace sinter::test;
using namespace sinter;
using compiler::ImportOptions;

namespace {

void addMetadata(google::protobuf::UnknownFieldSet *fields, int number,
                 const std::string &key, const std::string &value) {
  ::onnx::StringStringEntryProto entry;
  entry.set_key(key);
  entry.set_value(value);
  fields->AddLengthDelimited(number, entry.SerializeAsString());
}

void setSignature(ModelBuilder &b, const std::string &text) {
  addMetadata(b.graph().mutable_unknown_fields(), 16,
              "pkg.torch.export.ExportedProgram.graph_signature", text);
}

/// `node` came from the call `result` = `target`(`arguments`).
::onnx::NodeProto &from(::onnx::NodeProto &node, const std::string &result,
                        const std::string &target, const std::string &arguments,
                        const std::string &module = "") {
  addMetadata(node.mutable_unknown_fields(), 9, "pkg.torch.onnx.fx_node",
              "%" + result + " : [num_users=1] = call_function[target=torch." +
                  "ops." + target + ".default](args = (" + arguments +
                  "), kwargs = {})");
  addMetadata(node.mutable_unknown_fields(), 9, "pkg.torch.onnx.name_scopes",
              "['', '" + module + "', '" + result + "']");
  return node;
}

ImportOptions trainOptions() {
  ImportOptions options;
  options.train = true;
  return options;
}

struct States {
  std::map<std::string, ir::StateOp> byName;
  Imported imported;
  bool has(const std::string &name) const { return byName.count(name); }
};
States statesOf(Imported imported) {
  States states;
  states.imported = std::move(imported);
  if (states.imported.module)
    for (auto state : states.imported.module.get().getOps<ir::StateOp>())
      states.byName[state.getOnnx()->str()] = state;
  return states;
}

std::vector<double> initOf(ir::StateOp state) {
  auto tensor = ir::Tensor::fromAttr(*state.getInit());
  REQUIRE(mlir::succeeded(tensor));
  return {tensor->floats.begin(), tensor->floats.end()};
}

/// x [2, 3] times a transposed weight [3, 2], plus a bias.
ModelBuilder linear() {
  ModelBuilder b;
  b.input("x", {int64_t(2), int64_t(3)});
  b.floats("val_0", {3, 2}, {1, 2, 3, 4, 5, 6});
  b.floats("fc.bias", {2}, {7, 8});
  std::string operands = "%x, %p_fc_weight, %p_fc_bias";
  from(b.node("MatMul", {"x", "val_0"}, {"m"}), "linear", "aten.linear",
       operands, "fc");
  from(b.node("Add", {"m", "fc.bias"}, {"y"}), "linear", "aten.linear",
       operands, "fc");
  b.output("y");
  return b;
}
const char *const kLinear = "p_fc_weight: PARAMETER target='fc.weight'\n"
                            "p_fc_bias: PARAMETER target='fc.bias'\n";

} // namespace

TEST_CASE("a transposed weight gets its name and layout back") {
  ModelBuilder b = linear();
  setSignature(b, kLinear);
  States states = statesOf(b.importTrain());
  REQUIRE(states.imported.text() == "");
  REQUIRE(states.has("fc.weight"));
  CHECK(states.byName.size() == 2);
  ir::StateOp weight = states.byName["fc.weight"];
  CHECK(mlir::cast<mlir::RankedTensorType>(weight.getType()).getShape()[0] ==
        2);
  CHECK(initOf(weight) == std::vector<double>{1, 3, 5, 2, 4, 6});
  CHECK(weight.getTrainable());
  CHECK(*weight.getReason() == "a parameter of the module");
}

TEST_CASE("merged initializers are parted by the calls that read them") {
  ModelBuilder b;
  b.input("x", {int64_t(2), int64_t(3)});
  b.floats("a.weight", {3}, {1, 1, 1});
  b.floats("a.bias", {3}, {0, 0, 0});
  from(b.node("LayerNormalization", {"x", "a.weight", "a.bias"}, {"h"}), "h",
       "aten.layer_norm", "%x, [3], %p_a_weight, %p_a_bias, 1e-05", "a");
  from(b.node("LayerNormalization", {"h", "a.weight", "a.bias"}, {"y"}), "y",
       "aten.layer_norm", "%h, [3], %p_b_weight, %p_b_bias, 1e-05", "b");
  b.output("y");
  setSignature(b, "p_a_weight: PARAMETER target='a.weight'\n"
                  "p_a_bias: PARAMETER target='a.bias'\n"
                  "p_b_weight: PARAMETER target='b.weight'\n"
                  "p_b_bias: PARAMETER target='b.bias'\n");
  States states = statesOf(b.importTrain());
  REQUIRE(states.imported.text() == "");
  for (const char *name : {"a.weight", "a.bias", "b.weight", "b.bias"})
    CHECK(states.has(name));
}

TEST_CASE("a bias of zeros that the exporter left out is a parameter again") {
  ModelBuilder b;
  b.input("x", {int64_t(2), int64_t(3)});
  b.floats("fc.weight", {2, 3}, {1, 2, 3, 4, 5, 6});
  auto &node = from(b.node("Gemm", {"x", "fc.weight"}, {"y"}), "linear",
                    "aten.linear", "%x, %p_fc_weight, %p_fc_bias", "fc");
  ModelBuilder::setInt(node, "transB", 1);
  addMetadata(node.mutable_unknown_fields(), 9,
              "pkg.onnxscript.rewriter.rule_name",
              "RemoveOptionalBiasFromGemm");
  b.output("y");
  setSignature(b, kLinear);
  States states = statesOf(b.importTrain());
  REQUIRE(states.imported.text() == "");
  REQUIRE(states.has("fc.bias"));
  auto type =
      mlir::cast<mlir::RankedTensorType>(states.byName["fc.bias"].getType());
  CHECK(type.getShape().vec() == std::vector<int64_t>{2});
}

TEST_CASE("buffers are not trained, and those not saved are constants") {
  ModelBuilder b;
  b.input("x", {int64_t(3)});
  for (const char *name : {"scale", "kept", "table"})
    b.floats(name, {3}, {1, 2, 4});
  from(b.node("Mul", {"x", "scale"}, {"m"}), "mul", "aten.mul", "%x, %p_scale");
  from(b.node("Mul", {"m", "kept"}, {"n"}), "mul_1", "aten.mul",
       "%mul, %b_kept");
  from(b.node("Mul", {"n", "table"}, {"y"}), "mul_2", "aten.mul",
       "%mul_1, %b_table");
  b.output("y");
  setSignature(b, "p_scale: PARAMETER target='scale'\n"
                  "b_kept: BUFFER target='kept' persistent=True\n"
                  "b_table: BUFFER target='table' persistent=False\n");
  States states = statesOf(b.importTrain());
  REQUIRE(states.imported.text() == "");
  CHECK(states.byName["scale"].getTrainable());
  REQUIRE(states.has("kept"));
  CHECK(states.byName["kept"].getRole() == ir::StateRole::buffer);
  CHECK_FALSE(states.has("table"));
}

/// x [2] + a constant that the exporter computed from `lost`, times `scale`.
static ModelBuilder folded() {
  ModelBuilder b;
  b.input("x", {int64_t(2), int64_t(2)});
  b.floats("expand", {2, 2}, {1, 2, 1, 2});
  b.floats("scale", {2}, {3, 4});
  from(b.node("Add", {"x", "expand"}, {"m"}), "add", "aten.add", "%x, %expand");
  from(b.node("Mul", {"m", "scale"}, {"y"}), "mul", "aten.mul",
       "%add, %p_scale");
  b.output("y");
  setSignature(b, "p_scale: PARAMETER target='scale'\n"
                  "p_lost: PARAMETER target='lost'\n");
  return b;
}

TEST_CASE("a parameter that is not in the file is an error, if it is trained") {
  Imported refused = folded().importTrain();
  CHECK(refused.says("the parameters 'lost' are not in the file"));
  CHECK(refused.says("'expand'"));
  ImportOptions some = trainOptions();
  some.trainable = "^scale$";
  CHECK(statesOf(folded().import(some)).byName.size() == 1);
  ImportOptions all = trainOptions();
  all.allowRewritten = true;
  States states = statesOf(folded().import(all));
  REQUIRE(states.imported.text() == "");
  CHECK(states.byName["expand"].getTrainable());
}

/// A safetensors file of float32; `entries` are those of its header.
static std::string writeWeightTensors(const std::string &entries,
                                      const std::vector<float> &values) {
  std::string header = "{" + entries + "}";
  uint64_t size = header.size();
  char path[] = "/tmp/sinter-weights-XXXXXX";
  ::close(::mkstemp(path));
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(&size), 8);
  file << header;
  file.write(reinterpret_cast<const char *>(values.data()), values.size() * 4);
  return path;
}

/// A safetensors file of one tensor of float32.
static std::string writeWeights(const std::string &name,
                                const std::string &shape,
                                const std::vector<float> &values) {
  return writeWeightTensors(
      "\"" + name + "\":{\"dtype\":\"F32\",\"shape\":" + shape +
          ",\"data_offsets\":[0," + std::to_string(values.size() * 4) + "]}",
      values);
}

TEST_CASE("the module's weights tell what was folded") {
  ImportOptions options = trainOptions();
  options.parameters = writeWeights("lost", "[1,2]", {1, 2});
  States states = statesOf(folded().import(options));
  std::remove(options.parameters.c_str());
  REQUIRE(states.imported.text() == "");
  REQUIRE(states.has("lost"));
  CHECK(initOf(states.byName["lost"]) == std::vector<double>{1, 2});
  CHECK_FALSE(states.has("expand"));

  options.parameters = writeWeights("lost", "[1,2]", {1, 3});
  CHECK(folded().import(options).says("'lost' are not in the file"));
  std::remove(options.parameters.c_str());
  options.parameters = writeWeights("scale", "[2]", {3, 5});
  CHECK(folded().import(options).says("has other values in"));
  std::remove(options.parameters.c_str());
}

/// x [9] times a constant with elements `values`, which the exporter called
/// `name`. The module also has a parameter "w".
static ModelBuilder computed(const std::string &name,
                             const std::vector<float> &values) {
  ModelBuilder b;
  b.input("x", {int64_t(9)});
  b.floats(name, {9}, values);
  from(b.node("Mul", {"x", name}, {"y"}), "mul", "aten.mul", "%x, %" + name);
  b.output("y");
  setSignature(b, "p_w: PARAMETER target='w'\n");
  return b;
}

static Imported withWeights(ModelBuilder b, const std::vector<float> &values) {
  ImportOptions options = trainOptions();
  options.parameters = writeWeights("w", "[9]", values);
  Imported imported = b.import(options);
  std::remove(options.parameters.c_str());
  return imported;
}

TEST_CASE("functions of a parameter are computed in the program again") {
  struct Row {
    const char *name;
    float (*compute)(float);
  };
  const Row rows[] = {
      {"exp", [](float x) { return std::exp(x); }},
      {"neg_1", [](float x) { return -x; }},
      {"neg", [](float x) { return -std::exp(x); }},
      {"unsqueeze_3", [](float x) { return -std::exp(x); }},
      {"add_2", [](float x) { return 1 + x; }},
      {"abs_1", [](float x) { return std::abs(x); }},
      {"sigmoid", [](float x) { return 1 / (1 + std::exp(-x)); }},
      {"tanh", [](float x) { return std::tanh(x); }},
      {"softplus", [](float x) { return std::log1p(std::exp(x)); }},
  };
  const std::vector<float> w = {-1.5, -1, -.5, -.25, .25, .5, 1, 1.5, 2};
  for (const Row &row : rows) {
    INFO(row.name);
    std::vector<float> values;
    for (float x : w)
      values.push_back(row.compute(x));
    States states = statesOf(withWeights(computed(row.name, values), w));
    REQUIRE(states.imported.text() == "");
    REQUIRE(states.byName.size() == 1);
    CHECK(states.byName["w"].getTrainable());
    values[3] += 0.01f;
    CHECK(withWeights(computed(row.name, values), w)
              .says("the parameters 'w' are not in the file"));
  }
}

TEST_CASE("values that other functions give, too, tell nothing") {
  // exp(w), exp(2 w), 1 + w, ... are all ones.
  const std::vector<float> zeros(9, 0), ones(9, 1);
  for (const char *name : {"add", "exp", "unsqueeze_3", "cos", "neg"})
    CHECK(withWeights(computed(name, ones), zeros)
              .says("the parameters 'w' are not in the file"));
  // Of equal elements the order is unknown.
  for (const char *name : {"flip", "roll", "clone", "_unsafe_view"})
    CHECK(withWeights(computed(name, ones), ones)
              .says("the parameters 'w' are not in the file"));
  CHECK(statesOf(withWeights(computed("expand", ones), ones)).has("w"));
}

//===----------------------------------------------------------------------===//
// Operations that the exporter removed
//===----------------------------------------------------------------------===//

/// y = tanh(x * p) + r. The last node reads `read` instead of `value`, a result
/// that its call names.
static ModelBuilder replaced(const std::string &value,
                             const std::string &read) {
  ModelBuilder b;
  b.input("x", {int64_t(3)});
  b.floats("p", {3}, {1, 2, 3});
  from(b.node("Mul", {"x", "p"}, {"mul"}), "mul", "aten.mul", "%x, %p_p");
  from(b.node("Tanh", {"mul"}, {"tanh"}), "tanh", "aten.tanh", "%mul");
  from(b.node("Add", {"tanh", read}, {"y"}), "add", "aten.add",
       "%tanh, %" + value);
  b.output("y");
  setSignature(b, "p_p: PARAMETER target='p'\n");
  return b;
}

TEST_CASE("an operation that was merged with an equal one is refused") {
  CHECK(replaced("mul_1", "mul")
            .importTrain()
            .says("computes 'mul_1' by operations of equal parameters"));
  CHECK(replaced("tanh_1", "tanh").importTrain().says("computes 'tanh_1'"));
  CHECK(replaced("mul", "mul").importTrain().text() == "");
  ImportOptions options = trainOptions();
  options.allowRewritten = true;
  CHECK(replaced("mul_1", "mul").import(options).text() == "");
}

TEST_CASE("an operation that was left out is refused, copies are not") {
  for (const char *value : {"mul_1", "add_1", "sub", "div_2", "pow_1"})
    CHECK(replaced(value, "tanh")
              .importTrain()
              .says("left out '" + std::string(value) +
                    "', which changed nothing so far"));
  CHECK(replaced("add_1", "x").importTrain().says("left out 'add_1'"));
  for (const char *value : {"clone", "view_3", "dropout", "to_2"})
    CHECK(replaced(value, "tanh").importTrain().text() == "");
}

TEST_CASE("copies of one value may hide that two modules became one") {
  auto model = [](bool hasSecond) {
    ModelBuilder b;
    b.input("x", {int64_t(3)});
    b.floats("p", {3}, {1, 2, 3});
    from(b.node("Mul", {"x", "p"}, {"mul"}), "mul", "aten.mul", "%x, %p_p");
    from(b.node("Tanh", {"mul"}, {"tanh"}), "tanh", "aten.tanh", "%type_as_1");
    from(b.node("Add", {"tanh", "mul"}, {"y"}), "add", "aten.add",
         "%tanh, %type_as");
    b.output("y");
    setSignature(b, std::string("p_p: PARAMETER target='p'\n") +
                        (hasSecond ? "p_q: PARAMETER target='q'\n" : ""));
    return b;
  };
  CHECK(
      model(true).importTrain().says("the parameters 'q' are not in the file"));
  CHECK(model(false).importTrain().text() == "");
}

TEST_CASE("a constant with the values of a parameter may be made of it") {
  // relu(g) is g, so it has the name of g; slices of ones may be parts of a
  // parameter.
  auto model = [](const std::string &value, const std::string &name) {
    ModelBuilder b;
    b.input("x", {int64_t(4)});
    b.floats("g", {4}, {1, 1, 1, 1});
    if (name != "g")
      b.floats(name, {4}, {1, 1, 1, 1});
    from(b.node("Mul", {"x", "g"}, {"m"}), "mul", "aten.mul", "%x, %p_g");
    from(b.node("Add", {"m", name}, {"y"}), "add", "aten.add",
         "%mul, %" + value);
    b.output("y");
    setSignature(b, "p_g: PARAMETER target='g'\n");
    return b;
  };
  for (const auto &[value, name] :
       {std::pair("relu", "g"), {"slice_3", "slice_3"}, {"tril", "tril"}})
    CHECK(model(value, name)
              .importTrain()
              .says("computed the constants '" + std::string(name) + "'"));
  CHECK(model("ones", "g").importTrain().text() == "");
  ImportOptions options = trainOptions();
  options.freeze = "^slice_3$";
  CHECK(model("slice_3", "slice_3").import(options).text() == "");
}

TEST_CASE("gradients divided by how often an id is there are refused") {
  ModelBuilder b;
  b.input("ids", {int64_t(2)}, ::onnx::TensorProto::INT64);
  b.floats("w", {3, 2}, {1, 2, 3, 4, 5, 6});
  from(b.node("Gather", {"w", "ids"}, {"y"}), "embedding", "aten.embedding",
       "%p_w, %ids, -1, True");
  b.output("y");
  setSignature(b, "p_w: PARAMETER target='w'\n");
  CHECK(b.importTrain().says("scale_grad_by_freq is not supported"));
}

/// x [2, 2] plus the remaining bias of a product of zeros and a weight.
static ModelBuilder zeroProduct() {
  ModelBuilder b;
  b.input("x", {int64_t(2), int64_t(2)});
  b.floats("linear", {2, 2}, {3, 4, 3, 4});
  from(b.node("Add", {"x", "linear"}, {"y"}), "add", "aten.add", "%x, %linear");
  b.output("y");
  setSignature(b, "p_fc_weight: PARAMETER target='fc.weight'\n"
                  "p_fc_bias: PARAMETER target='fc.bias'\n");
  return b;
}

TEST_CASE("a product of zeros is its bias, unless the weight is zero") {
  for (bool isZero : {false, true}) {
    std::vector<float> weight = {1, 2, 3, 5}, values = weight;
    if (isZero)
      values.assign(4, 0);
    values.insert(values.end(), {3, 4});
    ImportOptions options = trainOptions();
    options.parameters = writeWeightTensors(
        "\"fc.weight\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":"
        "[0,16]},\"fc.bias\":{\"dtype\":\"F32\",\"shape\":[2],"
        "\"data_offsets\":[16,24]}",
        values);
    Imported imported = zeroProduct().import(options);
    std::remove(options.parameters.c_str());
    // The file has no node with the weight: PyTorch would not change it.
    CHECK(statesOf(std::move(imported)).has("fc.bias") == !isZero);
  }
}

TEST_CASE("a computed constant is held only where a parameter that is held "
          "may be in it") {
  // Every parameter is in the file: the operand of exp may be `scale`.
  auto model = [](bool hasLost) {
    ModelBuilder b;
    b.input("x", {int64_t(3)});
    b.floats("scale", {3}, {1, 2, 3});
    b.floats("exp", {3}, {2.5, 7, 20});
    from(b.node("Mul", {"x", "scale"}, {"m"}), "mul", "aten.mul",
         "%x, %p_scale");
    from(b.node("Mul", {"m", "exp"}, {"y"}), "mul_1", "aten.mul", "%mul, %exp");
    b.output("y");
    setSignature(b, std::string("p_scale: PARAMETER target='scale'\n") +
                        (hasLost ? "p_lost: PARAMETER target='lost'\n" : ""));
    return b;
  };
  ImportOptions options = trainOptions();
  options.trainable = "^scale$";
  CHECK(model(false).import(options).says("computed the constants 'exp'"));
  CHECK(statesOf(model(true).import(options)).has("scale"));
  options.freeze = "^exp$";
  CHECK(statesOf(model(false).import(options)).has("scale"));
}

TEST_CASE("a file of weights says which tensors are one") {
  std::string path = writeWeightTensors(
      "\"__metadata__\":{\"b\":\"a\",\"format\":\"pt\"},\"a\":{\"dtype\":"
      "\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}",
      {7});
  std::string why;
  auto file = compiler::ParameterFile::open(path, why);
  std::remove(path.c_str());
  REQUIRE(file);
  REQUIRE(file->find("b"));
  CHECK(file->find("b")->bytes == file->find("a")->bytes);
  CHECK(file->areShared("a", "b"));
  CHECK(file->areShared("b", "a"));
  CHECK_FALSE(file->areShared("a", "format"));
  CHECK_FALSE(file->find("format"));

  path = writeWeightTensors(
      "\"__metadata__\":{\"b\":\"a\"},\"a\":{\"dtype\":\"F32\",\"shape\":[1],"
      "\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"F32\",\"shape\":[1],"
      "\"data_offsets\":[4,8]}",
      {7, 8});
  CHECK_FALSE(compiler::ParameterFile::open(path, why));
  std::remove(path.c_str());
  CHECK(why.find("are one tensor, but have different values") !=
        std::string::npos);
}

TEST_CASE("what is not a file of weights is said to be none") {
  for (std::string bytes :
       {std::string(), std::string("PK\3\4 torch"), std::string(8, '\xff'),
        std::string("\2\0\0\0\0\0\0\0{]", 10),
        std::string("\x8\0\0\0\0\0\0\0[[[[[[[[[[[[[[[[", 24)}) {
    char path[] = "/tmp/sinter-weights-XXXXXX";
    ::close(::mkstemp(path));
    std::ofstream(path, std::ios::binary) << bytes;
    std::string why;
    CHECK_FALSE(compiler::ParameterFile::open(path, why));
    CHECK(why != "");
    std::remove(path);
  }
  std::string why;
  CHECK_FALSE(compiler::ParameterFile::open("/tmp", why));
}

TEST_CASE("a shared tensor has the names of both modules") {
  ModelBuilder b;
  b.input("ids", {int64_t(2)}, ::onnx::TensorProto::INT64);
  b.floats("head.weight", {3, 2}, {1, 2, 3, 4, 5, 6});
  b.floats("val_1", {2, 3}, {1, 3, 5, 2, 4, 6});
  from(b.node("Gather", {"head.weight", "ids"}, {"e"}), "embedding",
       "aten.embedding", "%p_head_weight, %ids", "embed");
  from(b.node("MatMul", {"e", "val_1"}, {"y"}), "linear", "aten.linear",
       "%embedding, %p_head_weight", "head");
  b.output("y");
  setSignature(b, "p_embed_weight: PARAMETER target='embed.weight'\n"
                  "p_head_weight: PARAMETER target='head.weight'\n");
  States states = statesOf(b.importTrain());
  REQUIRE(states.imported.text() == "");
  REQUIRE(states.byName.size() == 1);
  auto aliases = states.byName["head.weight"].getAliases();
  REQUIRE(aliases);
  CHECK(mlir::cast<mlir::StringAttr>((*aliases)[0]).getValue() ==
        "embed.weight");
}

TEST_CASE("metadata may be any text") {
  for (const char *text :
       {"", "%", "%a", "%a : call_function[target=](args = (", "target=](args",
        "%a [target=torch.ops.aten.linear.default](args = (%x, [%p, {'(': 1}]",
        "%linear [target=aten.linear](args = (]]]]))), kwargs = {"}) {
    ModelBuilder b = linear();
    setSignature(b, kLinear);
    for (auto &node : *b.graph().mutable_node()) {
      node.mutable_unknown_fields()->Clear();
      addMetadata(node.mutable_unknown_fields(), 9, "pkg.torch.onnx.fx_node",
                  text);
      compiler::readFxCall(node);
    }
    b.importTrain(); // ends in states or in error lines
  }
  for (const char *text : {"p: PARAMETER", "p: PARAMETER target='",
                           ": : :", "p: BUFFER target=''", "\n\n\n"}) {
    ModelBuilder b = linear();
    setSignature(b, text);
    b.importTrain();
  }
}

//===----------------------------------------------------------------------===//
// Files without a signature
//===----------------------------------------------------------------------===//

TEST_CASE("uses decide where the exporter wrote no signature") {
  ModelBuilder b;
  b.input("x", {int64_t(2), int64_t(4)});
  b.floats("fc.weight", {4, 4}, std::vector<float>(16, 0.5f));
  b.floats("scale", {4}, {1, 2, 4, 7});
  b.floats("knots", {1, 4}, {0, 1, 2, 3});
  b.floats("limit", {4}, {3, 1, 4, 2});
  b.node("MatMul", {"x", "fc.weight"}, {"a"});
  b.node("Mul", {"a", "scale"}, {"b"});
  b.floats("grid", {2, 4}, {0, 1, 0, 1, 0, 1, 0, 1});
  b.node("Add", {"b", "grid"}, {"c"});
  b.node("Greater", {"c", "limit"}, {"d"});
  b.node("Where", {"d", "c", "b"}, {"y"});
  b.output("y");
  States states = statesOf(b.importTrain());
  REQUIRE(states.imported.text() == "");
  CHECK(states.has("fc.weight"));
  CHECK(states.has("scale"));
  CHECK_FALSE(states.has("grid"));
  CHECK_FALSE(states.has("limit"));
  // A vector that scales may be a buffer, a grid may be a parameter.
  REQUIRE(states.imported.errors.warnings().size() == 2);
  CHECK(states.imported.errors.warnings()[0].find("trained, though the file "
                                                  "does not say") !=
        std::string::npos);
  CHECK(states.imported.errors.warnings()[0].find("'scale'; --freeze") !=
        std::string::npos);
  CHECK(states.imported.errors.warnings()[1].find("'grid'; --trainable") !=
        std::string::npos);

  ImportOptions options = trainOptions();
  options.trainable = "^(grid|scale)$";
  CHECK(statesOf(b.import(options)).byName["grid"].getTrainable());
}

TEST_CASE("a scalar with a name is held, and listed") {
  ModelBuilder b;
  b.input("x", {int64_t(4)});
  b.floats("logit_scale", {}, {2});
  b.floats("onnx::Mul_7", {}, {3});
  b.node("Mul", {"x", "logit_scale"}, {"a"});
  b.node("Mul", {"a", "onnx::Mul_7"}, {"y"});
  b.output("y");
  Imported imported = b.importTrain();
  REQUIRE(imported.errors.warnings().size() == 1);
  CHECK(imported.errors.warnings()[0].find("'logit_scale'; --trainable") !=
        std::string::npos);
  ImportOptions options = trainOptions();
  options.trainable = "^logit_scale$";
  CHECK(statesOf(b.import(options)).byName["logit_scale"].getTrainable());
}

TEST_CASE("the only row of zeros of a table pads") {
  ModelBuilder b;
  b.input("ids", {int64_t(2)}, ::onnx::TensorProto::INT64);
  b.floats("embed.weight", {3, 2}, {1, 2, 0, 0, 5, 6});
  b.node("Gather", {"embed.weight", "ids"}, {"y"});
  b.output("y");
  Imported imported = b.importTrain();
  CHECK(imported.count("sinter.stop_gradient") == 1);
  REQUIRE(imported.errors.warnings().size() == 1);
  CHECK(imported.errors.warnings()[0].find("row 1") != std::string::npos);
}
