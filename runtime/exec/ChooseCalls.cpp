//===- ChooseCalls.cpp - the fastest way of each library call -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/Timer.h"
#include "runtime/exec/Executor.h"

#include <algorithm>
#include <limits>
#include <optional>

using namespace sinter::rt;

/// Microseconds of each way of `call`; infinity if the library rejects a way
/// when it is queued. A failure of the device ends the comparison.
static Result<std::vector<double>> timeWays(Device &device, Stream &stream,
                                            Timer &timer, LibraryCall &call,
                                            void *const *buffers, int ways) {
  std::vector<double> times;
  Status firstFailure;
  for (int i = 0; i < ways; ++i) {
    call.select(i);
    Result<double> us = timer.leastUs(
        stream, [&] { return device.call(stream, call, buffers); });
    if (!us.ok()) {
      SINTER_RETURN_IF_ERROR(device.synchronize(stream));
      if (firstFailure.ok())
        firstFailure = us.status();
    }
    times.push_back(us.ok() ? *us : std::numeric_limits<double>::infinity());
  }
  if (std::all_of(times.begin(), times.end(), [](double us) {
        return us == std::numeric_limits<double>::infinity();
      }))
    return firstFailure;
  return times;
}

Result<bool> Executor::chooseCalls(Place &place) {
  bool hasRun = false;
  if (place.device->sharesHostMemory())
    return hasRun;
  std::optional<Timer> timer;
  for (uint32_t i = 0; i < steps_.size(); ++i) {
    const Step &step = steps_[i];
    if (step.place != &place || !calls_[i])
      continue;
    // Asked here, not earlier: the choice may have been made for an equal call.
    int ways = calls_[i]->alternatives();
    if (ways < 2)
      continue;
    if (!timer) {
      Result<Timer> made = Timer::create(*place.device);
      if (!made.ok())
        return made.status();
      timer = std::move(*made);
    }
    hasRun = true;
    Result<std::vector<double>> times =
        timeWays(*place.device, *step.stream, *timer, *calls_[i],
                 buffers_[0].data() + step.firstBuffer, ways);
    if (!times.ok())
      return named(i, times.status());
    calls_[i]->choose(*times);
  }
  return hasRun;
}
