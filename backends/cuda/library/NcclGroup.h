//===- NcclGroup.h - replicas that work together by NCCL --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Each replica has a communicator, created on the replica's thread with its
// device's context current. Each message is one grouped call, queued on a
// stream of the device, so that it can be part of a recorded graph (NCCL 2.9
// and newer).
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_LIBRARY_NCCLGROUP_H
#define SINTER_BACKENDS_CUDA_LIBRARY_NCCLGROUP_H

#include "backends/cuda/library/NcclApi.h"
#include "runtime/collective/Communicator.h"

#include <memory>

namespace sinter::cuda {

/// Writes the unique name of a new group.
rt::Status nameNcclGroup(const nccl::Api &api, uint8_t *group);

/// Waits for the other replicas. `api` lives as long as the process.
rt::Result<std::unique_ptr<rt::Communicator>>
joinNcclGroup(const nccl::Api &api, const sinter_rank &rank);

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_LIBRARY_NCCLGROUP_H
