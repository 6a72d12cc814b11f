//===- ReserveSearch.cpp - memory that placement leaves free --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/ReserveSearch.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::compiler;

/// The search ends when a range is smaller than the limit / 2^kHalvings.
static constexpr int kHalvings = 8;

ReserveSearch::ReserveSearch(llvm::ArrayRef<passes::ProgramDevice> devices,
                             int64_t limitBytes)
    : ranges_(devices.size()), limit_(limitBytes),
      step_(std::max<int64_t>(1, limitBytes >> kHalvings)) {
  int numGpus = 0;
  for (size_t i = 0; i < devices.size(); ++i) {
    names_.push_back(devices[i].name);
    ranges_[i].isGpu = !ir::isHostDevice(devices[i].name);
    numGpus += ranges_[i].isGpu;
  }
  mostTries_ = (kHalvings + 1) * std::max(1, numGpus - 1);
  reset(0);
}

std::vector<int64_t> ReserveSearch::reserves() const {
  std::vector<int64_t> bytes;
  for (const Range &range : ranges_)
    bytes.push_back(range.reserve);
  return bytes;
}

/// Forgets the ranges from device `begin` on: they were found with another part
/// of the program on these devices.
void ReserveSearch::reset(size_t begin) {
  for (size_t i = begin; i < ranges_.size(); ++i) {
    ranges_[i].low = ranges_[i].reserve = 0;
    ranges_[i].high = limit_;
  }
}

bool ReserveSearch::exceeds(llvm::StringRef device, int64_t excessBytes) {
  size_t index =
      std::find(names_.begin(), names_.end(), device.str()) - names_.begin();
  auto isGpu = [](const Range &range) { return range.isGpu; };
  bool isFirst = std::none_of(ranges_.begin(), ranges_.begin() + index, isGpu);
  bool isLast = std::none_of(ranges_.begin() + index + 1, ranges_.end(), isGpu);
  if (isLast && !isFirst)
    return isTooMuch();
  Range &range = ranges_[index];
  bool isNew = range.reserve == 0;
  range.low = range.reserve;
  if (range.high - range.low <= step_)
    return false;
  range.reserve =
      isNew ? std::min(excessBytes, range.high) : (range.low + range.high) / 2;
  reset(index + 1);
  return goOn();
}

bool ReserveSearch::isTooMuch() {
  auto range =
      std::find_if(ranges_.begin(), ranges_.end(), [&](const Range &one) {
        return one.reserve - one.low > step_;
      });
  if (range == ranges_.end())
    return false;
  range->high = range->reserve;
  range->reserve = (range->low + range->high) / 2;
  reset(range - ranges_.begin() + 1);
  return goOn();
}
