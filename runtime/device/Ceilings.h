//===- Ceilings.h - the highest speed that a device reaches -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What a profile compares kernels and library calls with. Two kinds of figures:
// what large copies and products reach in the run that reports them, which
// smaller ones may exceed, because their data is in a cache; and limits of the
// CPU, by the best rates that one core was ever measured to have (CpuRates.h),
// times the number of threads. Nothing that the threads compute exceeds these.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_DEVICE_CEILINGS_H
#define SINTER_RUNTIME_DEVICE_CEILINGS_H

#include "runtime/base/CpuRates.h"
#include "runtime/device/Device.h"

#include <string>
#include <vector>

namespace sinter::rt {

/// A cache, or the main memory, as all threads together use it.
struct MemoryLevel {
  std::string name;       // "L1", "memory"
  uint64_t sizeBytes = 0; // UINT64_MAX: as much as there is
  double readGBps = 0, writeGBps = 0;
  double bothGBps = 0; // reads and writes together; 0: no other limit
};

struct Ceilings {
  // Measured; 0 if the device has no library for it.
  double copyGBps = 0;   // read and written bytes of a large copy
  double f32TFlops = 0;  // of a large matrix product
  double bf16TFlops = 0; // likewise

  // Limits, of the CPU only.
  std::vector<MemoryLevel> levels; // the fastest first; empty: unknown
  double mostF32TFlops = 0;        // 0: unknown
  double mostBf16TFlops = 0;

  /// The highest rate of a command that reads and writes these bytes, each
  /// once. As many of them as fit are in the fastest level, and so on; 0: no
  /// limit is known. This is the roofline of Williams, Waterman and Patterson
  /// (2009) with one roof for each level.
  double mostGBps(uint64_t readBytes, uint64_t writtenBytes) const;
};

/// Sets the limits of `ceilings` to what `threads` cores of a CPU with these
/// rates reach. Does nothing without a rate of fp32.
void setLimits(Ceilings &ceilings, const CpuRates &rates, const CpuId &cpu,
               int threads);

/// Fills `to` with numbers in [-1, 1), f32 or bf16, the same ones each time:
/// devices are faster with zeros. `sizeBytes` is a multiple of 4. Waits for the
/// stream.
Status fillRandom(Device &device, Stream &stream, void *to, uint64_t sizeBytes,
                  uint32_t dtype);

/// Takes a second or less and frees all memory that it took. An asynchronous
/// device is timed by its events. On the CPU, its rates are measured again, and
/// the best of all measurements are used.
Result<Ceilings> measureCeilings(Device &device);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DEVICE_CEILINGS_H
