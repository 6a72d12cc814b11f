//===- SimSettings.h - how a simulated device behaves -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Settings come from the command line (DeviceOptions) or else from the
// environment, because a trainer has no options for them. SINTER_SIM is a list
// of KEY=VALUE, separated by commas:
//   seed=N          seed of the schedule and the delays
//   report=FILE     writes what the device saw, as JSON
//   drop=barrier:N  leaves out one barrier
//   memory=64MiB    the size of each device's memory
//   fail-alloc=N    allocation N (from 1) fails for lack of memory
//   fail-launch=N   launch N fails
//   ecc=N           an uncorrectable memory error at launch N
//   plans=FOLDER    times library calls and stores the choices there
//   refuse-epilogues=all|LIST
//                   the stand-in for cuBLASLt has no such products; see
//                   readRefusals()
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_DEVICE_SIMSETTINGS_H
#define SINTER_BACKENDS_SIM_DEVICE_SIMSETTINGS_H

#include "backends/sim/device/Engine.h"
#include "backends/sim/library/SimLtRefusal.h"
#include "runtime/device/DeviceOptions.h"

#include <string>
#include <vector>

namespace sinter::sim {

struct SimSettings {
  uint64_t seed = 0;
  int threads = 0; // 0: one per available core
  uint64_t memoryBytes = 0;
  bool syncLaunches = false;
  uint64_t failAlloc = 0, failLaunch = 0, ecc = 0; // 0: none
  std::string report, plans;
  Drop drop; // its number counts sites of the whole program
  /// The numbers, from 1, of the wait of a stream for an event and of the
  /// collective (drop=all-reduce:N) that a device leaves out; 0: none.
  uint64_t dropWait = 0, dropCollective = 0;
  std::vector<LtRefusal> refusals;
};

/// `environment` is the value of SINTER_SIM, or null. Fails with one line that
/// names the wrong word.
rt::Result<SimSettings> readSettings(const rt::DeviceOptions &options,
                                     const char *environment);

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_DEVICE_SIMSETTINGS_H
