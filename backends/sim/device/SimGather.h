//===- SimGather.h - rows collected by number, by loops ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_DEVICE_SIMGATHER_H
#define SINTER_BACKENDS_SIM_DEVICE_SIMGATHER_H

#include "backends/sim/device/DeviceMemory.h"
#include "runtime/device/RowGather.h"

namespace sinter::sim {

/// The function of the CUDA device's kernel in loops, at once. Fails if a row
/// or a row number is outside the device's memory.
rt::Status gatherRows(const DeviceMemory &memory, const rt::RowGather &gather);

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_DEVICE_SIMGATHER_H
