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
#include <vector>

namespace sinter::rt {

class Meeting;

/// Bytes in several places, in this order.
using Pieces = std::vector<std::span<uint8_t>>;

class Exchange {
public:
  virtual ~Exchange() = default;

  /// Sends from[p] to each other process p and fills to[p] with what p sends.
  /// Returns when both are done. Nothing is written to `from`. All processes
  /// make the same calls in the same order, each on one thread at a time, and
  /// the lengths agree; pieces need not. Those of this process itself are not
  /// used.
  virtual Status exchange(std::span<const Pieces> from,
                          std::span<const Pieces> to) = 0;

  /// Whether many pieces are as good as one.
  virtual bool takesPieces() const = 0;

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
