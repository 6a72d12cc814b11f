//===- SafetensorsTest.cpp ------------------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Safetensors.h"
#include "TestFiles.h"

#include <catch2/catch.hpp>

using namespace sinter::rt;
using namespace testfiles;

static std::string file(const std::string &header, const std::string &data) {
  return littleEndian(header.size(), 8) + header + data;
}

static std::string errorOf(const std::string &path, const std::string &bytes) {
  write(path, bytes);
  auto opened = SafetensorsFile::open(path);
  if (opened.ok())
    return "";
  CHECK(opened.status().code() == SINTER_INVALID);
  CHECK(opened.status().message().find('\n') == std::string::npos);
  CHECK(opened.status().message().find(path) == 0);
  return opened.status().message();
}

TEST_CASE("safetensors: what is written is read", "[train][safetensors]") {
  TempFolder folder;
  std::string path = folder / "w.safetensors";
  std::vector<uint8_t> a = {1, 2, 3, 4, 5, 6}, b(8, 9);
  int64_t aDims[] = {2, 3}, emptyDims[] = {0, 4};
  std::vector<NamedTensor> tensors = {
      {"layer/a \"quoted\"", SINTER_U8, aDims, a},
      {"scalar", SINTER_F64, {}, b},
      {"empty", SINTER_F32, emptyDims, {}},
  };
  REQUIRE(writeSafetensors(path, tensors).ok());
  std::string bytes = read(path);
  CHECK((bytes.size() - a.size() - b.size()) % 64 == 0);
  auto opened = SafetensorsFile::open(path);
  INFO(opened.status().message());
  REQUIRE(opened.ok());
  CHECK(opened->entries().size() == 3);
  const SafetensorsFile::Entry *entry = opened->find("layer/a \"quoted\"");
  REQUIRE(entry);
  CHECK(entry->dims == std::vector<int64_t>{2, 3});
  std::vector<uint8_t> out(6);
  REQUIRE(opened->read(*entry, out).ok());
  CHECK(out == a);
  REQUIRE(opened->find("empty"));

  // Every bit of the data is covered by a checksum that names the tensor.
  for (size_t i = bytes.size() - 14; i < bytes.size(); ++i) {
    std::string bad = bytes;
    bad[i] ^= 0x20;
    write(path, bad);
    auto damaged = SafetensorsFile::open(path);
    REQUIRE(damaged.ok());
    const char *name = i < bytes.size() - 8 ? "layer/a \"quoted\"" : "scalar";
    const auto *hit = damaged->find(name);
    std::vector<uint8_t> data(hit->sizeBytes);
    Status status = damaged->read(*hit, data);
    CHECK(!status.ok());
    CHECK(status.message().find(name) != std::string::npos);
  }
  // Damage of the header does no harm either.
  for (size_t i = 0; i < bytes.size() - 14; ++i) {
    std::string bad = bytes;
    bad[i] ^= 1;
    write(path, bad);
    (void)SafetensorsFile::open(path).ok();
    write(path, bytes.substr(0, i));
    CHECK(!SafetensorsFile::open(path).ok());
  }
}

TEST_CASE("safetensors: the tensors in which two files differ",
          "[train][safetensors]") {
  TempFolder folder;
  std::vector<uint8_t> a = {1, 2, 3, 4}, b = {1, 2, 3, 5};
  int64_t flat[] = {4}, square[] = {2, 2};
  auto file = [&](const char *name, std::vector<NamedTensor> tensors) {
    std::string path = folder / name;
    REQUIRE(writeSafetensors(path, tensors).ok());
    auto opened = SafetensorsFile::open(path);
    REQUIRE(opened.ok());
    return *opened;
  };
  SafetensorsFile one = file("1", {{"same", SINTER_U8, flat, a},
                                   {"bytes", SINTER_U8, flat, a},
                                   {"shape", SINTER_U8, flat, a},
                                   {"dtype", SINTER_U8, flat, a},
                                   {"first", SINTER_U8, flat, a}});
  SafetensorsFile two = file("2", {{"dtype", SINTER_I8, flat, a},
                                   {"shape", SINTER_U8, square, a},
                                   {"bytes", SINTER_U8, flat, b},
                                   {"same", SINTER_U8, flat, a},
                                   {"second", SINTER_U8, flat, a}});
  auto different = differentTensors(one, two);
  REQUIRE(different.ok());
  CHECK(*different ==
        std::vector<std::string>{"bytes", "shape", "dtype", "first", "second"});
  CHECK(differentTensors(one, one)->empty());
}

TEST_CASE("safetensors: headers that are refused", "[train][safetensors]") {
  TempFolder folder;
  std::string path = folder / "w.safetensors";
  auto has = [&](const std::string &bytes, const char *part) {
    std::string error = errorOf(path, bytes);
    INFO(error);
    CHECK(error.find(part) != std::string::npos);
  };
  const std::string f4 =
      "\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]";
  REQUIRE(errorOf(path, file("{\"a\":{" + f4 + "}}", "1234")) == "");
  REQUIRE(errorOf(path,
                  file("{\"__metadata__\":{\"k\":\"v\"},\"a\":{" + f4 + "}}  ",
                       "1234")) == "");
  REQUIRE(errorOf(path, file("{}", "")) == "");

  has("", "too short");
  has("1234567", "too short");
  has(littleEndian(UINT64_MAX, 8), "header length");
  has(littleEndian(3, 8) + "{}", "header length");
  has(std::string("PK\3\4zipped.."), "pickle");
  has(std::string("\x80\2pickled"), "pickle");
  has(file("", ""), "JSON");
  has(file("[1]", ""), "list");
  has(file("{\"a\":1}", ""), "out of place");
  has(file("nonsense", ""), "JSON");
  has(file("{} {}", ""), "JSON");
  has(file("{\"a\":{" + f4 + "},\"a\":{" + f4 + "}}", "1234"), "twice");
  has(file("{\"a\":{\"dtype\":\"F32\"," + f4 + "}}", "1234"), "twice");
  has(file("{\"a\":{" + f4 + ",\"x\":1}}", "1234"), "unknown field");
  has(file("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", ""), "lacks");
  has(file("{\"a\":{\"dtype\":\"Q4\",\"shape\":[1],\"data_offsets\":[0,4]}}",
           "1234"),
      "Q4");
  has(file("{\"a\":{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}}",
           "1234"),
      "not whole");
  has(file("{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}",
           "1234"),
      "negative");
  has(file("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}",
           "1234"),
      "wrong order");
  has(file("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}",
           "1234"),
      "more than two");
  has(file("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}",
           "1234"),
      "lacks");
  has(file("{\"a\":{" + f4 + "}}", "123"), "past the end");
  has(file("{\"a\":{" + f4 + "}}", "12345"), "1 bytes after");
  has(file("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
           "12345678"),
      "gap");
  has(file("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
           "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
           "12345678"),
      "overlaps");
  has(file("{\"a\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,4]}}",
           "1234"),
      "does not fit its shape [1] of float64");
  has(file("{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],"
           "\"data_offsets\":[0,0]}}",
           ""),
      "does not fit its shape");
  has(file("{\"a\":{\"dtype\":\"F32\",\"shape\":[0,18446744073709551616],"
           "\"data_offsets\":[0,0]}}",
           ""),
      "tensor \"a\"");
  has(file("{\"a\":" + std::string(100000, '['), ""), "tensor \"a\"");
  has(file("{\"a\":" + std::string(100000, '{'), ""), "JSON");
  has(file("{\"__metadata__\":{\"a\":{}}}", ""), "nested");
  has(file("{\"__metadata__\":{\"xxh3:a\":\"xyz\"},\"a\":{" + f4 + "}}",
           "1234"),
      "checksum");
}
