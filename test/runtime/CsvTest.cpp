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

TEST_CASE("csv: the label is found by name or number, or said", "[data][csv]") {
  TempFolder folder;
  std::string path = folder / "d.csv";
  DataOptions options;
  auto open = [&](const std::string &text) {
    write(path, text);
    return openDataset(path, DataUse::Train, options);
  };
  auto labelOf = [&](const std::string &text) {
    auto dataset = open(text);
    INFO(dataset.status().message());
    REQUIRE(dataset.ok());
    CHECK((*dataset)->notes.empty());
    return values<int64_t>(*(*dataset)->find("labels")).front();
  };
  auto noteOf = [&](const std::string &text) {
    auto dataset = open(text);
    REQUIRE(dataset.ok());
    REQUIRE((*dataset)->notes.size() == 1);
    return (*dataset)->notes.front();
  };
  auto errorOf = [&](const std::string &text) {
    auto dataset = open(text);
    REQUIRE(!dataset.ok());
    CHECK(dataset.status().code() == SINTER_INVALID);
    return dataset.status().message();
  };
  CHECK(labelOf("y,b,c\n1,2,3\n") == 1);
  CHECK(noteOf("class,b,c\n1,2,3\n") ==
        path + ": no column is called label, labels or y; the last one, 2 "
               "\"c\", is taken as the label (or --label-column=NAME|INDEX)");
  CHECK(noteOf("1,2,3\n").find("the last one, 2, is taken") !=
        std::string::npos);
  CHECK(errorOf("x,y,label\n1,2,3\n") ==
        path + ": columns 2 \"label\" and 1 \"y\" may both be the label; "
               "--label-column=NAME|INDEX says which one is");
  CHECK(errorOf("y,y,b\n1,2,3\n").find("may both be") != std::string::npos);
  options.labelsName = "class"; // the program's own name comes first
  CHECK(labelOf("y,class,label\n1,2,3\n") == 2);
  CHECK(labelOf("a,b,label\n1,2,3\n") == 3);
  options.labelColumn = "y";
  CHECK(labelOf("x,y,label\n1,2,3\n") == 2);
  CHECK(errorOf("1,2,3\n") ==
        path + ": --label-column: no column is called \"y\" or has this number "
               "(columns are numbered 0 to 2)");
  options.labelColumn = "1";
  CHECK(labelOf("1,2,3\n") == 2);
  CHECK(labelOf("a,b,label\n1,2,3\n") == 2);
  CHECK(labelOf("a,1,c\n1,2,3\n") == 2);
  CHECK(errorOf("a,b,1\n1,2,3\n").find("may both be") != std::string::npos);
  for (const char *bad : {"3", "-1", "1.0", "B"}) {
    options.labelColumn = bad;
    CHECK(errorOf("a,b,label\n1,2,3\n").find("--label-column: no column") !=
          std::string::npos);
  }
}

TEST_CASE("csv: columns are matched with those of the training data",
          "[data][csv]") {
  TempFolder folder;
  std::string path = folder / "d.csv";
  DataOptions options;
  auto open = [&](const std::string &text) {
    write(path, text);
    return openDataset(path, DataUse::Eval, options);
  };
  options.labelColumn = "target";
  auto trained = open("target,a,b\n1,2,3\n");
  REQUIRE(trained.ok());
  options.header = (*trained)->header;
  options.labelColumn = "0"; // its position in the other file, not in this one
  auto other = open("b,target,a\n3,1,2\n");
  REQUIRE(other.ok());
  CHECK((*other)->notes.empty());
  CHECK(values<double>(*(*other)->find("x")) == std::vector<double>{2, 3});
  CHECK(values<int64_t>(*(*other)->find("labels")) == std::vector<int64_t>{1});
  auto more = open("b,id,target,a\n3,x,1,2\n");
  INFO(more.status().message());
  REQUIRE(more.ok());
  CHECK(values<double>(*(*more)->find("x")) == std::vector<double>{2, 3});
  REQUIRE((*more)->notes.size() == 1);
  CHECK((*more)->notes.front().find("1 of its columns are not used") !=
        std::string::npos);
  auto bare = open("1,2,3\n");
  REQUIRE(bare.ok());
  REQUIRE((*bare)->notes.size() == 1);
  CHECK((*bare)->notes.front().find("has no header") != std::string::npos);
  CHECK(values<int64_t>(*(*bare)->find("labels")) == std::vector<int64_t>{1});
  CHECK(open("b,target,c\n3,1,2\n").status().message() ==
        path + ": no column is called \"a\", unlike in the training data");
  CHECK(open("b,target,a,a\n3,1,2,2\n").status().message() ==
        path + ": more than one column is called \"a\", unlike in the training "
               "data");
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
