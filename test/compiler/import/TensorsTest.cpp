//===- TensorsTest.cpp - initializers in all their forms ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The items are those of the bad-input list: tensors (23-33).
//
//===----------------------------------------------------------------------===//
#include "test/compiler/import/ModelBuilder.h"

#include <catch2/catch.hpp>

#include <cstring>

using namespace sinter::test;
using ::onnx::TensorProto;

/// y = w, of two elements unless the test says otherwise.
static ModelBuilder constantModel(int32_t type) {
  ModelBuilder b(21);
  TensorProto &tensor = *b.graph().add_initializer();
  tensor.set_name("w");
  tensor.set_data_type(type);
  tensor.add_dims(2);
  b.node("Identity", {"w"}, {"y"}, "id");
  b.output("y", 0);
  return b;
}

static TensorProto &tensorOf(ModelBuilder &b) {
  return *b.graph().mutable_initializer(0);
}

static void rejects(const ModelBuilder &b, const std::string &part,
                    int code = 2) {
  Imported result = b.import();
  INFO(result.text());
  CHECK(result.errors.exitCode() == code);
  CHECK(result.says("initializer 'w'"));
  CHECK(result.says(part));
}

/// The values of the model's output.
static std::vector<double> valuesOf(const ModelBuilder &b) {
  Imported result = b.import();
  INFO(result.text());
  REQUIRE(result.module);
  std::vector<sinter::ir::Tensor> y = evaluate(result, {});
  REQUIRE(y.size() == 1);
  if (y[0].isFloat())
    return y[0].floats;
  return {y[0].ints.begin(), y[0].ints.end()};
}

TEST_CASE("typed fields") {
  ModelBuilder f32 = constantModel(TensorProto::FLOAT);
  tensorOf(f32).add_float_data(1.5);
  tensorOf(f32).add_float_data(-2);
  CHECK(valuesOf(f32) == std::vector<double>{1.5, -2});
  ModelBuilder f64 = constantModel(TensorProto::DOUBLE);
  tensorOf(f64).add_double_data(1e300);
  tensorOf(f64).add_double_data(-2);
  CHECK(valuesOf(f64) == std::vector<double>{1e300, -2});
  ModelBuilder i64 = constantModel(TensorProto::INT64);
  tensorOf(i64).add_int64_data(INT64_MIN);
  tensorOf(i64).add_int64_data(7);
  CHECK(valuesOf(i64) == std::vector<double>{double(INT64_MIN), 7});
  ModelBuilder u32 = constantModel(TensorProto::UINT32);
  tensorOf(u32).add_uint64_data(4000000000u);
  tensorOf(u32).add_uint64_data(7);
  CHECK(valuesOf(u32) == std::vector<double>{4000000000.0, 7});
  ModelBuilder f16 = constantModel(TensorProto::FLOAT16);
  tensorOf(f16).add_int32_data(0x3c00);
  tensorOf(f16).add_int32_data(0xc000);
  CHECK(valuesOf(f16) == std::vector<double>{1, -2});
  ModelBuilder bf16 = constantModel(TensorProto::BFLOAT16);
  tensorOf(bf16).add_int32_data(0x3f80);
  tensorOf(bf16).add_int32_data(0xc000);
  CHECK(valuesOf(bf16) == std::vector<double>{1, -2});
  for (int32_t type :
       {TensorProto::INT8, TensorProto::INT16, TensorProto::INT32}) {
    ModelBuilder b = constantModel(type);
    tensorOf(b).add_int32_data(-3);
    tensorOf(b).add_int32_data(100);
    CHECK(valuesOf(b) == std::vector<double>{-3, 100});
  }
  ModelBuilder truth = constantModel(TensorProto::BOOL);
  tensorOf(truth).add_int32_data(1);
  tensorOf(truth).add_int32_data(0);
  CHECK(valuesOf(truth) == std::vector<double>{1, 0});
}

TEST_CASE("four-bit integers and eight-bit floats widen exactly") {
  ModelBuilder odd = constantModel(22); // INT4
  tensorOf(odd).set_dims(0, 3);
  tensorOf(odd).set_raw_data(std::string("\x8f\x07", 2));
  CHECK(valuesOf(odd) == std::vector<double>{-1, -8, 7});
  ModelBuilder u4 = constantModel(21); // UINT4
  tensorOf(u4).add_int32_data(0xf2);
  CHECK(valuesOf(u4) == std::vector<double>{2, 15});
  ModelBuilder short4 = constantModel(22);
  tensorOf(short4).set_dims(0, 3);
  tensorOf(short4).set_raw_data("\x01");
  rejects(short4, "raw_data has 1 bytes; its type takes 2");
  ModelBuilder f8 = constantModel(17); // FLOAT8E4M3FN
  tensorOf(f8).set_raw_data(std::string("\x38\x7e", 2));
  CHECK(valuesOf(f8) == std::vector<double>{1, 448});
}

TEST_CASE("sizes and fields must fit") {
  ModelBuilder raw = constantModel(TensorProto::FLOAT);
  tensorOf(raw).set_raw_data("1234567");
  rejects(raw, "raw_data has 7 bytes; its type takes 8");
  ModelBuilder empty = constantModel(TensorProto::FLOAT);
  rejects(empty, "it holds 0 elements; its shape takes 2");
  ModelBuilder both = constantModel(TensorProto::FLOAT);
  tensorOf(both).set_raw_data("12345678");
  tensorOf(both).add_float_data(1);
  rejects(both, "both raw_data and typed data");
  ModelBuilder wrong = constantModel(TensorProto::FLOAT);
  tensorOf(wrong).add_int64_data(1);
  tensorOf(wrong).add_int64_data(1);
  rejects(wrong, "wrong field");
  ModelBuilder large = constantModel(TensorProto::INT8);
  tensorOf(large).add_int32_data(1);
  tensorOf(large).add_int32_data(300);
  rejects(large, "out of the range of INT8");
}

TEST_CASE("types") {
  rejects(constantModel(0), "data_type is UNDEFINED");
  rejects(constantModel(TensorProto::STRING), "STRING, which is not supported",
          3);
  rejects(constantModel(TensorProto::COMPLEX64),
          "COMPLEX64, which is not supported", 3);
  rejects(constantModel(77), "data_type is type 77");
}

TEST_CASE("shapes") {
  ModelBuilder negative = constantModel(TensorProto::FLOAT);
  tensorOf(negative).set_dims(0, -2);
  rejects(negative, "negative dimension -2");
  ModelBuilder overflow = constantModel(TensorProto::FLOAT);
  tensorOf(overflow).set_dims(0, int64_t(1) << 32);
  tensorOf(overflow).add_dims(int64_t(1) << 32);
  rejects(overflow, "larger than any device's memory");
  ModelBuilder deep = constantModel(TensorProto::FLOAT);
  for (int i = 0; i < 40; ++i)
    tensorOf(deep).add_dims(1);
  rejects(deep, "its rank is 41");
  ModelBuilder nothing = constantModel(TensorProto::FLOAT);
  tensorOf(nothing).set_dims(0, 0);
  CHECK(valuesOf(nothing).empty());
  ModelBuilder segment = constantModel(TensorProto::FLOAT);
  tensorOf(segment).mutable_segment();
  rejects(segment, "one segment of a larger tensor", 3);
}

TEST_CASE("large initializers are not copied") {
  ModelBuilder b = constantModel(TensorProto::FLOAT);
  tensorOf(b).set_dims(0, 4096);
  std::string bytes(4096 * 4, '\0');
  for (int i = 0; i < 4096; ++i) {
    float value = float(i);
    std::memcpy(&bytes[size_t(i) * 4], &value, 4);
  }
  tensorOf(b).set_raw_data(bytes);
  Imported result = b.import();
  CHECK(result.count("dense_resource<w>") == 1);
  CHECK(valuesOf(b)[4095] == 4095);
}

TEST_CASE("sparse initializers") {
  ModelBuilder b;
  auto &sparse = *b.graph().add_sparse_initializer();
  sparse.mutable_values()->set_name("w");
  sparse.mutable_values()->set_data_type(TensorProto::FLOAT);
  sparse.mutable_values()->add_dims(2);
  sparse.mutable_values()->add_float_data(5);
  sparse.mutable_values()->add_float_data(6);
  sparse.mutable_indices()->set_data_type(TensorProto::INT64);
  sparse.mutable_indices()->add_dims(2);
  sparse.mutable_indices()->add_int64_data(1);
  sparse.mutable_indices()->add_int64_data(3);
  sparse.add_dims(2);
  sparse.add_dims(2);
  b.node("Identity", {"w"}, {"y"});
  b.output("y");
  CHECK(valuesOf(b) == std::vector<double>{0, 5, 0, 6});
  sparse.mutable_indices()->set_int64_data(1, 4);
  rejects(b, "out of range");
  sparse.mutable_indices()->set_int64_data(1, 1);
  rejects(b, "not ascending");
}
