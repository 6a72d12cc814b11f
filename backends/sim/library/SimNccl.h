//===- SimNccl.h - NCCL's stand-in on simulated devices ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Replicas are threads of one process. What NCCL leaves undefined is an error:
// replicas whose calls differ in number, count, type or order; operands that
// overlap or are not memory of a device; calls of a communicator that has
// ended.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_LIBRARY_SIMNCCL_H
#define SINTER_BACKENDS_SIM_LIBRARY_SIMNCCL_H

#include "backends/cuda/library/NcclApi.h"
#include "backends/sim/library/SimMeeting.h"

namespace sinter::sim {

const cuda::nccl::Api &ncclApi();

/// Sets where calls are queued, before the first one. `streams` must live as
/// long as the process.
void setMeetingStreams(MeetingStreams *streams);

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_LIBRARY_SIMNCCL_H
