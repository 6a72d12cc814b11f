//===- SaveTimes.cpp - when checkpoints are due ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/SaveTimes.h"

#include <algorithm>

using namespace sinter::rt;
using std::chrono::seconds;

bool SaveTimes::isDue(int64_t step, Clock::time_point now) const {
  if (retry_ && now >= *retry_)
    return true;
  if (everySeconds_ > 0)
    return now - last_ >= seconds(everySeconds_);
  return everySteps_ > 0 && step % everySteps_ == 0;
}

void SaveTimes::saved(Clock::time_point now) {
  last_ = now;
  retry_.reset();
}

std::string SaveTimes::failed(int64_t step, Clock::time_point now) {
  const bool isByTime = everySeconds_ > 0;
  const int64_t first =
      isByTime ? std::clamp<int64_t>(everySeconds_ / 10, 1, 60) : 60;
  delaySeconds_ = std::min(retry_ ? 2 * delaySeconds_ : first,
                           isByTime ? everySeconds_ : 600);
  last_ = now;
  retry_ = now + seconds(delaySeconds_);
  std::string text = "in " + std::to_string(delaySeconds_) + " s";
  if (!isByTime && everySteps_ > 0)
    text += ", or after step " +
            std::to_string(step - step % everySteps_ + everySteps_) +
            " if that is sooner";
  return text;
}
