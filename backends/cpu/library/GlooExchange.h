//===- GlooExchange.h - processes that exchange bytes by Gloo ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Gloo connects each process with each other one by TCP. It learns their
// addresses at the meeting.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_LIBRARY_GLOOEXCHANGE_H
#define SINTER_BACKENDS_CPU_LIBRARY_GLOOEXCHANGE_H

#include "runtime/collective/Exchange.h"

namespace sinter::cpu {

class GlooExchange {
public:
  virtual ~GlooExchange() = default;

  /// As Exchange::exchange; each piece is a message, which has to have the same
  /// length on both sides. Calls `meanwhile` while the bytes travel, and
  /// returns its error if it fails.
  virtual rt::Status exchange(std::span<const rt::Pieces> from,
                              std::span<const rt::Pieces> to,
                              const std::function<rt::Status()> &meanwhile) = 0;
  /// As Exchange::abort.
  virtual void abort() = 0;
};

/// Waits for the other processes of the meeting, each of which calls this.
/// `meeting` may end before the result.
rt::Result<std::unique_ptr<GlooExchange>> joinGloo(rt::Meeting &meeting);

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_LIBRARY_GLOOEXCHANGE_H
