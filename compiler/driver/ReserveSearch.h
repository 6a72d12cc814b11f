//===- ReserveSearch.h - memory that placement leaves free ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Without a plan, placement can only estimate how much memory a device will
// use. If a device uses more than --memory-limit after planning, the driver
// places again and reserves more memory on that device, so that more of the
// program goes on to the next GPU or to the CPU. A binary search finds the
// smallest sufficient reserve of the first GPU, then of the second.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_RESERVESEARCH_H
#define SINTER_COMPILER_DRIVER_RESERVESEARCH_H

#include "passes/Target.h"

#include <vector>

namespace sinter::compiler {

class ReserveSearch {
public:
  /// `devices` are the devices that the program may span.
  ReserveSearch(llvm::ArrayRef<passes::ProgramDevice> devices,
                int64_t limitBytes);

  /// Bytes to leave free in the next try, by device.
  std::vector<int64_t> reserves() const;

  /// Tells that in the last try `device` was the first to exceed the limit, by
  /// `excessBytes`. False if another try is not worth it.
  bool exceeds(llvm::StringRef device, int64_t excessBytes);
  /// Tells that in the last try too much went on: the last GPU has no room for
  /// it. False if another try is not worth it.
  bool isTooMuch();

private:
  struct Range {
    bool isGpu = false;
    /// With `low` the device holds too much; with `high` too much goes on.
    int64_t low = 0, reserve = 0, high = 0;
  };
  void reset(size_t begin);
  bool goOn() { return ++tries_ < mostTries_; }

  std::vector<std::string> names_;
  std::vector<Range> ranges_; // by device
  int64_t limit_, step_;
  int tries_ = 0, mostTries_;
};

} // namespace sinter::compiler

#endif // SINTER_COMPILER_DRIVER_RESERVESEARCH_H
