//===- GraphLength.cpp - how many steps are one graph ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/GraphLength.h"

#include <algorithm>

using namespace sinter;

int64_t rt::graphLength(int64_t most, int64_t span) {
  int64_t best = 1;
  for (int64_t length = 2; length <= std::min(most, span); ++length)
    if (span / length + span % length <= span / best + span % best)
      best = length;
  return best;
}

int64_t rt::mostStepsWithin(double stepSeconds, int64_t most) {
  if (stepSeconds * double(most) <= mostGraphSeconds)
    return most;
  return std::max<int64_t>(1, int64_t(mostGraphSeconds / stepSeconds));
}
