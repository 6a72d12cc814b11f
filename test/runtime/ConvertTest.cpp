//===- ConvertTest.cpp - conversions and the binding of columns -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "TestFiles.h"
#include "runtime/data/BatchReader.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace sinter::rt;
using namespace testfiles;

template <typename To, typename From>
static int64_t convert(sinter_dtype from, sinter_dtype to,
                       const std::vector<From> &values, std::vector<To> &out,
                       Converter::Options options = {}) {
  out.assign(values.size(), To());
  Converter converter(from, to, options);
  return converter.convert(reinterpret_cast<const uint8_t *>(values.data()),
                           out.data(), static_cast<int64_t>(values.size()));
}

TEST_CASE("integers convert exactly or not at all", "[data][convert]") {
  std::vector<int32_t> i32;
  CHECK(convert<int32_t, int64_t>(SINTER_I64, SINTER_I32,
                                  {1, -5, INT32_MAX, INT32_MIN}, i32) == -1);
  CHECK(i32 == std::vector<int32_t>{1, -5, INT32_MAX, INT32_MIN});
  CHECK(convert<int32_t, int64_t>(SINTER_I64, SINTER_I32, {1, 1ll << 31},
                                  i32) == 1);
  std::vector<uint8_t> u8;
  CHECK(convert<uint8_t, int64_t>(SINTER_I64, SINTER_U8, {255, -1}, u8) == 1);
  std::vector<int64_t> i64;
  CHECK(convert<int64_t, uint64_t>(SINTER_U64, SINTER_I64, {1, UINT64_MAX},
                                   i64) == 1);
  CHECK(convert<int64_t, double>(SINTER_F64, SINTER_I64, {3, 2.5}, i64) == 1);
  CHECK(convert<int64_t, double>(
            SINTER_F64, SINTER_I64,
            {-9223372036854775808.0, 9223372036854775808.0}, i64) == 1);
  CHECK(convert<int64_t, double>(SINTER_F64, SINTER_I64, {NAN}, i64) == 0);
  CHECK(convert<int64_t, uint8_t>(SINTER_U8, SINTER_I64, {0, 9, 255}, i64) ==
        -1);
  CHECK(i64 == std::vector<int64_t>{0, 9, 255});
  std::vector<uint8_t> boolean;
  CHECK(convert<uint8_t, uint8_t>(SINTER_U8, SINTER_BOOL, {0, 1, 2}, boolean) ==
        2);
}

TEST_CASE("floats convert exactly or not at all", "[data][convert]") {
  std::vector<float> f32;
  CHECK(convert<float, double>(SINTER_F64, SINTER_F32,
                               {0.5, -0.0, INFINITY, NAN}, f32) == -1);
  CHECK(f32[0] == 0.5f);
  CHECK(std::signbit(f32[1]));
  CHECK(convert<float, double>(SINTER_F64, SINTER_F32, {0.5, 0.1}, f32) == 1);
  CHECK(convert<float, double>(SINTER_F64, SINTER_F32, {1e300}, f32) == 0);
  Converter::Options rounding;
  rounding.mayRound = true;
  CHECK(convert<float, double>(SINTER_F64, SINTER_F32, {0.1}, f32, rounding) ==
        -1);
  CHECK(f32[0] == 0.1f);
  CHECK(convert<float, double>(SINTER_F64, SINTER_F32, {1e300}, f32,
                               rounding) == 0);
  CHECK(convert<float, int32_t>(SINTER_I32, SINTER_F32, {16777216, 16777217},
                                f32) == 1);
  CHECK(convert<float, int64_t>(SINTER_I64, SINTER_F32, {INT64_MIN, INT64_MAX},
                                f32) == 1);
}

TEST_CASE("half types round to nearest even and back", "[data][convert]") {
  // All 65536 halves survive half -> double -> half.
  std::vector<uint16_t> all(65536), back;
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<uint16_t>(i);
  for (sinter_dtype dtype : {SINTER_F16, SINTER_BF16}) {
    std::vector<double> wide;
    REQUIRE(convert<double, uint16_t>(dtype, SINTER_F64, all, wide) == -1);
    REQUIRE(convert<uint16_t, double>(SINTER_F64, dtype, wide, back) == -1);
    for (size_t i = 0; i < all.size(); ++i)
      if (!std::isnan(wide[i]))
        REQUIRE(back[i] == all[i]);
  }
  Converter::Options rounding;
  rounding.mayRound = true;
  std::vector<uint16_t> half;
  convert<uint16_t, double>(SINTER_F64, SINTER_F16,
                            {1 + std::ldexp(1, -11), 1 + std::ldexp(3, -11),
                             2047.5, std::ldexp(1, -25), 65519},
                            half, rounding);
  CHECK(half == std::vector<uint16_t>{0x3c00, 0x3c02, 0x6800, 0, 0x7bff});
  convert<uint16_t, double>(SINTER_F64, SINTER_BF16,
                            {1 + std::ldexp(1, -8), 1 + std::ldexp(3, -8),
                             1 + std::ldexp(1, -8) + std::ldexp(1, -40)},
                            half, rounding);
  CHECK(half == std::vector<uint16_t>{0x3f80, 0x3f82, 0x3f81});
}

TEST_CASE("uint8 is scaled as float32 division does", "[data][convert]") {
  std::vector<uint8_t> all(256);
  for (int i = 0; i < 256; ++i)
    all[i] = static_cast<uint8_t>(i);
  Converter::Options scaled;
  scaled.scale = true;
  std::vector<float> out;
  REQUIRE(convert<float, uint8_t>(SINTER_U8, SINTER_F32, all, out, scaled) ==
          -1);
  for (int i = 0; i < 256; ++i)
    CHECK(out[i] == static_cast<float>(i) / 255.0f);
}

namespace {
/// x.npy and y.npy bound to inputs "image" [4, 1, 2] of float32 and "labels"
/// [4].
struct Bound {
  TempFolder folder;
  int64_t xDims[3] = {4, 1, 2}, labelDims[1] = {4};
  sinter_tensor_desc inputs[2] = {{"image", xDims, 32, SINTER_F32, 3},
                                  {"labels", labelDims, 32, SINTER_I64, 1}};
  BatchOptions options{.labels = 1};
  float x[8];
  int64_t labels[4];

  Result<BatchReader> bind(const std::string &xFile, const std::string &yFile) {
    write(folder / "x.npy", xFile);
    write(folder / "y.npy", yFile);
    auto dataset = openDataset(folder.path(), DataUse::Train);
    if (!dataset.ok())
      return dataset.status();
    return BatchReader::bind(*dataset, inputs, options);
  }
  Status fill(const BatchReader &reader, std::vector<int64_t> rows) {
    void *buffers[] = {x, labels};
    return reader.fill(rows, buffers);
  }
};
} // namespace

TEST_CASE("columns are bound to inputs and converted", "[data][batch]") {
  Bound bound;
  std::string y = npy("|u1", "(5,)", std::string("\0\1\2\0\1", 5));
  auto reader =
      bound.bind(npy(">f8", "(5, 2)",
                     std::string(72, '\0') + "\x3f\xf8" + std::string(6, 0)),
                 y);
  INFO(reader.status().message());
  REQUIRE(reader.ok());
  CHECK(reader->rows() == 5);
  CHECK(reader->batch() == 4);
  REQUIRE(bound.fill(*reader, {4, 3, 0, 1}).ok());
  CHECK(bound.x[1] == 1.5f);
  CHECK(bound.x[0] == 0.0f);
  CHECK(bound.labels[0] == 1);
  CHECK(bound.labels[3] == 1);
  reader = bound.bind(npy("|u1", "(5, 1, 2)", std::string(10, '\xff')), y);
  REQUIRE(reader.ok());
  REQUIRE(bound.fill(*reader, {0, 1}).ok());
  CHECK(bound.x[3] == 1.0f);
  bound.options.scale = false;
  reader = bound.bind(npy("|u1", "(5, 1, 2)", std::string(10, '\xff')), y);
  REQUIRE(reader.ok());
  REQUIRE(bound.fill(*reader, {0, 1}).ok());
  CHECK(bound.x[3] == 255.0f);
}

TEST_CASE("bindings that do not fit name both shapes", "[data][batch]") {
  Bound bound;
  std::string y = npy("|u1", "(5,)", std::string(5, '\0'));
  std::string x = npy("|u1", "(5, 2)", std::string(10, '\0'));
  auto errorOf = [](Result<BatchReader> reader) {
    CHECK(!reader.ok());
    CHECK(reader.status().code() == SINTER_INVALID);
    return reader.status().message();
  };
  std::string error =
      errorOf(bound.bind(npy("|u1", "(5, 3)", std::string(15, '\0')), y));
  CHECK(error.find("[3]") != std::string::npos);
  CHECK(error.find("[1, 2]") != std::string::npos);
  errorOf(bound.bind(npy("|u1", "(5, 2, 1)", std::string(10, '\0')), y));
  error = errorOf(bound.bind(npy("|u1", "(6, 2)", std::string(12, '\0')), y));
  CHECK(error.find("has 5 rows") != std::string::npos);
  error = errorOf(bound.bind(x, npy("|u1", "(5, 1)", std::string(5, '\0'))));
  CHECK(error.find("labels") != std::string::npos);
  bound.inputs[0].name = "x";
  std::filesystem::remove(bound.folder / "x.npy");
  write(bound.folder / "other.npy", x);
  auto dataset = openDataset(bound.folder.path(), DataUse::Train);
  REQUIRE(dataset.ok());
  error = errorOf(BatchReader::bind(*dataset, bound.inputs, bound.options));
  CHECK(error.find("no column for the model's input \"x\" (it has \"other\", "
                   "\"y\")") != std::string::npos);
  std::filesystem::remove(bound.folder / "y.npy");
  dataset = openDataset(bound.folder.path(), DataUse::Train);
  REQUIRE(dataset.ok());
  error = errorOf(BatchReader::bind(*dataset, bound.inputs, bound.options));
  CHECK(error.find("no column for the model's inputs \"x\", \"") !=
        std::string::npos);
}

TEST_CASE("the labels are those of the options, whatever inputs are called",
          "[data][batch]") {
  TempFolder folder;
  int64_t dims[1] = {2};
  sinter_tensor_desc inputs[2] = {{"labels", dims, 8, SINTER_F32, 1},
                                  {"target", dims, 16, SINTER_I64, 1}};
  write(folder / "labels.npy", npy("|u1", "(2,)", "\xff\x33"));
  write(folder / "target.npy", npy("|u1", "(2,)", "\1\3"));
  auto dataset = openDataset(folder.path(), DataUse::Train);
  REQUIRE(dataset.ok());
  float values[2];
  int64_t labels[2];
  void *buffers[] = {values, labels};
  BatchOptions options{.labels = 1, .numClasses = 3};
  auto reader = BatchReader::bind(*dataset, inputs, options);
  REQUIRE(reader.ok());
  CHECK(reader->fill(std::vector<int64_t>{0}, buffers).ok());
  CHECK(values[0] == 1.0f); // 255 / 255
  CHECK(labels[0] == 1);
  CHECK(reader->fill(std::vector<int64_t>{1}, buffers)
            .message()
            .find("row 1 has the label 3") != std::string::npos);
  // Floats are not scaled either.
  inputs[1] = {"target", dims, 8, SINTER_F32, 1};
  float targets[2];
  buffers[1] = targets;
  reader = BatchReader::bind(*dataset, inputs, options);
  REQUIRE(reader.ok());
  CHECK(reader->fill(std::vector<int64_t>{0, 1}, buffers).ok());
  CHECK(targets[1] == 3.0f);
  // Without a loss that takes labels there are no labels.
  options.labels.reset();
  reader = BatchReader::bind(*dataset, inputs, options);
  REQUIRE(reader.ok());
  CHECK(reader->fill(std::vector<int64_t>{0, 1}, buffers).ok());
  CHECK(targets[1] == 3.0f / 255.0f);
}

TEST_CASE("bad values are named with their row", "[data][batch]") {
  Bound bound;
  bound.options.numClasses = 3;
  std::string x = npy("<f4", "(5, 2)", std::string(40, '\0'));
  auto reader =
      bound.bind(x, npy("<i4", "(5,)", bytesOf<int32_t>({0, 1, 2, 3, -1})));
  REQUIRE(reader.ok());
  CHECK(bound.fill(*reader, {0, 1, 2}).ok());
  Status status = bound.fill(*reader, {0, 3});
  CHECK(status.code() == SINTER_INVALID);
  CHECK(
      status.message().find("row 3 has the label 3; the model has the classes "
                            "0 to 2") != std::string::npos);
  CHECK(bound.fill(*reader, {4}).message().find("row 4 has the label -1") !=
        std::string::npos);
  bound.options.hasIgnoreIndex = true;
  bound.options.ignoreIndex = -1;
  reader =
      bound.bind(x, npy("<i4", "(5,)", bytesOf<int32_t>({0, 1, 2, 3, -1})));
  CHECK(!reader->allLabelsIgnored()); // none was read
  CHECK(bound.fill(*reader, {4}).ok());
  CHECK(reader->allLabelsIgnored());
  CHECK(bound.fill(*reader, {4, 1, 4}).ok());
  CHECK(bound.fill(*reader, {4}).ok());
  CHECK(!reader->allLabelsIgnored());

  std::string y = npy("|u1", "(5,)", std::string(5, '\0'));
  std::vector<float> values(10, 1.0f);
  values[7] = NAN;
  reader = bound.bind(npy("<f4", "(5, 2)", bytesOf(values)), y);
  REQUIRE(reader.ok());
  CHECK(bound.fill(*reader, {0, 1, 2}).ok());
  CHECK(bound.fill(*reader, {2, 3, 4}).message().find("row 3 holds nan") !=
        std::string::npos);
  std::vector<double> wide(10, 1.0);
  wide[9] = 0.1;
  bound.options.round = false;
  reader = bound.bind(npy("<f8", "(5, 2)", bytesOf(wide)), y);
  REQUIRE(reader.ok());
  CHECK(bound.fill(*reader, {4})
            .message()
            .find("row 4 holds 0.1 (float64), which the model's float32 cannot "
                  "hold "
                  "exactly") != std::string::npos);
  CHECK(reader->notes().empty());
}

TEST_CASE("bytes are divided by 255, and what is not read is named",
          "[data][batch]") {
  Bound bound;
  std::string y = npy("|u1", "(5,)", std::string(5, '\0'));
  write(bound.folder / "weights.npy", npy("|u1", "(5,)", std::string(5, 'w')));
  auto reader = bound.bind(npy("|u1", "(5, 2)", std::string(10, '\xff')), y);
  REQUIRE(reader.ok());
  REQUIRE(reader->notes().size() == 2);
  CHECK(reader->notes()[0] ==
        bound.folder.path() +
            ": bytes are divided by 255: x (--scale=none keeps them)");
  CHECK(reader->scaledColumns() == "x");
  CHECK(reader->notes()[1] == bound.folder.path() + ": not read: weights");
  REQUIRE(bound.fill(*reader, {0}).ok());
  CHECK(bound.x[0] == 1.0f);
  bound.options.scale = false;
  reader = bound.bind(npy("|u1", "(5, 2)", std::string(10, '\xff')), y);
  REQUIRE(reader.ok());
  CHECK(reader->notes().size() == 1); // what is not read
  REQUIRE(bound.fill(*reader, {0}).ok());
  CHECK(bound.x[0] == 255.0f);
}

TEST_CASE("float64 is rounded to float32, whole numbers beyond 2^24 are not",
          "[data][batch]") {
  Bound bound;
  std::string y = npy("|u1", "(5,)", std::string(5, '\0'));
  std::vector<double> wide = {0.1,       16777215,   33554432, 1e-50,
                              -1.5e30,   16777217.5, 16777217, 1e39,
                              -16777219, INFINITY};
  wide[4] = std::ldexp(1.0, 100);
  auto reader = bound.bind(npy("<f8", "(5, 2)", bytesOf(wide)), y);
  REQUIRE(reader.ok());
  REQUIRE(reader->notes().size() == 1);
  CHECK(reader->notes()[0] == bound.folder.path() +
                                  ": float64 is rounded: x to float32 "
                                  "(--cast=exact forbids this)");
  REQUIRE(bound.fill(*reader, {0, 1, 2}).ok());
  CHECK(bound.x[0] == 0.1f);
  CHECK(bound.x[1] == 16777215.0f);
  CHECK(bound.x[3] == 0.0f);
  CHECK(bound.x[5] == 16777218.0f);
  auto errorOf = [&] { return bound.fill(*reader, {3}).message(); };
  CHECK(errorOf().find("row 3 holds 16777217 (float64)") != std::string::npos);
  wide[6] = 0;
  reader = bound.bind(npy("<f8", "(5, 2)", bytesOf(wide)), y);
  CHECK(errorOf().find("row 3 holds 1e+39 (float64)") != std::string::npos);
  CHECK(bound.fill(*reader, {4}).message().find("-16777219") !=
        std::string::npos);
  // The same for a CSV file, whose numbers have no other type.
  write(bound.folder / "d.csv", "0.1,2,0\n16777217,3,1\n");
  auto table = openDataset(bound.folder / "d.csv", DataUse::Train);
  REQUIRE(table.ok());
  reader = BatchReader::bind(*table, bound.inputs, bound.options);
  REQUIRE(reader.ok());
  REQUIRE(reader->notes().size() == 1);
  CHECK(reader->notes()[0].find("x to float32") != std::string::npos);
  CHECK(bound.fill(*reader, {0}).ok());
  CHECK(bound.fill(*reader, {1}).message().find("row 1 holds 16777217") !=
        std::string::npos);
  bound.options.round = false;
  reader = BatchReader::bind(*table, bound.inputs, bound.options);
  CHECK(bound.fill(*reader, {0}).message().find("row 0 holds 0.1") !=
        std::string::npos);
}
