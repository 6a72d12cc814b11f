//===- NumberTextTest.cpp - numbers, sizes and durations as text ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/NumberText.h"

#include <catch2/catch.hpp>

using namespace sinter::rt;

TEST_CASE("numbers are read whole or not at all") {
  CHECK(readInteger("-12") == -12);
  CHECK(readReal("1e-3") == 1e-3);
  for (const char *text : {"", " 1", "1 ", "+1", "1x", "0x1", "1e400", "nan",
                           "inf", "9223372036854775808"}) {
    INFO(text);
    CHECK_FALSE(readInteger(text));
    if (std::string_view(text) != "9223372036854775808")
      CHECK_FALSE(readReal(text));
  }
}

TEST_CASE("sizes have units and may be fractions") {
  CHECK(readBytes("4096") == 4096);
  CHECK(readBytes("12B") == 12);
  CHECK(readBytes("1.5GiB") == int64_t(3) << 29);
  CHECK(readBytes("2TiB") == int64_t(2) << 40);
  // Exact beyond the 53 bits of a double.
  CHECK(readBytes("9007199254740993") == 9007199254740993);
  CHECK(readBytes("4194304TiB") == int64_t(1) << 62);
  for (const char *text : {"", "B", "GiB", "-1", "8GB", "8gib", "4194305TiB",
                           "1e30", "nanGiB", "-0.5KiB"}) {
    INFO(text);
    CHECK_FALSE(readBytes(text));
  }
}

TEST_CASE("durations need a unit") {
  CHECK(readSeconds("200ms") == 0.2);
  CHECK(readSeconds("5s") == 5.0);
  CHECK(readSeconds("1.5m") == 90.0);
  CHECK(readSeconds("2h") == 7200.0);
  for (const char *text : {"", "5", "ms", "-1s", "5 s", "5d", "infs"}) {
    INFO(text);
    CHECK_FALSE(readSeconds(text));
  }
}

TEST_CASE("sizes as text") {
  CHECK(bytesText(0) == "0 bytes");
  CHECK(bytesText(1023) == "1023 bytes");
  CHECK(bytesText(1536) == "1.5 KiB");
  CHECK(bytesText(uint64_t(12) << 20) == "12.0 MiB");
  CHECK(bytesText(uint64_t(3) << 29) == "1.50 GiB");
  CHECK(bytesText(uint64_t(3) << 39) == "1.50 TiB");
}
