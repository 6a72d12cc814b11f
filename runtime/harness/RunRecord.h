//===- RunRecord.h - what a log says about its run --------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_RUNRECORD_H
#define SINTER_RUNTIME_HARNESS_RUNRECORD_H

#include "runtime/train/Manifest.h"

#include "sinter/abi.h"

#include <string>

namespace sinter::rt {

/// The members of the record {"start":true,...} of --log-stats: what a
/// checkpoint's manifest says about the run, and also
///
///   device            where it computes: "2 threads", "cuda:0 and cuda:1"
///   batches_per_epoch
///   arena_bytes       bytes of the device's arenas (of one replica, all
///                     devices of the program together)
///   state_bytes       bytes of all states
///   out               the --out directory; absent without one
std::string startFields(const sinter_artifact &artifact,
                        const Manifest &manifest, int64_t batchesPerEpoch,
                        const std::string &device, const std::string &out);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_RUNRECORD_H
