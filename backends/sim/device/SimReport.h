//===- SimReport.h - what simulated devices saw, as JSON --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A list with one object per launch, and {"device": "sim:0", "note": ".."} for
// each note to the user. A launch:
//   {"device": "sim:0", "kernel": "k", "grid": [8,1,1], "block": [128,1,1],
//    "threads": 1024, "barriers": 8, "shuffles": 0, "races": 0,
//    "barrierSites": [4,1], "predicateSites": [9,2],
//    "predicates": ["%7 = icmp ult i32 %6, 72", ..]}
// `barriers` and `shuffles` count those that were passed (a meeting of a warp
// counts once). `*Sites` are the number of the kernel's first site in the
// program, which --sim-drop uses, and the count of its sites. `predicates` are
// the comparisons, if any.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_DEVICE_SIMREPORT_H
#define SINTER_BACKENDS_SIM_DEVICE_SIMREPORT_H

#include "backends/sim/device/Engine.h"

#include <string>
#include <vector>

namespace sinter::sim {

/// The sites of a kernel that can be left out.
struct DropSites {
  uint32_t firstBarrier = 0, numBarriers = 0;
  uint32_t firstPredicate = 0, numPredicates = 0;
  std::vector<std::string> predicates; // the comparisons, as LLVM prints them
};

/// Adds a launch to the report at `path`; devices of one process may share it.
void addToReport(const std::string &path, const std::string &device,
                 const LaunchReport &launch, const DropSites &sites);

/// Adds a note to the user.
void addToReport(const std::string &path, const std::string &device,
                 const std::string &note);

/// Writes the report at `path` with all launches that were added in this
/// process; an empty list if there were none.
rt::Status writeReport(const std::string &path);

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_DEVICE_SIMREPORT_H
