//===- Timer.h - how long work takes on a device ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_DEVICE_TIMER_H
#define SINTER_RUNTIME_DEVICE_TIMER_H

#include "runtime/device/Device.h"

#include <functional>
#include <memory>
#include <vector>

namespace sinter::rt {

/// Measures by events of one device, which must outlive the timer.
class Timer {
public:
  static Result<Timer> create(Device &device);

  /// Microseconds that the work queued by `work` on `stream` takes: the minimum
  /// of several runs in a row, after one that does not count. More than 0.
  /// Waits for the stream, even after an error.
  Result<double> leastUs(Stream &stream, const std::function<Status()> &work);

private:
  explicit Timer(Device &device) : device_(&device) {}
  Status queue(Stream &stream, const std::function<Status()> &work);

  Device *device_;
  std::vector<std::unique_ptr<Event>> marks_;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DEVICE_TIMER_H
