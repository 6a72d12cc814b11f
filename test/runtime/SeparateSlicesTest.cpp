//===- SeparateSlicesTest.cpp - values in allocations of their own --------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/SeparateSlices.h"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <memory>

using namespace sinter::rt;

namespace {

/// Commands of an entry, each of which reads and writes bytes of the arena.
struct Commands {
  using Range = std::pair<uint64_t, uint64_t>; // offset, size
  std::vector<std::unique_ptr<std::vector<sinter_slice>>> slices;
  std::vector<sinter_command> commands;

  void add(const std::vector<Range> &reads, const std::vector<Range> &writes) {
    auto own = std::make_unique<std::vector<sinter_slice>>();
    for (const std::vector<Range> *ranges : {&reads, &writes})
      for (auto [offset, size] : *ranges)
        own->push_back({SINTER_SPACE_ARENA, 0, offset, size});
    sinter_command command{};
    command.numSlices = static_cast<uint32_t>(own->size());
    command.numReads = static_cast<uint32_t>(reads.size());
    command.slices = own->data();
    slices.push_back(std::move(own));
    commands.push_back(command);
  }
  SeparateSlices separate(std::vector<std::vector<uint8_t>> &memory) const {
    sinter_entry entry{};
    entry.commands = commands.data();
    entry.numCommands = static_cast<uint32_t>(commands.size());
    SeparateSlices result(entry, 0);
    Status status = result.allocate([&](uint64_t size) -> Result<uint8_t *> {
      memory.emplace_back(size);
      return memory.back().data();
    });
    REQUIRE(status.ok());
    return result;
  }
};

using Sizes = std::vector<uint64_t>;

} // namespace

// Allocations begin at multiples of 256 bytes of the arena.
TEST_CASE("separate slices: values in the same bytes are apart", "[slices]") {
  Commands c;
  c.add({}, {{0, 64}});
  c.add({{0, 64}}, {{64, 32}});
  c.add({{64, 32}}, {{0, 64}}); // the first value has ended
  c.add({{0, 64}, {64, 32}}, {{96, 8}});
  std::vector<std::vector<uint8_t>> memory;
  SeparateSlices slices = c.separate(memory);
  CHECK(slices.sizes() == Sizes{64, 96, 64, 104});
  CHECK(slices.address(0, 0) == slices.address(1, 0));
  CHECK(slices.address(1, 1) == slices.address(2, 0));
  CHECK(slices.address(2, 1) == slices.address(3, 0));
  CHECK(slices.address(0, 0) != slices.address(2, 1));
}

TEST_CASE("separate slices: parts that one command reads are one value",
          "[slices]") {
  Commands c;
  c.add({}, {{16, 16}});
  c.add({}, {{0, 16}});
  c.add({}, {{32, 16}});
  c.add({{0, 48}}, {{64, 16}}); // all three
  c.add({{8, 16}}, {{80, 4}});  // across two
  std::vector<std::vector<uint8_t>> memory;
  SeparateSlices slices = c.separate(memory);
  CHECK(slices.sizes() == Sizes{48, 80, 84});
  uint8_t *whole = slices.address(3, 0);
  CHECK(slices.address(0, 0) == whole + 16);
  CHECK(slices.address(1, 0) == whole);
  CHECK(slices.address(2, 0) == whole + 32);
  CHECK(slices.address(4, 0) == whole + 8);
}

TEST_CASE("separate slices: a result in place stays with its operand",
          "[slices]") {
  Commands c;
  c.add({}, {{0, 64}});
  c.add({{0, 64}}, {{0, 64}});
  c.add({{0, 32}}, {{128, 8}});
  c.add({}, {{0, 32}}); // another value, over half of the bytes
  c.add({{0, 32}}, {{136, 8}});
  c.add({{32, 32}}, {{144, 8}}); // what is left of the first
  std::vector<std::vector<uint8_t>> memory;
  SeparateSlices slices = c.separate(memory);
  CHECK(slices.sizes() == Sizes{64, 136, 32, 144, 152});
  CHECK(slices.address(1, 0) == slices.address(1, 1));
  CHECK(slices.address(2, 0) == slices.address(0, 0));
  CHECK(slices.address(4, 0) == slices.address(3, 0));
  CHECK(slices.address(5, 0) == slices.address(0, 0) + 32);
}

TEST_CASE("separate slices: parts keep the alignment of their offsets",
          "[slices]") {
  Commands c;
  c.add({}, {{320, 192}});
  c.add({}, {{512, 64}});
  c.add({{320, 256}, {400, 0}}, {{384, 0}});
  std::vector<std::vector<uint8_t>> memory;
  SeparateSlices slices = c.separate(memory);
  CHECK(slices.sizes() == Sizes{320}); // from 256
  CHECK(slices.address(0, 0) == memory[0].data() + 64);
  CHECK(slices.address(1, 0) == memory[0].data() + 256);
}

TEST_CASE("separate slices: what is read before it is written, and no bytes",
          "[slices]") {
  Commands c;
  c.add({{0, 16}}, {{16, 16}});
  c.add({{64, 0}}, {{0, 0}});
  std::vector<std::vector<uint8_t>> memory;
  SeparateSlices slices = c.separate(memory);
  CHECK(slices.sizes() == Sizes{16, 32});
  CHECK(slices.address(1, 0) == nullptr);
}

TEST_CASE("separate slices: SINTER_DEBUG asks for them", "[slices]") {
  unsetenv("SINTER_DEBUG");
  CHECK(*SeparateSlices::areWanted() == false);
  setenv("SINTER_DEBUG", "separate-slices", 1);
  CHECK(*SeparateSlices::areWanted() == true);
  setenv("SINTER_DEBUG", "slices", 1);
  Result<bool> wanted = SeparateSlices::areWanted();
  REQUIRE(!wanted.ok());
  CHECK(wanted.status().message() ==
        "SINTER_DEBUG: 'slices' is not fresh-weights, separate-slices or "
        "serial-launches");
  setenv("SINTER_DEBUG", "serial-launches", 1);
  CHECK(*SeparateSlices::areWanted() == false);
  setenv("SINTER_DEBUG", "serial-launches,separate-slices", 1);
  CHECK(*SeparateSlices::areWanted() == true);
  unsetenv("SINTER_DEBUG");
}
