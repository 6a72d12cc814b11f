//===- Ceilings.h - the highest speed that a device reaches -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What a profile compares kernels and library calls with. Measured in the run
// that reports it, because no device reaches the figures of its data sheet.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_DEVICE_CEILINGS_H
#define SINTER_RUNTIME_DEVICE_CEILINGS_H

#include "runtime/device/Device.h"

namespace sinter::rt {

struct Ceilings {
  double copyGBps = 0;   // read and written bytes of a large copy
  double f32TFlops = 0;  // of a large matrix product; 0: the library has none
  double bf16TFlops = 0; // likewise
};

/// Fills `to` with numbers in [-1, 1), f32 or bf16, the same ones each time:
/// devices are faster with zeros. `sizeBytes` is a multiple of 4. Waits for the
/// stream.
Status fillRandom(Device &device, Stream &stream, void *to, uint64_t sizeBytes,
                  uint32_t dtype);

/// Takes a second or less and frees all memory that it took. An asynchronous
/// device is timed by its events.
Result<Ceilings> measureCeilings(Device &device);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DEVICE_CEILINGS_H
