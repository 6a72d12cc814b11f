//===- MachinePeaks.h - the limits of a machine -----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_COMPILER_INSPECT_MACHINEPEAKS_H
#define SINTER_COMPILER_INSPECT_MACHINEPEAKS_H

#include "compiler/inspect/ArtifactFacts.h"

namespace sinter::compiler {

struct MachinePeaks {
  double bytesPerSecond = 0; // reads and writes of the main memory together
  double flopsPerSecond = 0; // float32, without matrix units
  /// Operations of contractions by the dtype of their operands. A dtype that
  /// is not here is multiplied as float32.
  std::map<std::string, double> contractionsPerSecond;
  double secondsPerLaunch = 0; // that depends on the launch before it
  double cacheBytes = 0;       // of the largest cache; what fits is faster
  std::string source;          // what these are the figures of

  /// False if nothing but `source` is set, which says why.
  bool isKnown() const { return bytesPerSecond > 0; }

  /// The type in which contractions of `dtype` are multiplied, and its rate.
  std::pair<std::string, double> rateOf(const std::string &dtype) const;
};

/// Of the host: measured on all cores, in some 0.1 s; if `mcpu` is the name of
/// a CPU (RecordedCpus.h), the recorded figures of all its cores; if it is a
/// level such as x86-64-v3, measured with its instructions alone. Unknown of
/// CPUs without recorded figures and of levels that this machine does not have.
/// Of GPUs, simulated ones too: stated figures of an H200.
MachinePeaks machinePeaks(bool isHost, const std::string &mcpu = "");

struct BestTime {
  double memory = 0, arithmetic = 0; // seconds
  /// The larger of the two, or a launch if that takes longer.
  double best(const MachinePeaks &peaks) const;
  /// "memory", "arithmetic" or "launch".
  const char *bound(const MachinePeaks &peaks) const;
};

/// The least time for this work; 0 if the limits are unknown.
BestTime bestTime(const MachinePeaks &peaks, double bytes,
                  const KernelFlops &flops);

/// The types in which `flops` are computed and the operations per second of
/// each, the one with most operations first; float32 alone without operations.
std::vector<std::pair<std::string, double>> ratesOf(const MachinePeaks &peaks,
                                                    const KernelFlops &flops);
/// "7.9e+05 GFLOP/s in bfloat16, 6.7e+04 in float32".
std::string ratesText(llvm::ArrayRef<std::pair<std::string, double>> rates);

} // namespace sinter::compiler

#endif // SINTER_COMPILER_INSPECT_MACHINEPEAKS_H
