//===- DamageTest.cpp - broken files never crash the importer -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Files are truncated at every byte, and bytes and fields are damaged from a
// seed. The result must be a module or at least one error line; a crash ends
// this program.
//
//===----------------------------------------------------------------------===//
#include "test/compiler/import/ModelBuilder.h"

#include "compiler/import/onnx/Registry.h"

#include "compiler/base/Text.h"

#include <catch2/catch.hpp>

#include <random>

using namespace sinter::test;

/// A module or lines, each of them one clean line.
static void importsOrSays(const std::string &bytes) {
  sinter::compiler::ImportOptions options;
  options.batch = 2;
  Imported result = importBytes(bytes, options);
  REQUIRE(bool(result.module) == result.errors.empty()); // one of the two
  for (const std::string &line : result.errors.lines())
    if (line.empty() || line.size() > 4000 ||
        line.find('\n') != std::string::npos)
      FAIL("not one line: " << line);
}

TEST_CASE("truncated at every byte") {
  std::string bytes = smallNet().model.SerializeAsString();
  for (size_t size = 0; size < bytes.size(); ++size)
    importsOrSays(bytes.substr(0, size));
}

TEST_CASE("damaged bytes") {
  const std::string whole = smallNet().model.SerializeAsString();
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = whole;
    for (int k = 0; k <= round % 3; ++k)
      bytes[random() % bytes.size()] = char(random());
    importsOrSays(bytes);
  }
}

/// Numbers that break arithmetic.
static int64_t strange(std::mt19937 &random) {
  static const int64_t values[] = {0,         -1,        1,         2,
                                   3,         7,         INT64_MAX, INT64_MIN,
                                   1 << 20,   INT32_MAX, INT32_MIN, -2,
                                   1LL << 32, 1LL << 40, 1LL << 62};
  return values[random() % (sizeof(values) / sizeof(*values))];
}

/// Changes one number, name or list of a model.
static void damage(::onnx::ModelProto &model, std::mt19937 &random) {
  auto &graph = *model.mutable_graph();
  auto &node = *graph.mutable_node(int(random() % unsigned(graph.node_size())));
  auto &tensor = *graph.mutable_initializer(
      int(random() % unsigned(graph.initializer_size())));
  switch (random() % 9) {
  case 0:
    if (tensor.dims_size())
      tensor.set_dims(int(random() % unsigned(tensor.dims_size())),
                      strange(random));
    break;
  case 1:
    tensor.set_data_type(int32_t(random() % 26));
    break;
  case 2:
    tensor.add_dims(strange(random));
    break;
  case 3:
    for (auto &attribute : *node.mutable_attribute()) {
      attribute.set_i(strange(random));
      if (attribute.ints_size())
        attribute.set_ints(int(random() % unsigned(attribute.ints_size())),
                           strange(random));
    }
    break;
  case 4:
    for (auto &attribute : *node.mutable_attribute())
      attribute.add_ints(strange(random));
    break;
  case 5:
    if (node.input_size())
      node.set_input(
          int(random() % unsigned(node.input_size())),
          graph.initializer(int(random() % unsigned(graph.initializer_size())))
              .name());
    break;
  case 6: {
    static const char *ops[] = {
        "Add",     "MatMul",    "Reshape", "Gather", "Concat",
        "Softmax", "Transpose", "Slice",   "Pad",    "Tile",
        "Expand",  "Resize",    "LSTM",    "Split",  "TopK",
        "OneHot",  "Range",     "CumSum",  "Conv",   "AveragePool",
        "Einsum",  "Squeeze",   "Cast",    "Where",  "ScatterND"};
    node.set_op_type(ops[random() % (sizeof(ops) / sizeof(*ops))]);
    break;
  }
  case 7:
    node.clear_attribute();
    break;
  default:
    node.add_input(random() % 2 ? "" : "x");
  }
}

TEST_CASE("damaged fields") {
  std::mt19937 random(2);
  for (int round = 0; round < 3000; ++round) {
    ModelBuilder b = smallNet();
    for (int k = 0; k <= round % 3; ++k)
      damage(b.model, random);
    importsOrSays(b.model.SerializeAsString());
  }
}

/// One node of operator `op` with constant inputs of unusual contents.
static ModelBuilder strangeNode(const std::string &op, std::mt19937 &random) {
  ModelBuilder b(18);
  Names inputs;
  unsigned count = 1 + unsigned(random() % 5);
  for (unsigned i = 0; i < count; ++i) {
    std::string name = "i" + std::to_string(i);
    inputs.push_back(random() % 8 ? name : "");
    std::vector<int64_t> dims(random() % 4);
    int64_t size = 1;
    for (int64_t &dim : dims)
      size *= dim = int64_t(random() % 4);
    if (random() % 3 == 0) {
      b.input(name, {dims.begin(), dims.end()}, random() % 2 ? 1 : 7);
    } else if (random() % 2) {
      std::vector<int64_t> values;
      for (int64_t k = 0; k < size; ++k)
        values.push_back(random() % 2 ? int64_t(random() % 5) - 1
                                      : strange(random));
      b.ints(name, dims, values);
    } else {
      b.floats(name, dims,
               std::vector<float>(size_t(size), float(random() % 4) - 1));
    }
  }
  auto &node = b.node(op, inputs, {"y", "z"}, "n");
  static const char *ints[] = {"axis", "blocksize",  "group",     "keepdims",
                               "k",    "upper",      "ceil_mode", "exclusive",
                               "size", "hidden_size"};
  static const char *lists[] = {"axes",      "pads",         "strides",
                                "dilations", "kernel_shape", "perm"};
  for (unsigned k = random() % 3; k > 0; --k)
    ModelBuilder::setInt(node, ints[random() % 10], strange(random));
  if (random() % 2) {
    std::vector<int64_t> values(random() % 5);
    for (int64_t &value : values)
      value = strange(random);
    ModelBuilder::setInts(node, lists[random() % 6], values);
  }
  b.output("y");
  return b;
}

TEST_CASE("operators of strange operands") {
  static const char *ops[] = {"Add",
                              "ArgMax",
                              "AveragePool",
                              "BatchNormalization",
                              "BitShift",
                              "Cast",
                              "Clip",
                              "Compress",
                              "Concat",
                              "ConstantOfShape",
                              "Conv",
                              "ConvTranspose",
                              "CumSum",
                              "DepthToSpace",
                              "DequantizeLinear",
                              "Div",
                              "Einsum",
                              "Expand",
                              "EyeLike",
                              "Flatten",
                              "GRU",
                              "Gather",
                              "GatherElements",
                              "GatherND",
                              "Gemm",
                              "GroupNormalization",
                              "Hardmax",
                              "LRN",
                              "LSTM",
                              "LayerNormalization",
                              "LogSoftmax",
                              "LpPool",
                              "MatMul",
                              "MatMulInteger",
                              "MaxPool",
                              "MaxUnpool",
                              "Mod",
                              "NegativeLogLikelihoodLoss",
                              "NonZero",
                              "OneHot",
                              "PRelu",
                              "Pad",
                              "Pow",
                              "QuantizeLinear",
                              "Range",
                              "ReduceMax",
                              "ReduceMean",
                              "ReduceSum",
                              "Reshape",
                              "Resize",
                              "ReverseSequence",
                              "ScatterElements",
                              "ScatterND",
                              "Shape",
                              "Slice",
                              "Softmax",
                              "SoftmaxCrossEntropyLoss",
                              "SpaceToDepth",
                              "Split",
                              "Squeeze",
                              "Tile",
                              "TopK",
                              "Transpose",
                              "Trilu",
                              "Unsqueeze",
                              "Where"};
  std::mt19937 random(3);
  for (const char *op : ops)
    for (int round = 0; round < 150; ++round) {
      INFO(op << " " << round);
      importsOrSays(strangeNode(op, random).model.SerializeAsString());
    }
}

TEST_CASE("operators of values that are not tensors of known shape") {
  std::mt19937 random(5);
  sinter::compiler::Registry().forEach(
      [&](llvm::StringRef domain, const sinter::compiler::OpRow &row) {
        for (int round = 0; round < 30; ++round) {
          ModelBuilder b(row.before <= 27 ? row.before - 1 : 27);
          auto &import = *b.model.add_opset_import();
          import.set_domain("com.microsoft");
          import.set_version(1);
          b.input("x", {int64_t(2), int64_t(3)});
          b.input("m", {int64_t(2), int64_t(3)}, ::onnx::TensorProto::BOOL);
          b.input("end", {int64_t(1)}, ::onnx::TensorProto::INT64);
          b.ints("zero", {1}, {0});
          b.node("SequenceConstruct", {"x", "x"}, {"sequence"});
          b.node("Optional", {}, {"nothing"});
          b.node("NonZero", {"m"}, {"nonzero"});
          b.node("Transpose", {"nonzero"}, {"at"});
          b.node("GatherND", {"x", "at"}, {"selected"});
          b.node("Slice", {"x", "zero", "end"}, {"range"});
          static const char *names[] = {"x",        "m",        "zero",
                                        "sequence", "nothing",  "nonzero",
                                        "at",       "selected", "range"};
          auto &node = b.node(row.name.str(), {}, {"y"});
          node.set_domain(domain.str());
          int count = row.minInputs + int(random() % 3);
          for (int i = 0; i < std::min(count, row.maxInputs); ++i)
            node.add_input(names[random() % std::size(names)]);
          b.output("y", 0);
          INFO(row.name.str() << " " << round);
          importsOrSays(b.model.SerializeAsString());
        }
      });
}

TEST_CASE("operators of small operands that nearly fit") {
  std::mt19937 random(6);
  static const char *attributes[] = {"num_heads",
                                     "kv_num_heads",
                                     "q_num_heads",
                                     "N",
                                     "K",
                                     "bits",
                                     "block_size",
                                     "axis",
                                     "do_rotary",
                                     "unidirectional",
                                     "onesided",
                                     "inverse",
                                     "interleaved",
                                     "transA",
                                     "transB",
                                     "transBatchA",
                                     "is_causal",
                                     "left_window_size",
                                     "to",
                                     "align_corners",
                                     "local_window_size",
                                     "rotary_embedding_dim",
                                     "new_axis",
                                     "keepdims"};
  sinter::compiler::Registry().forEach([&](llvm::StringRef domain,
                                           const sinter::compiler::OpRow &row) {
    for (int round = 0; round < 60; ++round) {
      ModelBuilder b(row.before <= 27 ? row.before - 1 : 27);
      auto &import = *b.model.add_opset_import();
      import.set_domain("com.microsoft");
      import.set_version(1);
      Names outputs;
      for (int i = 0; i < std::min(row.maxOutputs, 4); ++i)
        outputs.push_back("y" + std::to_string(i));
      auto &node = b.node(row.name.str(), {}, outputs);
      node.set_domain(domain.str());
      int count = std::min(row.minInputs + int(random() % 9), row.maxInputs);
      // Mostly equal ranks, so that first checks are passed.
      size_t rank = random() % 5;
      for (int i = 0; i < count; ++i) {
        std::string name = "i" + std::to_string(i);
        node.add_input(i >= row.minInputs && random() % 3 == 0 ? "" : name);
        std::vector<int64_t> dims(random() % 3 ? rank : random() % 6);
        for (int64_t &dim : dims)
          dim = random() % 3 ? 2 : int64_t(random() % 5);
        static const int32_t types[] = {1, 1, 1, 1, 2, 6, 7, 9};
        if (random() % 4)
          b.input(name, {dims.begin(), dims.end()}, types[random() % 8]);
        else
          b.ints(name, {2}, {int64_t(random() % 4), int64_t(random() % 4) - 1});
      }
      for (unsigned k = unsigned(random() % 6); k > 0; --k) {
        const char *name = attributes[random() % std::size(attributes)];
        if (llvm::none_of(node.attribute(), [&](const auto &attribute) {
              return attribute.name() == name;
            }))
          ModelBuilder::setInt(node, name, int64_t(random() % 6) - 1);
      }
      b.output("y0");
      INFO(row.name.str() << " " << round);
      importsOrSays(b.model.SerializeAsString());
    }
  });
}
