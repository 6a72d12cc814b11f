//===- AlignedBlock.h - memory for arenas, states and scratch ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_ALIGNEDBLOCK_H
#define SINTER_RUNTIME_BASE_ALIGNEDBLOCK_H

#include "runtime/base/Status.h"

#include <cstdint>

namespace sinter::rt {

/// Owns a zeroed block whose address is a multiple of 64 bytes. Blocks of 4 MiB
/// and more are mapped, aligned to 2 MiB, and ask for huge pages. A block of
/// size 0 has a null address.
class AlignedBlock {
public:
  /// Fails with SINTER_OUT_OF_MEMORY, naming `purpose` ("the arena") and the
  /// size.
  static Result<AlignedBlock> allocate(uint64_t sizeBytes, const char *purpose);

  AlignedBlock() = default;
  AlignedBlock(AlignedBlock &&other) noexcept;
  AlignedBlock &operator=(AlignedBlock &&other) noexcept;
  AlignedBlock(const AlignedBlock &) = delete;
  AlignedBlock &operator=(const AlignedBlock &) = delete;
  ~AlignedBlock();

  uint8_t *data() { return data_; }
  const uint8_t *data() const { return data_; }
  uint64_t sizeBytes() const { return sizeBytes_; }

private:
  uint8_t *data_ = nullptr;
  uint64_t sizeBytes_ = 0;
  uint64_t mappedBytes_ = 0; // 0: from the C library
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_ALIGNEDBLOCK_H
