//===- ChooseCalls.cpp - the fastest way of each library call -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/Timer.h"
#include "runtime/exec/Executor.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <random>

using namespace sinter;
using namespace sinter::rt;

/// Bytes that are numbers of usual sizes in every type: 16-bit words that are
/// normally distributed numbers in bf16. As float32 and float16 they have about
/// that distribution, too, and none is infinite or NaN.
static std::vector<uint16_t> randomWords() {
  std::vector<uint16_t> words(size_t(1) << 19); // 1 MiB
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (uint16_t &word : words)
    word = static_cast<uint16_t>(std::bit_cast<uint32_t>(normal(random)) >> 16);
  return words;
}

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

/// Arithmetic on zeros takes less power, so that chips run faster than on the
/// numbers of a real run.
Status Executor::fillOperands(uint32_t index) {
  static const std::vector<uint16_t> words = randomWords();
  const uint64_t most = words.size() * sizeof(words[0]);
  const Step &step = steps_[index];
  const sinter_command &command = entry_->commands[index];
  for (uint32_t i = 0; i < command.numSlices; ++i) {
    const sinter_slice &slice = command.slices[i];
    if (slice.space != SINTER_SPACE_ARENA &&
        slice.space != SINTER_SPACE_INPUT && slice.space != SINTER_SPACE_OUTPUT)
      continue; // has its value
    auto *to = static_cast<uint8_t *>(buffers_[0][step.firstBuffer + i]);
    for (uint64_t at = 0; at < slice.sizeBytes; at += most)
      SINTER_RETURN_IF_ERROR(
          step.place->device->upload(*step.stream, to + at, words.data(),
                                     std::min(most, slice.sizeBytes - at)));
  }
  return {};
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
    SINTER_RETURN_IF_ERROR(fillOperands(i));
    Result<std::vector<double>> times =
        timeWays(*place.device, *step.stream, *timer, *calls_[i],
                 buffers_[0].data() + step.firstBuffer, ways);
    if (!times.ok())
      return named(i, times.status());
    calls_[i]->choose(*times);
  }
  return hasRun;
}
