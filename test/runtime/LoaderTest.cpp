//===- LoaderTest.cpp -----------------------------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Loader.h"
#include "TestFiles.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <thread>

using namespace sinter::rt;
using namespace testfiles;

namespace {
/// Rows 0 .. 102 of one int32 each, in batches of 10; row `bad` is out of
/// range.
struct Counting {
  TempFolder folder;
  int64_t dims[2] = {10, 1};
  sinter_tensor_desc input = {"x", dims, 40, SINTER_I32, 2};
  Result<BatchReader> reader = Status::failed("not made");

  explicit Counting(int64_t bad = -1) {
    std::vector<int64_t> values(103);
    for (int64_t i = 0; i < 103; ++i)
      values[i] = i == bad ? INT64_MAX : i;
    write(folder / "x.npy", npy("<i8", "(103, 1)", bytesOf(values)));
    auto dataset = openDataset(folder.path(), DataUse::Train);
    REQUIRE(dataset.ok());
    reader = BatchReader::bind(*dataset, {&input, 1}, {});
    REQUIRE(reader.ok());
  }
  std::vector<int32_t> take(Loader &loader, int64_t *valid = nullptr) {
    auto batch = loader.next();
    REQUIRE(batch.ok());
    if (valid)
      *valid = batch->validRows;
    const int32_t *values = static_cast<const int32_t *>(batch->inputs[0]);
    return {values, values + 10};
  }
};
} // namespace

TEST_CASE("batches do not depend on workers or prefetch", "[data][loader]") {
  Counting data;
  std::vector<std::vector<int32_t>> expected;
  for (int workers : {1, 2, 5})
    for (int prefetch : {1, 3, 64}) {
      Loader::Options options;
      options.begin = 3;
      options.end = 27;
      options.order = {103, 10, 4, true};
      options.workers = workers;
      options.prefetch = prefetch;
      Loader loader(*data.reader, options);
      std::vector<std::vector<int32_t>> got;
      for (int64_t i = options.begin; i < options.end; ++i)
        got.push_back(data.take(loader));
      if (expected.empty())
        expected = got;
      CHECK(got == expected);
      CHECK(!loader.next().ok());
    }
  std::vector<int64_t> rows(10);
  RowOrder{103, 10, 4, true}.rowsOf(5, rows.data());
  CHECK(expected[2] == std::vector<int32_t>(rows.begin(), rows.end()));
}

TEST_CASE("batches in use stay as they are, in the memory that was given",
          "[data][loader]") {
  Counting data;
  Loader::Options options;
  options.end = 200;
  options.order = {103, 10, 4, true};
  options.workers = 3;
  options.prefetch = 2;
  options.inUse = 3;
  REQUIRE(options.numSlots() == 5);
  std::vector<std::vector<int32_t>> memory(5, std::vector<int32_t>(10));
  for (std::vector<int32_t> &batch : memory)
    options.buffers.push_back({batch.data()});
  std::vector<const int32_t *> taken;
  std::vector<std::vector<int32_t>> contents;
  Loader loader(*data.reader, options);
  for (int64_t i = 0; i < options.end; ++i) {
    auto batch = loader.next();
    REQUIRE(batch.ok());
    taken.push_back(static_cast<const int32_t *>(batch->inputs[0]));
    CHECK(taken.back() == memory[size_t(i % 5)].data());
    contents.push_back({taken.back(), taken.back() + 10});
    if (i % 20 == 19) // the workers fill what they may
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    for (int64_t j = std::max<int64_t>(i - 2, 0); j <= i; ++j)
      REQUIRE(std::equal(contents[size_t(j)].begin(), contents[size_t(j)].end(),
                         taken[size_t(j)]));
  }
  CHECK(!loader.next().ok());
}

TEST_CASE("evaluation covers every row once and pads the last batch",
          "[data][loader]") {
  Counting data;
  Loader::Options options;
  options.end = evaluationBatches(103, 10);
  REQUIRE(options.end == 11);
  options.order = {103, 10, 0, false};
  options.evaluation = true;
  options.workers = 2;
  Loader loader(*data.reader, options);
  int32_t next = 0;
  for (int64_t i = 0; i < options.end; ++i) {
    int64_t valid = 0;
    std::vector<int32_t> values = data.take(loader, &valid);
    CHECK(valid == (i == 10 ? 3 : 10));
    for (int64_t j = 0; j < valid; ++j)
      CHECK(values[j] == next++);
    CHECK(values[9] == next - 1);
  }
  CHECK(next == 103);
}

TEST_CASE("an error comes with its own batch", "[data][loader]") {
  Counting data(57);
  Loader::Options options;
  options.end = 10;
  options.order = {103, 10, 0, false};
  options.workers = 3;
  options.prefetch = 20;
  Loader loader(*data.reader, options);
  for (int i = 0; i < 5; ++i)
    data.take(loader);
  auto batch = loader.next();
  REQUIRE(!batch.ok());
  CHECK(batch.status().message().find("row 57 holds 9223372036854775807") !=
        std::string::npos);
}

TEST_CASE("a loader can be dropped at any time", "[data][loader]") {
  Counting data;
  for (int taken = 0; taken < 6; ++taken) {
    Loader::Options options;
    options.end = 1000000;
    options.order = {103, 10, 4, true};
    options.workers = 4;
    Loader loader(*data.reader, options);
    for (int i = 0; i < taken; ++i)
      data.take(loader);
  }
}
