//===- Timer.cpp - how long work takes on a device ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/Timer.h"

#include <algorithm>

using namespace sinter::rt;

static constexpr int timesMeasured = 5;

Result<Timer> Timer::create(Device &device) {
  Timer timer(device);
  for (int i = 0; i <= timesMeasured; ++i) {
    Result<std::unique_ptr<Event>> mark = device.createEvent(EventUse::Timing);
    if (!mark.ok())
      return mark.status();
    timer.marks_.push_back(std::move(*mark));
  }
  return timer;
}

/// Queues without a pause: the device gets the next piece of work before it has
/// finished the last one, so that the host's own time is not measured.
Status Timer::queue(Stream &stream, const std::function<Status()> &work) {
  SINTER_RETURN_IF_ERROR(work());
  for (std::unique_ptr<Event> &mark : marks_) {
    SINTER_RETURN_IF_ERROR(device_->record(*mark, stream));
    if (&mark != &marks_.back())
      SINTER_RETURN_IF_ERROR(work());
  }
  return {};
}

Result<double> Timer::leastUs(Stream &stream,
                              const std::function<Status()> &work) {
  Status queued = queue(stream, work);
  Status waited = device_->synchronize(stream);
  for (const Status &status : {queued, waited})
    if (!status.ok())
      return status;
  double least = 0;
  for (size_t i = 0; i + 1 < marks_.size(); ++i) {
    Result<double> us = device_->elapsedUs(*marks_[i], *marks_[i + 1]);
    if (!us.ok())
      return us.status();
    least = i == 0 ? *us : std::min(least, *us);
  }
  return std::max(least, 1e-3);
}
