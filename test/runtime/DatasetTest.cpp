//===- DatasetTest.cpp - data SPECs and fingerprints ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Dataset.h"
#include "TestFiles.h"

#include <catch2/catch.hpp>

using namespace sinter::rt;
using namespace testfiles;

static Status statusOf(const std::string &spec) {
  auto dataset = openDataset(spec, DataUse::Train);
  return dataset.ok() ? Status() : dataset.status();
}

TEST_CASE("specs that cannot be opened", "[data]") {
  TempFolder folder;
  for (std::string spec :
       {std::string(), folder.path(), folder / "none", "npz:" + folder.path(),
        std::string("npz:"), "csv:" + (folder / "none.csv"),
        std::string("idx:/nonexistent/x"), std::string("/dev/zero"),
        std::string("csv:/dev/zero")}) {
    INFO(spec);
    Status status = statusOf(spec);
    INFO(status.message());
    CHECK(status.code() == SINTER_INVALID);
    CHECK(!status.message().empty());
    CHECK(status.message().find('\n') == std::string::npos);
  }
  for (std::string spec : {"tfrecord:x", "tokens:x", "images:x"})
    CHECK(statusOf(spec).message().find("not supported yet") !=
          std::string::npos);
  write(folder / "a.csv", "1,2\n");
  CHECK(statusOf(folder.path()).ok());
  write(folder / "b.csv", "1,2\n");
  CHECK(statusOf(folder.path()).message().find("2 .csv files") !=
        std::string::npos);
}

TEST_CASE("the fingerprint follows the content, not the place", "[data]") {
  TempFolder folder;
  std::string text;
  for (int i = 0; i < 100000; ++i)
    text += std::to_string(i % 10) + ",1\n";
  write(folder / "a.csv", text);
  write(folder / "b.csv", text);
  text[text.size() / 2 / 4 * 4] = '9';
  text[0] = '5';
  write(folder / "c.csv", text);
  auto hashOf = [&](const char *name) {
    auto dataset = openDataset(folder / name, DataUse::Train);
    REQUIRE(dataset.ok());
    const DatasetFingerprint print = fingerprint(**dataset);
    CHECK(print.sizeBytes == text.size());
    return print.contentHash;
  };
  CHECK(hashOf("a.csv") == hashOf("b.csv"));
  CHECK(hashOf("a.csv") != hashOf("c.csv"));
}

TEST_CASE("a file that becomes shorter is an error, not a signal", "[data]") {
  TempFolder folder;
  std::string path = folder / "x.npy";
  write(path, npy("|u1", "(1000, 100)", std::string(100000, 'a')));
  auto dataset = openDataset(folder.path(), DataUse::Train);
  REQUIRE(dataset.ok());
  const Column *x = (*dataset)->find("x");
  std::vector<uint8_t> row(100);
  REQUIRE(x->bytes->read(x->offsetBytes + 99900, row).ok());
  std::filesystem::resize_file(path, 5000);
  Status status = x->bytes->read(x->offsetBytes + 99900, row);
  CHECK(!status.ok());
  CHECK(status.message().find(path) == 0);
}
