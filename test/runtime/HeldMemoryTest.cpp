//===- HeldMemoryTest.cpp - the memory that data takes --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/HeldMemory.h"
#include "TestFiles.h"
#include "runtime/data/Dataset.h"

#include <catch2/catch.hpp>
#include <random>

using namespace sinter::rt;
using namespace testfiles;

namespace {

/// A limit for one test.
struct Limit {
  explicit Limit(uint64_t bytes) { HeldMemory::setLimitBytes(bytes); }
  ~Limit() { HeldMemory::setLimitBytes(0); }
};

/// Rows of 1000 random bytes, which deflate cannot shorten.
std::string randomBytes(int rows) {
  std::mt19937 random(7);
  std::string bytes(static_cast<size_t>(rows) * 1000, '\0');
  for (char &byte : bytes)
    byte = static_cast<char>(random());
  return bytes;
}

void writeNpz(const std::string &path, const std::string &bytes) {
  write(path,
        zip({{"x.npy",
              npy("|u1", "(" + std::to_string(bytes.size() / 1000) + ", 1000)",
                  bytes),
              true}}));
}

/// Whole numbers: 80000 bytes of features and 40000 of labels.
void writeCsv(const std::string &path) {
  std::string text;
  for (int row = 0; row < 5000; ++row)
    text += "1,2,0\n";
  write(path, text);
}
constexpr uint64_t csvText = 30000, csvHeld = 120000;

auto open(const std::string &path) { return openDataset(path, DataUse::Train); }

} // namespace

TEST_CASE("held memory: tables and arrays count together", "[data][memory]") {
  TempFolder folder;
  writeCsv(folder / "a.csv");
  writeCsv(folder / "b.csv");
  const std::string bytes = randomBytes(300);
  writeNpz(folder / "c.npz", bytes);
  REQUIRE(HeldMemory::totalBytes() == 0);
  {
    auto table = open(folder / "a.csv");
    REQUIRE(table.ok());
    CHECK(HeldMemory::totalBytes() == csvHeld);
    // The text and the numbers twice, beside the other table.
    Limit limit(csvHeld + csvText + 2 * csvHeld - 1);
    auto second = open(folder / "b.csv");
    CHECK(second.status().code() == SINTER_OUT_OF_MEMORY);
    CHECK(second.status().message().find("b.csv: takes ") != std::string::npos);
    CHECK(second.status().message().find("other data holds 117.2 KiB") !=
          std::string::npos);
    CHECK(HeldMemory::totalBytes() == csvHeld);
    HeldMemory::setLimitBytes(csvHeld + csvText + 2 * csvHeld);
    CHECK(open(folder / "b.csv").ok());
    HeldMemory::setLimitBytes(csvHeld + bytes.size());
    auto array = open(folder / "c.npz");
    CHECK(array.status().code() == SINTER_OUT_OF_MEMORY);
    CHECK(array.status().message().find("unpack it on disk") !=
          std::string::npos);
  }
  CHECK(HeldMemory::totalBytes() == 0);
}

TEST_CASE("held memory: compressed bytes count where they are held",
          "[data][memory]") {
  TempFolder folder;
  const std::string bytes = randomBytes(300);
  writeNpz(folder / "c.npz", bytes);
  auto readBack = [&](const Dataset &dataset) {
    const Column &x = *dataset.find("x");
    std::string back(bytes.size(), '\0');
    REQUIRE(x.bytes
                ->read(x.offsetBytes,
                       {reinterpret_cast<uint8_t *>(back.data()), back.size()})
                .ok());
    CHECK(back == bytes);
  };
  {
    auto dataset = open(folder / "c.npz");
    REQUIRE(dataset.ok());
    const uint64_t all = HeldMemory::totalBytes();
    CHECK(all >= bytes.size());
    readBack(**dataset);
    // Nothing that is opened later depends on how far the reading is.
    CHECK(HeldMemory::totalBytes() == all);
  }
  // With room for the data only, it is inflated in blocks.
  Limit limit(bytes.size() + 1000);
  auto dataset = open(folder / "c.npz");
  REQUIRE(dataset.ok());
  CHECK(HeldMemory::totalBytes() <= bytes.size() + 1000);
  readBack(**dataset);
}

TEST_CASE("held memory: data in memory does not depend on its file",
          "[data][memory]") {
  TempFolder folder;
  writeCsv(folder / "a.csv");
  writeNpz(folder / "c.npz", randomBytes(300));
  writeNpz(folder / "small.npz", randomBytes(1));
  write(folder / "stored.npz",
        zip({{"x.npy", npy("|u1", "(3, 1000)", randomBytes(3)), false}}));
  for (const char *name : {"a.csv", "c.npz", "small.npz", "stored.npz"}) {
    auto dataset = open(folder / name);
    REQUIRE(dataset.ok());
    const Column &x = *(*dataset)->find("x");
    std::vector<uint8_t> last(x.rowBytes());
    // To the end, where it is inflated.
    REQUIRE(x.bytes
                ->read(x.offsetBytes +
                           static_cast<uint64_t>(x.rows - 1) * x.rowBytes(),
                       last)
                .ok());
    INFO(name);
    CHECK((x.bytes->file() == nullptr) != (name == std::string("stored.npz")));
  }
}

TEST_CASE("held memory: a file that changes while it is inflated is an error",
          "[data][memory]") {
  TempFolder folder;
  const std::string path = folder / "c.npz";
  writeNpz(path, randomBytes(300));
  auto dataset = open(path);
  REQUIRE(dataset.ok());
  // Nothing was read yet. The change is in the end of the zip directory.
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file.put('~');
  file.close();
  const Column &x = *(*dataset)->find("x");
  std::vector<uint8_t> bytes(static_cast<uint64_t>(x.rows) * x.rowBytes());
  Status status = x.bytes->read(x.offsetBytes, bytes);
  CHECK(status.message().find("was changed while it was read") !=
        std::string::npos);
  CHECK(x.bytes->file() != nullptr);
}
