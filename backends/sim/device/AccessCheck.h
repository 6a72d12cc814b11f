//===- AccessCheck.h - bounds and races of a launch -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Two accesses race if they touch the same byte, at least one writes, not both
// are atomic, and nothing orders them. A barrier of the block orders accesses;
// within a warp, so does the warp's synchronisation. Blocks are ordered by an
// atomic operation of each, with a fence on both sides: after the earlier
// access and before the first operation, and after the second operation and
// before the later access (this is how the last block of a launch reads what
// the others wrote, and how blocks wait for each other). The later operation
// may be a read. Fences and operations are counted for a block, not for each of
// its threads. Shuffles and votes do not order memory. Launches with checks run
// on one worker.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_DEVICE_ACCESSCHECK_H
#define SINTER_BACKENDS_SIM_DEVICE_ACCESSCHECK_H

#include "backends/sim/device/Engine.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace sinter::sim {

/// Sorted, disjoint ranges for looking up addresses.
class AccessRanges {
public:
  explicit AccessRanges(const std::vector<MemoryRange> &ranges);

  enum class Verdict { Inside, Outside, ReadOnly };
  Verdict look(const void *address, uint64_t sizeBytes, bool writes);

  /// The position of `address` relative to the nearest range that begins before
  /// it: "4 bytes after a buffer of 400 bytes".
  std::string whereIs(const void *address) const;

private:
  struct Span {
    uint64_t begin, end;
  };
  static void merge(std::vector<Span> &spans);
  static bool contains(const std::vector<Span> &spans, size_t &last,
                       uint64_t begin, uint64_t end);

  std::vector<Span> buffers_; // as given
  std::vector<Span> all_, writable_;
  size_t lastOfAll_ = 0, lastWritable_ = 0;
};

/// The thread that accesses memory.
struct Accessor {
  uint64_t block;
  uint32_t thread;    // within the block
  uint32_t epoch;     // of the block: a number that never repeats
  uint32_t warpEpoch; // of the thread's warp, likewise
};

/// A race; describes the earlier access.
struct Race {
  bool earlierWrites;
  uint64_t block;
  uint32_t thread;
  bool isReadOnlyPath; // read as constant data, and written, in one launch
};

/// The last accesses of each word of memory in this launch.
class RaceShadow {
public:
  /// `ordersBlocks`: the kernel has atomic operations, which may order accesses
  /// of different blocks.
  void beginLaunch(uint64_t numBlocks, bool ordersBlocks);
  void endLaunch();

  /// Records a fence for the device.
  void fence(uint64_t block);
  /// Records an access; true if it races with an earlier one.
  bool touch(uint64_t address, uint64_t sizeBytes, uint32_t flags,
             const Accessor &who, bool isShared, Race &race);

private:
  struct Who {
    uint32_t block = 0, epoch = 0, warpEpoch = 0, time = 0;
    uint16_t thread = 0;
    uint8_t bytes = 0; // mask of the word's bytes; 0: no access
    bool isAtomic = false;
    bool isMany = false;       // also other threads of the same warp
    bool isManyWarps = false;  // also other warps
    bool isManyBlocks = false; // also other blocks
  };
  struct Cell {
    uint32_t launch = 0;
    uint32_t block = 0; // for shared memory, which every block starts afresh
    bool isReadOnly = false;
    bool isSplit = false; // its bytes have their own cells
    Who writer, reader;
  };
  static constexpr uint64_t kPageBytes = 4096;
  struct Page {
    Cell cells[kPageBytes / 4];
  };

  Page &page(uint64_t number);
  bool isOrdered(const Who &earlier, const Accessor &who) const;
  bool touchCell(Cell &cell, uint8_t bytes, uint32_t flags, const Accessor &who,
                 bool isShared, Race &race);
  bool touchBytes(uint64_t word, Cell &cell, uint8_t bytes, uint32_t flags,
                  const Accessor &who, bool isShared, Race &race);
  bool readersRace(const Cell &cell, const Accessor &who) const;
  bool blockRaces(const Who &reader, const Accessor &who) const;
  void addReader(Cell &cell, const Who &now, const Accessor &who);

  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  /// The cells of bytes, by the word's address, for words that are accessed in
  /// parts. The parts may belong to neighbouring threads.
  std::unordered_map<uint64_t, std::array<Cell, 4>> split_;
  uint64_t lastNumber_ = UINT64_MAX;
  Page *lastPage_ = nullptr;
  uint32_t launch_ = 0, time_ = 0;
  /// A fence, and the first atomic operation after it that writes: it publishes
  /// what came before the fence.
  struct Publication {
    uint32_t fence, operation;
  };
  struct Order {
    uint32_t fence = 0, atomic = 0; // when the block did these last; 0: never
    std::vector<Publication> published; // in order
    /// The atomic operation before the last fence: what was published before it
    /// is seen after the fence.
    uint32_t seen = 0;
  };
  std::vector<Order> orders_; // by block
  bool ordersBlocks_ = false;
  /// If `ordersBlocks_`: one reader per block, for words that several blocks
  /// read.
  std::unordered_map<const Cell *, std::vector<Who>> readers_;
};

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_DEVICE_ACCESSCHECK_H
