//===- CsvTest.cpp --------------------------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "TestFiles.h"
#include "runtime/data/Dataset.h"

#include <catch2/catch.hpp>

using namespace sinter::rt;
using namespace testfiles;

template <typename T> static std::vector<T> values(const Column &column) {
  std::vector<uint8_t> bytes(column.rows * column.rowBytes());
  REQUIRE(column.bytes->read(column.offsetBytes, bytes).ok());
  std::vector<T> result(bytes.size() / sizeof(T));
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

TEST_CASE("csv: header, label column, line ends", "[data][csv]") {
  TempFolder folder;
  std::string path = folder / "d.csv";
  auto open = [&](const std::string &text) {
    write(path, text);
    auto dataset = openDataset("csv:" + path, DataUse::Train);
    INFO(dataset.status().message());
    REQUIRE(dataset.ok());
    return *dataset;
  };
  auto plain = open("1,2.5,0\n3,-4e1,2");
  CHECK(values<double>(*plain->find("x")) ==
        std::vector<double>{1, 2.5, 3, -40});
  CHECK(values<int64_t>(*plain->find("labels")) == std::vector<int64_t>{0, 2});
  auto named =
      open("\xef\xbb\xbf\"a, b\",label,c\r\n1,7,\"2\"\r\n\r\n +3 ,8,4\r\n");
  CHECK(values<double>(*named->find("x")) == std::vector<double>{1, 2, 3, 4});
  CHECK(values<int64_t>(*named->find("labels")) == std::vector<int64_t>{7, 8});
  auto real = open("1,0.5\n2,1\n");
  CHECK(values<double>(*real->find("labels")) == std::vector<double>{0.5, 1});
  CHECK(real->find("labels")->decimal);
}

TEST_CASE("csv: what is wrong is said with its line", "[data][csv]") {
  TempFolder folder;
  std::string path = folder / "d.csv";
  auto errorWith = [&](const std::string &text) {
    write(path, text);
    auto dataset = openDataset(path, DataUse::Train);
    CHECK(!dataset.ok());
    return dataset.status().message();
  };
  CHECK(errorWith("") == path + ": holds no rows");
  CHECK(errorWith("a,b\n") == path + ": holds no rows");
  CHECK(errorWith("1,2\n3\n") ==
        path + ":2: has 1 fields, the first line has 2");
  CHECK(errorWith("1,2\n3,x\x1b[2J\n") ==
        path + ":2: field 2 is not a finite number: \"x?[2J\"");
  CHECK(errorWith("1,2\n,4\n") ==
        path + ":2: field 1 is not a finite number: \"\"");
  for (const char *field : {"nan", "inf", "1e999", "0x10", "1;2", "1 2"})
    CHECK(errorWith(std::string("a,b\n1,2\n") + field + ",4\n")
              .find(":3: field 1") != std::string::npos);
  CHECK(errorWith("1\n2\n").find("one column") != std::string::npos);
}
