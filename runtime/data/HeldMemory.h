//===- HeldMemory.h - the memory that data takes ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Tables and decompressed arrays are held in memory. What all of them take
// together, and what reading them takes meanwhile, is counted before it is
// allocated, so that data which does not fit is refused at once. Thread-safe.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_DATA_HELDMEMORY_H
#define SINTER_RUNTIME_DATA_HELDMEMORY_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>

namespace sinter::rt {

/// A part of the memory that data may take; given back by the destructor.
class HeldMemory {
public:
  HeldMemory() = default;
  HeldMemory(HeldMemory &&other) noexcept;
  HeldMemory &operator=(HeldMemory &&other) noexcept;
  HeldMemory(const HeldMemory &) = delete;
  HeldMemory &operator=(const HeldMemory &) = delete;
  ~HeldMemory();

  /// Makes the part `bytes` large; false, without a change, if all parts
  /// together would then exceed limitBytes().
  bool resize(uint64_t bytes);
  /// Moves `bytes` of this part, which has as many, to a new one.
  HeldMemory split(uint64_t bytes);
  uint64_t bytes() const { return bytes_; }

  /// Of all parts: three quarters of what the process may use.
  static uint64_t limitBytes();
  /// What all parts together have.
  static uint64_t totalBytes();
  /// SINTER_OUT_OF_MEMORY: "NAME: takes ... bytes of memory" with what else is
  /// held, the limit, and `advice`.
  Status refusal(const std::string &name, uint64_t bytes,
                 const std::string &advice) const;

  /// Replaces limitBytes(), for tests; 0: as it was.
  static void setLimitBytes(uint64_t bytes);

private:
  uint64_t bytes_ = 0;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DATA_HELDMEMORY_H
