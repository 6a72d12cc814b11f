//===- TableFunctions.h - functions that generated code calls ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_DEVICE_TABLEFUNCTIONS_H
#define SINTER_BACKENDS_SIM_DEVICE_TABLEFUNCTIONS_H

#include "sinter/sim.h"

namespace sinter::sim {

/// The table of a worker, without the fields that depend on the thread and
/// block.
sinter_sim_functions tableFunctions();

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_DEVICE_TABLEFUNCTIONS_H
