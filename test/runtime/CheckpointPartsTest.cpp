//===- CheckpointPartsTest.cpp - checkpoints that processes write together ===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "TestFiles.h"
#include "runtime/base/File.h"
#include "runtime/base/Hash.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/CheckpointFile.h"

#include <catch2/catch.hpp>
#include <cstring>

using namespace sinter::rt;
using namespace testfiles;

namespace {

/// "w" is whole; "m/w", of 5 x 2 floats, is cut into parts.
struct Parts {
  TempFolder folder;
  Manifest manifest;
  std::vector<float> whole = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

  Parts() {
    const int64_t dims[] = {4};
    const std::vector<uint8_t> w(4, 7);
    manifest.model = "m";
    manifest.tensors = {{"w", hash64(w)}};
    REQUIRE(
        writeSafetensors(path(payloadName),
                         std::vector<NamedTensor>{{"w", SINTER_U8, dims, w}})
            .ok());
    manifest.payloadBytes = *fileSize(path(payloadName));
  }
  std::string path(const std::string &name) { return folder / name; }

  /// What process `number` of `count` has of "m/w".
  void add(uint32_t number, uint32_t count, size_t first, size_t end) {
    const int64_t dims[] = {static_cast<int64_t>(end - first)};
    std::vector<uint8_t> bytes((end - first) * sizeof(float));
    std::memcpy(bytes.data(), whole.data() + first, bytes.size());
    Manifest::PartFile file;
    file.name = partFileName(number, count);
    file.parts = {{"m/w", {5, 2}, first, end - first, hash64(bytes)}};
    REQUIRE(writeSafetensors(
                path(file.name),
                std::vector<NamedTensor>{{"m/w", SINTER_F32, dims, bytes}})
                .ok());
    file.bytes = *fileSize(path(file.name));
    manifest.partFiles.push_back(file);
  }
  Result<std::unique_ptr<CheckpointFile>> open() {
    return CheckpointFile::open(folder.path(), manifest);
  }
  /// Why it cannot be opened.
  std::string refusal() {
    auto file = open();
    REQUIRE(!file.ok());
    CHECK(file.status().code() == SINTER_FAILED);
    return file.status().message();
  }
};

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("checkpoint parts: readers see whole tensors",
          "[train][checkpoint]") {
  Parts parts;
  // Not in their order; one process has nothing.
  parts.add(1, 3, 4, 10);
  parts.add(2, 3, 10, 10);
  parts.add(0, 3, 0, 4);
  auto file = parts.open();
  REQUIRE(file.ok());
  REQUIRE((*file)->entries().size() == 2);
  const TensorFile::Entry *entry = (*file)->find("m/w");
  REQUIRE(entry);
  CHECK(entry->dims == std::vector<int64_t>{5, 2});
  CHECK(entry->dtype == SINTER_F32);
  std::vector<float> read(10, -1);
  REQUIRE((*file)
              ->read(*entry, {reinterpret_cast<uint8_t *>(read.data()), 40})
              .ok());
  CHECK(read == parts.whole);
  CHECK((*file)->find("w")->sizeBytes == 4);
}

TEST_CASE("checkpoint parts: what is not the whole is refused",
          "[train][checkpoint]") {
  auto [first, second] = GENERATE(std::pair(4, 5), std::pair(4, 3));
  Parts parts;
  parts.add(0, 2, 0, size_t(first));
  parts.add(1, 2, size_t(second), 10); // a gap, or an overlap
  CHECK(contains(parts.refusal(),
                 "the parts of tensor \"m/w\" are not the whole of it"));
}

TEST_CASE("checkpoint parts: files that are not those of the manifest",
          "[train][checkpoint]") {
  Parts parts;
  parts.add(0, 2, 0, 4);
  parts.add(1, 2, 4, 10);
  const std::string second = parts.path(partFileName(1, 2));
  SECTION("absent") {
    std::filesystem::remove(second);
    CHECK(contains(parts.refusal(), "state-00001-of-00002.safetensors"));
  }
  SECTION("of another run") {
    parts.manifest.partFiles[1].parts[0].hash ^= 1;
    CHECK(contains(parts.refusal(),
                   "tensor \"m/w\" does not match its manifest"));
  }
  SECTION("of another shape") {
    parts.manifest.partFiles[1].parts[0].dims = {10};
    CHECK(contains(parts.refusal(),
                   "tensor \"m/w\" does not match its manifest"));
  }
  SECTION("longer") {
    std::string bytes = read(second);
    write(second, bytes + "x");
    (void)parts.refusal();
  }
  SECTION("a flipped bit") {
    std::string bytes = read(second);
    bytes.back() ^= 4;
    write(second, bytes);
    auto file = parts.open();
    REQUIRE(file.ok()); // its bytes are read later
    std::vector<uint8_t> out(40);
    Status status = (*file)->read(*(*file)->find("m/w"), out);
    CHECK(!status.ok());
    CHECK(contains(status.message(), "m/w"));
  }
}

TEST_CASE("checkpoint parts: the manifest names them", "[train][checkpoint]") {
  Parts parts;
  // Without parts, older programs can read it.
  CHECK(contains(manifestText(parts.manifest), "\"format\": 2,"));
  parts.add(0, 1, 0, 10);
  const std::string text = manifestText(parts.manifest);
  CHECK(contains(text, "\"format\": 3,"));
  Result<Manifest> again = parseManifest(text);
  REQUIRE(again.ok());
  CHECK(manifestText(*again) == text);
  parts.manifest = *again;
  CHECK(parts.open().ok());
  // It reads no file outside of the checkpoint.
  parts.manifest.partFiles[0].name = "../state.safetensors";
  CHECK(!parseManifest(manifestText(parts.manifest)).ok());
  CHECK(
      !parsePartFile("{\"file\": \"a/b\", \"bytes\": 1, \"parts\": []}").ok());
  CHECK(!parsePartFile("[]").ok());
}
