//===- ReserveSearch.h - what placement leaves free on GPUs -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Before there is a plan placement can only estimate what a device will hold.
// Where it left too little of --memory-limit free for the rest it is asked
// again: the more it leaves, the more goes on to the next GPU, or to the CPU. A
// search by halves: the first GPU leaves no more than it has to, then the
// second one.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_DRIVER_RESERVESEARCH_H
#define SINTER_COMPILER_DRIVER_RESERVESEARCH_H

#include "passes/Target.h"

#include <vector>

namespace sinter::compiler {

class ReserveSearch {
public:
  /// `devices` are those that the program may span.
  ReserveSearch(llvm::ArrayRef<passes::ProgramDevice> devices,
                int64_t limitBytes);

  /// Bytes to leave free in the next try, by device.
  std::vector<int64_t> reserves() const;

  /// In the last try `device` took so much more than the limit, the first that
  /// did. False when no other try is worth it; likewise below.
  bool exceeds(llvm::StringRef device, int64_t excessBytes);
  /// In the last try too much went on: the last GPU has no room for it.
  bool isTooMuch();

private:
  struct Range {
    bool isGpu = false;
    /// With `low` the device takes too much; with `high` too much goes on.
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
