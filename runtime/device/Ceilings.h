//===- Ceilings.h - how fast a device can be at all -------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What a profile compares kernels and library calls with. Measured in the run
// that reports it: figures of data sheets are not reached.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_DEVICE_CEILINGS_H
#define SINTER_RUNTIME_DEVICE_CEILINGS_H

#include "runtime/device/Device.h"

namespace sinter::rt {

struct Ceilings {
  double copyGBps = 0;   // read and written bytes of a large copy
  double f32TFlops = 0;  // of a large product; 0: the library has none
  double bf16TFlops = 0; // likewise
};

/// Numbers in [-1, 1), f32 or bf16, all over `to`, the same each time: devices
/// are faster with zeros. Waits for the stream. A multiple of 4 bytes.
Status fillRandom(Device &device, Stream &stream, void *to, uint64_t sizeBytes,
                  uint32_t dtype);

/// Takes a second or less and gives back all memory. A device that works on its
/// own is timed by its events.
Result<Ceilings> measureCeilings(Device &device);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DEVICE_CEILINGS_H
