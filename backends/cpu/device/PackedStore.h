//===- PackedStore.h - operands that are packed at load ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A model has hundreds of packed weights of some hundred KB each. Alone they
// would lie on small pages, and reading them once per run would spend as much
// time on address translation as on the products; side by side in large blocks
// they lie on huge ones. Equal ones of a process, as those of a library's
// instances, are one.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_PACKEDSTORE_H
#define SINTER_BACKENDS_CPU_DEVICE_PACKEDSTORE_H

#include "runtime/base/AlignedBlock.h"

#include <functional>
#include <memory>

namespace sinter::cpu {

/// Bytes on a cache line's border; the block that they are part of lives until
/// the last of its parts is dropped.
using PackedBytes = std::shared_ptr<uint8_t>;

/// Not for several threads at once.
class PackedStore {
public:
  /// What `fill` writes into `sizeBytes` bytes, to be read only; perhaps where
  /// another store of the process has the same bytes. Throws std::bad_alloc.
  PackedBytes make(uint64_t sizeBytes,
                   const std::function<void(uint8_t *)> &fill);

  /// Bytes of all stores of the process together.
  static uint64_t processBytes();

private:
  PackedBytes allocate(uint64_t sizeBytes);

  std::shared_ptr<rt::AlignedBlock> block_; // parts are taken from it
  uint64_t usedBytes_ = 0;
};

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_PACKEDSTORE_H
