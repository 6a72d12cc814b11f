//===- NpyTest.cpp - .npy and .npz files ----------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "TestFiles.h"
#include "runtime/data/Dataset.h"

#include <catch2/catch.hpp>

using namespace sinter::rt;
using namespace testfiles;

static std::string errorOf(const std::string &spec) {
  auto dataset = openDataset(spec, DataUse::Train);
  return dataset.ok() ? "" : dataset.status().message();
}

TEST_CASE("npy: a directory of arrays", "[data][npy]") {
  TempFolder folder;
  write(folder / "x.npy",
        npy("<f4", "(2, 3)", bytesOf<float>({1, 2, 3, 4, 5, 6})));
  write(folder / "y.npy", npy("<i8", "(2,)", bytesOf<int64_t>({7, 8})));
  auto dataset = openDataset(folder.path(), DataUse::Train);
  REQUIRE(dataset.ok());
  const Column *x = (*dataset)->find("x");
  REQUIRE(x);
  CHECK(x->dtype == SINTER_F32);
  CHECK(x->rows == 2);
  CHECK(x->rowDims == std::vector<int64_t>{3});
  std::vector<uint8_t> row(12);
  REQUIRE(x->bytes->read(x->offsetBytes + 12, row).ok());
  float values[3];
  std::memcpy(values, row.data(), 12);
  CHECK(values[2] == 6);
  REQUIRE((*dataset)->find("y"));
  CHECK((*dataset)->find("y")->rowDims.empty());
  CHECK(openDataset("npy:" + folder.path(), DataUse::Eval).ok());
}

TEST_CASE("npy: headers that are refused", "[data][npy]") {
  TempFolder folder;
  std::string path = folder / "x.npy";
  auto errorWith = [&](const std::string &bytes) {
    write(path, bytes);
    std::string error = errorOf(folder.path());
    INFO(error);
    CHECK(error.find(path) != std::string::npos);
    CHECK(error.find('\n') == std::string::npos);
    return error;
  };
  auto has = [](const std::string &text, const char *part) {
    return text.find(part) != std::string::npos;
  };
  std::string four(16, '\0');
  CHECK(errorOf("npy:" + folder.path()) ==
        folder.path() + ": no .npy files in it");
  errorWith("");
  errorWith("\x93NUMPY");
  CHECK(has(errorWith("\x80\x04junk"), "pickle"));
  CHECK(has(errorWith(npy("|O", "(4,)", four)), "Python objects"));
  CHECK(
      has(errorWith(npyWithHeader("{'descr': [('a', '<f4')], 'fortran_order': "
                                  "False, 'shape': (4,), }",
                                  four)),
          "structured"));
  CHECK(has(errorWith(npyWithHeader("{'descr': '<f4', 'fortran_order': True, "
                                    "'shape': (2, 2), }",
                                    four)),
            "Fortran order"));
  CHECK(has(errorWith(npy("<c8", "(2,)", four)), "dtype"));
  CHECK(has(errorWith(npy("|f4", "(4,)", four)), "dtype"));
  CHECK(has(errorWith(npy("<f4", "()", std::string(4, 0))), "scalar"));
  CHECK(has(errorWith(npy("<f4", "(0, 3)", "")), "no rows"));
  CHECK(has(errorWith(npy("<f4", "(5,)", four)), "does not fit its shape [5]"));
  CHECK(has(errorWith(npy("<f4", "(4,)", four + "x")), "does not fit"));
  errorWith(npy("<f4", "(9223372036854775807, 9223372036854775807)", four));
  errorWith(npy("<f4", "(0, 9223372036854775807, 4)", ""));
  errorWith(npy("<f4", "(99999999999999999999,)", four));
  errorWith(npy("<f4", "(-4,)", four));
  for (const char *dict :
       {"", "{", "{}", "{'descr': '<f4'}", "__import__('os').system('true')",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), } + 1",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4)(, }",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': "
        "(4,)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (4,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), 'x': 1}",
        "{'descr': '<f4, 'fortran_order': False, 'shape': (4,), }"})
    errorWith(npyWithHeader(dict, four));
  // A header that claims a gigabyte.
  errorWith(std::string("\x93NUMPY\x02\x00", 8) + littleEndian(1u << 30, 4) +
            four);
  std::string good = npy("<f4", "(4,)", four);
  for (size_t size = 0; size < good.size(); ++size)
    errorWith(good.substr(0, size));
}

TEST_CASE("npy: big-endian and one-dimensional Fortran order", "[data][npy]") {
  TempFolder folder;
  write(
      folder / "x.npy",
      npyWithHeader("{'descr': '>i4', 'fortran_order': True, 'shape': (2,), }",
                    bigEndian32(1) + bigEndian32(2)));
  auto dataset = openDataset(folder.path(), DataUse::Train);
  REQUIRE(dataset.ok());
  CHECK((*dataset)->find("x")->bigEndian);
}

TEST_CASE("npz: stored and deflated members", "[data][npz]") {
  TempFolder folder;
  std::vector<float> values(6000);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i % 17);
  std::string image = npy("<f4", "(3, 2000)", bytesOf(values));
  std::string labels = npy("|u1", "(3,)", "\1\2\3");
  write(folder / "d.npz", zip({{"image.npy", image, true},
                               {"labels.npy", labels, false},
                               {"notes.txt", "text", false}}));
  for (std::string spec :
       {"npz:" + (folder / "d.npz"), folder / "d.npz", folder.path()}) {
    auto dataset = openDataset(spec, DataUse::Train);
    INFO(dataset.status().message());
    REQUIRE(dataset.ok());
    CHECK((*dataset)->columns.size() == 2);
    const Column *column = (*dataset)->find("image");
    REQUIRE(column);
    std::vector<uint8_t> row(8000);
    REQUIRE(column->bytes->read(column->offsetBytes + 16000, row).ok());
    CHECK(std::memcmp(row.data(), values.data() + 4000, 8000) == 0);
    column = (*dataset)->find("labels");
    REQUIRE(column);
    std::vector<uint8_t> three(3);
    REQUIRE(column->bytes->read(column->offsetBytes, three).ok());
    CHECK(three == std::vector<uint8_t>{1, 2, 3});
  }
}

TEST_CASE("npz: a member that does not match its checksum is not read",
          "[data][npz]") {
  TempFolder folder;
  std::string values(3 << 20, 'v');
  for (bool deflate : {false, true}) {
    std::string file =
        zip({{"x.npy", npy("|u1", "(3, 1048576)", values), deflate},
             {"labels.npy", npy("|u1", "(3,)", "abc"), deflate}});
    size_t last = values.size() + 100; // of x's values, beyond what is read
    if (deflate)
      last = file.find("PK\x01\x02") + 16; // the checksum itself
    file[last] ^= 1;
    write(folder / "d.npz", file);
    auto dataset = openDataset(folder / "d.npz", DataUse::Train);
    REQUIRE(dataset.ok());
    std::vector<uint8_t> row(3);
    for (int i = 0; i < 2; ++i) { // the second time, too
      const Column *x = (*dataset)->find("x");
      Status status = x->bytes->read(x->offsetBytes + values.size() - 3, row);
      CHECK(status.code() == SINTER_INVALID);
      CHECK(status.message().find("d.npz: x: its checksum") !=
            std::string::npos);
    }
    const Column *labels = (*dataset)->find("labels");
    CHECK(labels->bytes->read(labels->offsetBytes, row).ok());
  }
}

TEST_CASE("npz: broken archives end in one line", "[data][npz]") {
  TempFolder folder;
  std::string path = folder / "d.npz";
  std::string good =
      zip({{"x.npy", npy("<f4", "(2, 2)", std::string(16, 'a')), true},
           {"y.npy", npy("|u1", "(2,)", "ab"), false}});
  write(path, good);
  REQUIRE(errorOf(path) == "");
  for (size_t size = 0; size < good.size(); ++size) {
    write(path, good.substr(0, size));
    std::string error = errorOf(path);
    CHECK(error.find(path) == 0);
  }
  // Every byte in turn: opened or refused, never a crash.
  for (size_t i = 0; i < good.size(); ++i)
    for (int bit : {0, 3, 7}) {
      std::string bad = good;
      bad[i] ^= 1 << bit;
      write(path, bad);
      auto dataset = openDataset(path, DataUse::Train);
      if (dataset.ok())
        for (const Column &column : (*dataset)->columns) {
          std::vector<uint8_t> row(column.rowBytes());
          (void)column.bytes->read(column.offsetBytes, row).ok();
        }
    }
  write(path, zip({{"a.txt", "text", false}}));
  CHECK(errorOf(path) == path + ": holds no arrays");
  write(path, zip({{"x.npy", npy("|u1", "(1,)", "a"), false},
                   {"x.npy", npy("|u1", "(1,)", "b"), false}}));
  CHECK(errorOf(path).find("twice") != std::string::npos);
  // A deflated member whose checksum is wrong.
  std::string flipped = good;
  size_t crcAt = good.find("PK\x01\x02") + 16;
  flipped[crcAt] ^= 1;
  write(path, flipped);
  CHECK(errorOf(path).find("checksum") != std::string::npos);
}
