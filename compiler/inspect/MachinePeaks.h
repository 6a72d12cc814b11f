//===- MachinePeaks.h - the limits of a machine -----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_MACHINEPEAKS_H
#define SINTER_COMPILER_INSPECT_MACHINEPEAKS_H

#include <string>

namespace sinter::compiler {

struct MachinePeaks {
  double bytesPerSecond = 0;   // reads and writes of the main memory together
  double flopsPerSecond = 0;   // float32, without matrix units
  double narrowPerSecond = 0;  // contractions of 16-bit floats
  double secondsPerLaunch = 0; // that depends on the launch before it
  double cacheBytes = 0;       // of the largest cache; what fits is faster
  std::string source;          // what these are the figures of
};

/// Of the host: measured on all cores, in some 0.1 s. Of GPUs, simulated ones
/// too: stated figures of an H200.
MachinePeaks machinePeaks(bool isHost);

struct BestTime {
  double memory = 0, arithmetic = 0; // seconds
  /// The larger of the two, or a launch if that takes longer.
  double best(const MachinePeaks &peaks) const;
  /// "memory", "arithmetic" or "launch".
  const char *bound(const MachinePeaks &peaks) const;
};

/// The least time for this work: `narrow` of the operations are contractions of
/// 16-bit floats.
BestTime bestTime(const MachinePeaks &peaks, double bytes, double flops,
                  double narrow);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_MACHINEPEAKS_H
