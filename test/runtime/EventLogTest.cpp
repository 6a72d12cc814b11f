//===- EventLogTest.cpp - checksums and files of events -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/EventLog.h"
#include "TestFiles.h"

#include <catch2/catch.hpp>

using namespace sinter::rt;
using namespace testfiles;

static uint32_t crcOf(const std::string &text) {
  return crc32c({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

TEST_CASE("checksums are those of RFC 3720") {
  CHECK(crcOf("") == 0);
  CHECK(crcOf("123456789") == 0xe3069283);
  CHECK(crcOf(std::string(32, '\0')) == 0x8a9136aa);
  CHECK(crcOf(std::string(32, '\xff')) == 0x62a8ab43);
}

TEST_CASE("every run has a file of its own, also in the same second") {
  TempFolder folder;
  for (int i = 0; i < 3; ++i) {
    EventLog log;
    REQUIRE(log.create(folder / "events", 1).ok());
    log.step(1, 0.5f, 0.1f, {});
  }
  int count = 0;
  for (auto &entry : std::filesystem::directory_iterator(folder / "events")) {
    ++count;
    CHECK(entry.path().filename().string().find("events.out.tfevents.") == 0);
    CHECK(entry.file_size() > 0);
  }
  CHECK(count == 3);
}

TEST_CASE("the newest run's file is the last one, whatever the clock says") {
  TempFolder folder;
  std::ofstream(folder / "events.out.tfevents.9000000000.000.sinter") << "x";
  std::ofstream(folder / "events.out.tfevents.9999999999.000.other") << "x";
  EventLog log;
  REQUIRE(log.create(folder.path(), 1).ok());
  CHECK(std::filesystem::exists(folder /
                                "events.out.tfevents.9000000000.001.sinter"));
}

TEST_CASE("a folder that cannot be made is an error") {
  TempFolder folder;
  std::ofstream(folder / "file") << "x";
  EventLog log;
  Status status = log.create(folder / "file/events", 1);
  CHECK(status.message().find("file/events") != std::string::npos);
}
