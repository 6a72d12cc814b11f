//===- MicrosoftTest.cpp - operators of the domain com.microsoft ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Their values are compared with ONNX Runtime's in test/e2e/inference (ort-*).
// This file has hand-computed values and what is refused.
//
//===----------------------------------------------------------------------===//
#include "test/compiler/import/OneNode.h"

using namespace sinter::test;
using Values = std::vector<double>;
using Sizes = std::vector<int64_t>;

namespace {

OneNode ofMicrosoft(const char *op) { return OneNode(op, 1, "com.microsoft"); }

Values zeros(int64_t count) { return Values(size_t(count), 0.0); }

/// Query, key and value of 2 words and 2 heads of 2.
OneNode multiHead() {
  OneNode node = ofMicrosoft("MultiHeadAttention");
  for (int i = 0; i < 3; ++i)
    node.x({1, 2, 4}, zeros(8));
  node.set("num_heads", 2);
  return node;
}

/// The same with one query head and one key head, and the counts of keys.
OneNode groupQuery() {
  OneNode node = ofMicrosoft("GroupQueryAttention");
  for (int i = 0; i < 3; ++i)
    node.x({1, 2, 4}, zeros(8));
  node.absent().absent().typed(::onnx::TensorProto::INT32, {1}, {1});
  node.typed(::onnx::TensorProto::INT32, {}, {2});
  node.set("num_heads", 1).set("kv_num_heads", 1);
  return node;
}

} // namespace

TEST_CASE("operators of com.microsoft by hand") {
  ofMicrosoft("BiasSplitGelu")
      .x({1, 4}, {1, 2, 0, -1})
      .floats({4}, {1, 1, 1, 1})
      .gives({1, 2}, {2 * 0.84134475, 0});
  ofMicrosoft("BiasSoftmax")
      .x({1, 2, 2}, {0, 1, 2, 3})
      .floats({1, 1, 2}, {1, 0})
      .set("axis", 2)
      .set("is_inner_broadcast", 1)
      .gives({1, 2, 2}, {0.5, 0.5, 0.5, 0.5});
  ofMicrosoft("BiasDropout")
      .x({1, 2}, {1, 2})
      .floats({2}, {3, 4})
      .floats({1, 2}, {10, 20})
      .floats({}, {0.5f})
      .gives({1, 2}, {14, 26});
  // Two bits to a number, the lowest first: 0 1 2 3 of zero point 2.
  ofMicrosoft("MatMulNBits")
      .x({1, 4}, {1, 10, 100, 1000})
      .typed(::onnx::TensorProto::UINT8, {1, 1, 1}, {0b11100100})
      .floats({1, 1}, {0.5f})
      .set("N", 1)
      .set("K", 4)
      .set("bits", 2)
      .set("block_size", 4)
      .gives({1, 1}, {-1 - 5 + 500});
}

/// The value of a further output of `node`.
static Values furtherOutput(OneNode &node, int number, const char *name) {
  auto &outputs = *node.builder.graph().mutable_node(0)->mutable_output();
  while (outputs.size() < number)
    outputs.Add("");
  outputs.Add(name);
  node.builder.output(name, 0);
  Imported result = node.builder.import();
  INFO(result.text());
  REQUIRE(result.module);
  const sinter::ir::Tensor value = evaluate(result, node.fed).back();
  return value.isFloat() ? value.floats
                         : Values(value.ints.begin(), value.ints.end());
}

TEST_CASE("a prompt begins at the first position in all rows") {
  const int32_t i32 = ::onnx::TensorProto::INT32;
  OneNode node = ofMicrosoft("GroupQueryAttention");
  node.x({2, 1, 2}, zeros(4)).x({2, 1, 2}, {1, 0, 1, 0}).x({2, 1, 2}, zeros(4));
  node.absent().absent().typed(i32, {2}, {0, 0}).typed(i32, {}, {1});
  // Position i turns a key by i * 90 degrees.
  node.floats({4, 1}, {1, 0, -1, 0}).floats({4, 1}, {0, 1, 0, -1});
  node.builder.ints("positions", {2, 1}, {1, 3});
  node.named("positions");
  node.set("num_heads", 1).set("kv_num_heads", 1).set("do_rotary", 1);
  CHECK(furtherOutput(node, 1, "key") == Values{0, 1, 0, 1});
}

TEST_CASE("words are counted whose mask is 1") {
  const int32_t i32 = ::onnx::TensorProto::INT32;
  OneNode node = ofMicrosoft("EmbedLayerNormalization");
  node.typed(i32, {1, 3}, {0, 1, 0}).absent();
  node.floats({2, 2}, {1, 2, 3, 5}).floats({3, 2}, {0, 0, 0, 0, 0, 0}).absent();
  node.floats({2}, {1, 1}).floats({2}, {0, 0}).typed(i32, {1, 3}, {1, 2, 1});
  CHECK(furtherOutput(node, 1, "count") == Values{2});
}

TEST_CASE("what is not done of com.microsoft is refused") {
  ofMicrosoft("Sampling")
      .x({2}, {1, 2})
      .fails("operator com.microsoft.Sampling is not supported", 3);
  OneNode("Gelu", 2, "com.microsoft")
      .x({2}, {1, 2})
      .fails("of operator set 2; 1 is the newest known", 3);
  OneNode("Relu", 1, "com.example")
      .x({2}, {1, 2})
      .fails("operator com.example.Relu is not supported", 3);
  ofMicrosoft("FastGelu")
      .x({2}, {1, 2})
      .set("alpha", 2.0)
      .fails("attribute 'alpha' of operator set 1", 3);
  ofMicrosoft("FusedConv")
      .x({1, 1, 2, 2}, {1, 2, 3, 4})
      .floats({1, 1, 1, 1}, {1})
      .set("activation", "Elu")
      .fails("activation 'Elu'", 3);
  ofMicrosoft("BiasDropout")
      .x({1, 2}, {1, 2})
      .floats({2}, {3, 4})
      .absent()
      .absent()
      .typed(::onnx::TensorProto::BOOL, {}, {1})
      .fails("in training", 3);
  ofMicrosoft("MatMulNBits")
      .x({1, 4}, {1, 10, 100, 1000})
      .typed(::onnx::TensorProto::UINT8, {1, 1, 1}, {3})
      .floats({1, 1}, {0.5f})
      .set("N", 1)
      .set("K", 4)
      .set("bits", 3)
      .set("block_size", 4)
      .fails("3 bits", 3);
  ofMicrosoft("MatMulNBits")
      .x({1, 4}, {1, 10, 100, 1000})
      .typed(::onnx::TensorProto::UINT8, {1, 1, 1}, {3})
      .floats({1, 1}, {0.5f})
      .set("N", 1)
      .set("K", 4)
      .set("block_size", 16)
      .fails("input 'B' has shape [1, 1, 1]; it must be [1, 1, 8] of uint8");
  groupQuery().set("local_window_size", 0).fails("'local_window_size' = 0", 3);
}

TEST_CASE("forms of attention that are refused") {
  multiHead().gives({1, 2, 4}, zeros(8));
  multiHead()
      .absent()
      .typed(::onnx::TensorProto::INT32, {5}, {2, 0, 2, 0, 2})
      .fails("a mask of shape [5]", 3);
  multiHead()
      .absent()
      .absent()
      .absent()
      .x({1, 2, 3, 2}, zeros(12))
      .fails("past_key and past_value must be given together");
  ofMicrosoft("MultiHeadAttention")
      .x({1, 2, 4}, zeros(8))
      .x({1, 3, 4}, zeros(12))
      .x({1, 3, 4}, zeros(12))
      .set("num_heads", 2)
      .set("unidirectional", 1)
      .fails("unidirectional with other numbers of queries than of keys", 3);
  ofMicrosoft("MultiHeadAttention")
      .x({1, 2, 2, 3, 2}, zeros(24))
      .set("num_heads", 2)
      .fails("packed queries, keys and values", 3);
  ofMicrosoft("Attention")
      .x({1, 2, 4}, zeros(8))
      .x({4, 12}, zeros(48))
      .set("num_heads", 2)
      .set("do_rotary", 1)
      .fails("attribute 'do_rotary' = 1", 3);

  groupQuery().gives({1, 2, 4}, zeros(8));
  groupQuery().set("smooth_softmax", 1).fails("'smooth_softmax' = 1", 3);
  groupQuery().set("k_quant_type", "PER_TENSOR").fails("'k_quant_type'", 3);
  groupQuery().set("do_rotary", 1).fails("needs the inputs 'cos_cache'");
  OneNode uneven = ofMicrosoft("GroupQueryAttention");
  for (int i = 0; i < 3; ++i)
    uneven.x({1, 2, 4}, zeros(8));
  uneven.x({1, 1, 0, 4}, {}).x({1, 1, 1, 4}, zeros(4));
  uneven.typed(::onnx::TensorProto::INT32, {1}, {1});
  uneven.typed(::onnx::TensorProto::INT32, {}, {2});
  uneven.set("num_heads", 1).set("kv_num_heads", 1);
  uneven.fails("there are 0 past keys and 1 past values");
  OneNode total = ofMicrosoft("GroupQueryAttention");
  for (int i = 0; i < 3; ++i)
    total.x({1, 2, 4}, zeros(8));
  total.absent().absent().typed(::onnx::TensorProto::INT32, {1}, {1});
  total.typed(::onnx::TensorProto::INT32, {}, {9});
  total.set("num_heads", 1).set("kv_num_heads", 1);
  total.fails("input 'total_sequence_length' that is not 2", 3);
  OneNode sink = groupQuery();
  for (int i = 0; i < 4; ++i)
    sink.absent();
  sink.floats({1}, {1}).fails("with input 'head_sink'", 3);
  OneNode past = ofMicrosoft("GroupQueryAttention");
  for (int i = 0; i < 3; ++i)
    past.x({1, 1, 4}, zeros(4));
  past.x({1, 1, 3, 4}, zeros(12)).x({1, 1, 3, 4}, zeros(12));
  past.builder.input("lengths", {int64_t(1)}, ::onnx::TensorProto::INT32);
  past.named("lengths").typed(::onnx::TensorProto::INT32, {}, {4});
  past.set("num_heads", 1).set("kv_num_heads", 1);
  // The number of all keys: 3 past ones and 1.
  past.fails("past keys and values whose number ('seqlens_k') is not known", 3);
}

TEST_CASE("refused operators of several domains are listed together") {
  ModelBuilder b(20);
  for (const char *domain : {"com.microsoft", "com.example"}) {
    auto &import = *b.model.add_opset_import();
    import.set_domain(domain);
    import.set_version(1);
  }
  b.input("x", {int64_t(2)});
  b.node("Sampling", {"x"}, {"a"}).set_domain("com.microsoft");
  b.node("Gelu", {"a"}, {"b"}).set_domain("com.example");
  b.node("Gelu", {"b"}, {"c"}).set_domain("com.microsoft");
  b.node("Det", {"c"}, {"y"});
  b.output("y");
  Imported result = b.import();
  INFO(result.text());
  CHECK(result.errors.exitCode() == 3);
  CHECK(result.errors.lines().size() == 3);
  CHECK(result.says("com.microsoft.Sampling"));
  CHECK(result.says("com.example.Gelu"));
}

namespace {

const int32_t kU8 = ::onnx::TensorProto::UINT8;
const int32_t kI8 = ::onnx::TensorProto::INT8;
using Codes = std::vector<int32_t>;

/// Adds codes, their scale and their zero point.
OneNode &addCodes(OneNode &node, const Sizes &sizes, const Codes &codes,
                  float scale, int32_t zero, int32_t type = kU8,
                  int32_t zeroType = kU8) {
  return node.typed(type, sizes, codes)
      .floats({}, {scale})
      .typed(zeroType, {}, {zero});
}

OneNode ofCodes(const char *op, int32_t zeroType = kU8) {
  OneNode node = ofMicrosoft(op);
  addCodes(node, {1, 4}, {0, 100, 110, 200}, 0.5f, 100, kU8, zeroType);
  return node;
}

/// A matrix of 1 x 2 and one of 2 x 1.
OneNode qGemm(int32_t aZero = kU8, int32_t bZero = kI8) {
  OneNode node = ofMicrosoft("QGemm");
  addCodes(node, {1, 2}, {11, 13}, 0.5f, 10, kU8, aZero);
  addCodes(node, {2, 1}, {-2, 5}, 0.25f, 1, kI8, bZero);
  return node;
}

OneNode qConcat(int32_t zeroType = kU8) {
  OneNode node = ofMicrosoft("QLinearConcat");
  node.floats({}, {1}).typed(kU8, {}, {0});
  addCodes(node, {2}, {1, 2}, 1, 0, kU8, zeroType);
  return node;
}

} // namespace

TEST_CASE("operators on 8-bit codes by hand") {
  ofCodes("QLinearLeakyRelu")
      .floats({}, {0.25f})
      .typed(kU8, {}, {8})
      .set("alpha", 0.01)
      .gives({1, 4}, {6, 8, 28, 208});
  ofCodes("QLinearReduceMean")
      .floats({}, {0.5f})
      .set("keepdims", 0)
      .set("axes", Sizes{-1})
      .gives({1}, {2});
  OneNode all = ofMicrosoft("QLinearReduceMean");
  addCodes(all, {1, 2}, {-10, 2}, 0.5f, -2, kI8, kI8);
  all.floats({}, {0.25f}).typed(kI8, {}, {-100}).set("axes", Sizes{});
  all.gives({1, 1}, {-104});
  // (1 * -3 + 3 * 4) / 8; the bias is in 1/8, too.
  qGemm().gives({1, 1}, {9.0 / 8});
  qGemm()
      .typed(::onnx::TensorProto::INT32, {1}, {7})
      .set("alpha", 0.5)
      .gives({1, 1}, {1});
  qGemm()
      .absent()
      .floats({}, {0.25f})
      .typed(kI8, {}, {-100})
      .gives({1, 1}, {-96});
}

TEST_CASE("operators on 8-bit codes that are refused") {
  const char *zeroPoint =
      "the zero point has another element type than its codes";
  for (const char *op :
       {"QLinearSigmoid", "QLinearLeakyRelu", "QLinearReduceMean",
        "QLinearAveragePool", "QLinearGlobalAveragePool", "QLinearSoftmax"}) {
    INFO(op);
    auto begin = [&](int32_t zeroType = kU8) {
      OneNode node = ofMicrosoft(op);
      addCodes(node, {1, 1, 4}, {1, 2, 3, 4}, 0.5f, 1, kU8, zeroType);
      if (op == std::string("QLinearSoftmax"))
        node.set("opset", 13);
      if (op == std::string("QLinearAveragePool"))
        node.set("kernel_shape", Sizes{2});
      return node;
    };
    begin().fails("required input 3 is missing");
    begin(kI8).floats({}, {1}).fails(zeroPoint);
    begin().floats({}, {1}).typed(kI8, {}, {0}).fails(zeroPoint);
    begin().floats({2}, {1, 1}).fails("has shape [2]; it must be a single");
    begin().typed(kU8, {}, {1}).fails("must be of a float type");
    begin().floats({}, {1}).absent().floats({}, {1}).fails(
        "has 6 inputs; at most 5 are allowed");
  }
  ofMicrosoft("QLinearSigmoid")
      .x({2}, {1, 2})
      .floats({}, {1})
      .absent()
      .floats({}, {1})
      .fails("must be of uint8 or int8");
  ofCodes("QLinearSoftmax").floats({}, {1}).fails("'opset' is missing");
  ofCodes("QLinearGlobalAveragePool")
      .floats({}, {1})
      .fails("has rank 2; at least 3 is needed");
  ofCodes("QLinearAdd", kI8).fails(zeroPoint);
  ofCodes("QLinearAdd").fails("required input 3 is missing");

  OneNode where = ofMicrosoft("QLinearWhere");
  where.typed(kU8, {}, {1});
  addCodes(where, {2}, {1, 2}, 1, 0);
  addCodes(where, {2}, {3, 4}, 1, 0);
  where.floats({}, {1}).typed(kU8, {}, {0}).fails("it must be bool");

  qConcat().fails("attribute 'axis' is missing");
  qConcat(kI8).set("axis", 0).fails(zeroPoint);
  qConcat()
      .typed(kU8, {2}, {1, 2})
      .floats({}, {1})
      .set("axis", 0)
      .fails("has 7 inputs; they must be two and three for each part");

  qGemm().absent().floats({}, {1}).fails(
      "with only one of the inputs 'y_scale' and 'y_zero_point'", 3);
  qGemm().floats({1}, {1}).fails("they must be equal");
  qGemm().set("transB", 1).fails("contract");
  qGemm(kI8).fails(zeroPoint);
  qGemm(kU8, kU8).fails(zeroPoint);
  OneNode vector = ofMicrosoft("QGemm");
  addCodes(vector, {2}, {11, 13}, 1, 10);
  addCodes(vector, {2, 1}, {1, 2}, 1, 0);
  vector.fails("it must be a matrix");
}
