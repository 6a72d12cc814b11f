//===- Exchange.h - moves bytes between processes ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What sums over the processes of a job are made of, for devices whose memory
// is the host's.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_COLLECTIVE_EXCHANGE_H
#define SINTER_RUNTIME_COLLECTIVE_EXCHANGE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace sinter::rt {

class Meeting;

class Exchange {
public:
  virtual ~Exchange() = default;

  /// Sends from[p] to each other process p and fills to[p] with what p sends.
  /// Returns when both are done. Empty ranges are not sent. All processes make
  /// the same calls in the same order, each on one thread at a time, and the
  /// lengths agree. The ranges of this process itself are not used.
  virtual Status exchange(std::span<const std::span<const uint8_t>> from,
                          std::span<const std::span<uint8_t>> to) = 0;

  /// What carries the bytes, in words.
  virtual std::string transport() const = 0;

  /// From any thread: calls in progress and later ones fail soon.
  virtual void abort() = 0;
};

/// Connects all processes of the meeting with each other; each makes the call.
using MakeExchange =
    std::function<Result<std::unique_ptr<Exchange>>(Meeting &meeting)>;

} // namespace sinter::rt

#endif // SINTER_RUNTIME_COLLECTIVE_EXCHANGE_H
