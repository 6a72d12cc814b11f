//===- SeparateSlices.h - values in allocations of their own ----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// For debugging. In an arena, a kernel that reads beyond its operand finds the
// next value, and one that reads too early finds an older value, so that tools
// such as compute-sanitizer see nothing. With SINTER_DEBUG=separate-slices,
// each value of the arena has an allocation of its own, which nothing clears.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_EXEC_SEPARATESLICES_H
#define SINTER_RUNTIME_EXEC_SEPARATESLICES_H

#include "runtime/base/Status.h"
#include "sinter/abi.h"

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace sinter::rt {

/// The values of an entry in the arena of one place. A command that writes
/// bytes begins a value there; what one command reads as one slice, such as the
/// parts of a concatenation, is one value.
class SeparateSlices {
public:
  /// Whether SINTER_DEBUG asks for it; SINTER_INVALID for another word.
  static Result<bool> areWanted();

  SeparateSlices(const sinter_entry &entry, uint32_t place);

  /// Calls `allocate` for the bytes of each value.
  Status allocate(const std::function<Result<uint8_t *>(uint64_t)> &allocate);

  /// The address of slice `slice` of command `command`, which must be in the
  /// arena of the place.
  uint8_t *address(uint32_t command, uint32_t slice) const;

  /// The sizes of the allocations, in the order of the values' first commands.
  std::vector<uint64_t> sizes() const;

private:
  /// Bytes of the arena that one command wrote, or read before any wrote them.
  struct Part {
    uint64_t begin, end;
    size_t whole; // the first part of the value; its own number: this is it
  };
  size_t wholeOf(size_t part) const;
  void join(size_t part, size_t other);

  std::vector<Part> parts_;
  std::map<std::pair<uint32_t, uint32_t>, size_t> partOf_; // command, slice
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> offsetOf_;
  std::map<size_t, std::pair<uint64_t, uint64_t>> rangeOf_; // of a value
  std::map<size_t, uint8_t *> addressOf_;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_EXEC_SEPARATESLICES_H
