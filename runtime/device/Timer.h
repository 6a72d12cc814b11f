//===- Timer.h - how long a device takes for something ----------*- C++ -*-===//
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

/// Measures by events of one device, which must outlive it.
class Timer {
public:
  static Result<Timer> create(Device &device);

  /// Microseconds of what `work` queues on `stream`: the least of some times,
  /// one after the other, after one that does not count. More than 0. Has
  /// waited for the stream, whatever came of it.
  Result<double> leastUs(Stream &stream, const std::function<Status()> &work);

private:
  explicit Timer(Device &device) : device_(&device) {}
  Status queue(Stream &stream, const std::function<Status()> &work);

  Device *device_;
  std::vector<std::unique_ptr<Event>> marks_;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DEVICE_TIMER_H
