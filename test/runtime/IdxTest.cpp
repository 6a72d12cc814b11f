//===- IdxTest.cpp --------------------------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "TestFiles.h"
#include "runtime/data/Dataset.h"

#include <catch2/catch.hpp>
#include <unistd.h>

using namespace sinter::rt;
using namespace testfiles;

static std::string errorOf(const std::string &spec,
                           DataUse use = DataUse::Train) {
  auto dataset = openDataset(spec, use);
  return dataset.ok() ? "" : dataset.status().message();
}

static std::string counting(size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i)
    text += static_cast<char>(i * 7);
  return text;
}

TEST_CASE("IDX: plain and gzipped pairs, chosen by use", "[data][idx]") {
  TempFolder folder;
  std::string images = counting(5 * 2 * 3);
  write(folder / "train-images-idx3-ubyte.gz", gzip(idx({5, 2, 3}, images)));
  write(folder / "train-labels-idx1-ubyte", idx({5}, "\1\2\3\4\5"));
  write(folder / "t10k-images-idx3-ubyte", idx({2, 2, 3}, counting(12)));
  write(folder / "t10k-labels-idx1-ubyte.gz", gzip(idx({2}, "\6\7")));
  auto check = [&](const std::string &spec, DataUse use, int64_t rows) {
    INFO(spec);
    auto dataset = openDataset(spec, use);
    REQUIRE(dataset.ok());
    const Column *x = (*dataset)->find("x");
    const Column *labels = (*dataset)->find("labels");
    REQUIRE(x);
    REQUIRE(labels);
    CHECK(x->rows == rows);
    CHECK(labels->rows == rows);
    CHECK(x->rowDims == std::vector<int64_t>{2, 3});
    CHECK(x->dtype == SINTER_U8);
    std::vector<uint8_t> row(6);
    REQUIRE(x->bytes->read(x->offsetBytes + 6, row).ok());
    CHECK(std::string(row.begin(), row.end()) == images.substr(6, 6));
  };
  check(folder.path(), DataUse::Train, 5);
  check(folder.path(), DataUse::Eval, 2);
  check("idx:" + folder.path(), DataUse::Eval, 2);
  check(folder / "t10k", DataUse::Train, 2);
  check("idx:" + folder.path() + "/train", DataUse::Eval, 5);
  CHECK(errorOf(folder / "other").find("it has t10k, train") !=
        std::string::npos);
}

TEST_CASE("IDX: broken files end in one line", "[data][idx]") {
  TempFolder folder;
  std::string labels = folder / "a-labels-idx1-ubyte";
  std::string images = folder / "a-images-idx3-ubyte";
  auto errorWith = [&](const std::string &bytes) {
    write(images, bytes);
    std::string error = errorOf(folder.path());
    INFO(error);
    CHECK(error.find(images) != std::string::npos);
    CHECK(error.find('\n') == std::string::npos);
    return error;
  };
  write(labels, idx({2}, "\1\2"));
  std::string good = idx({2, 2, 2}, counting(8));
  errorWith("");
  errorWith("text");
  CHECK(errorWith(std::string("\0\0\7\3", 4) + good.substr(4))
            .find("type code 7") != std::string::npos);
  errorWith(std::string("\0\0\10\0", 4));
  errorWith(std::string("\0\0\10\77", 4) + good.substr(4));
  for (size_t size = 0; size < good.size(); ++size)
    errorWith(good.substr(0, size));
  CHECK(errorWith(good + "x").find("25 bytes where its header promises 24") !=
        std::string::npos);
  errorWith(idx({0xffffffff, 0xffffffff, 0xffffffff}, ""));
  errorWith(idx({0, 0xffffffff, 0xffffffff}, ""));
  CHECK(errorWith(idx({0, 2, 2}, "")).find("no rows") != std::string::npos);
  // Compressed files: truncated in the header, truncated later, damaged, and a
  // decompression bomb.
  std::string large = idx({500, 28, 28}, counting(500 * 784));
  std::string packed = gzip(large);
  errorWith(packed.substr(0, 5));
  CHECK(errorWith(gzip(idx({0x7fffffff, 100, 100}, ""))).find("cannot hold") !=
        std::string::npos);
}

/// Reads the last byte of the images, which needs the whole stream.
static Status readLast(const std::string &folder) {
  auto dataset = openDataset(folder, DataUse::Train);
  if (!dataset.ok())
    return dataset.status();
  const Column *x = (*dataset)->find("x");
  Status status;
  for (int i = 0; i < 200 && status.ok(); ++i) {
    std::vector<uint8_t> last(1);
    status = x->bytes->read(x->offsetBytes + x->rows * x->rowBytes() - 1, last);
    ::usleep(1000); // a checksum is known a little after the last byte
  }
  return status;
}

TEST_CASE("IDX: damage in a compressed stream is found", "[data][idx]") {
  TempFolder folder;
  std::string images = folder / "images-idx3-ubyte.gz";
  write(folder / "labels-idx1-ubyte", idx({500}, std::string(500, '\0')));
  std::string data;
  for (uint32_t i = 0, x = 1; i < 500 * 784; ++i) {
    x = x * 1664525 + 1013904223;
    data += static_cast<char>(x >> 24);
  }
  std::string large = idx({500, 28, 28}, data);
  std::string packed = gzip(large);
  write(images, packed);
  CHECK(readLast(folder.path()).ok());
  auto brokenWith = [&](const std::string &bytes, const char *expected) {
    write(images, bytes);
    Status status = readLast(folder.path());
    INFO(status.message());
    CHECK(!status.ok());
    CHECK(status.message().find(expected) != std::string::npos);
  };
  brokenWith(packed.substr(0, packed.size() / 2), "middle of its compressed");
  brokenWith(packed.substr(0, packed.size() - 3), "middle of its compressed");
  std::string flipped = packed;
  flipped[packed.size() / 2] ^= 0x10;
  brokenWith(flipped, "damaged");
  std::string wrongSum = packed;
  wrongSum[packed.size() - 6] ^= 1;
  brokenWith(wrongSum, "damaged");
  brokenWith(gzip(large + "more"), "more follow");
  brokenWith(gzip(large.substr(0, 300000)), "holds 300000 bytes where");
  // Two members, one after the other, are one file.
  write(images, gzip(large.substr(0, 200000)) + gzip(large.substr(200000)));
  CHECK(readLast(folder.path()).ok());
}
