//===- PackedStore.h - operands that are packed at load ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A model has hundreds of packed weights of some hundred KB each. Separately
// allocated, they would lie on small pages, and reading them once per run would
// take as much time for address translation as for the products. Packed
// together in large blocks, they lie on huge pages. Equal weights in a process,
// such as those of several instances of a library, are stored once.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_PACKEDSTORE_H
#define SINTER_BACKENDS_CPU_DEVICE_PACKEDSTORE_H

#include "runtime/base/AlignedBlock.h"

#include <functional>
#include <memory>

namespace sinter::cpu {

/// Bytes aligned to a cache line. The block that contains them lives until the
/// last of its parts is released.
using PackedBytes = std::shared_ptr<uint8_t>;

/// Not thread-safe.
class PackedStore {
public:
  /// Returns read-only bytes with the contents that `fill` writes to
  /// `sizeBytes` bytes. They may be shared with another store of the process.
  /// Throws std::bad_alloc.
  PackedBytes make(uint64_t sizeBytes,
                   const std::function<void(uint8_t *)> &fill);

  /// The total bytes of all stores of the process.
  static uint64_t processBytes();

private:
  PackedBytes allocate(uint64_t sizeBytes);

  std::shared_ptr<rt::AlignedBlock> block_; // parts are taken from it
  uint64_t usedBytes_ = 0;
};

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_PACKEDSTORE_H
