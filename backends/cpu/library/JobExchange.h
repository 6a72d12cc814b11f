//===- JobExchange.h - processes on one or more hosts -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The processes of a host exchange bytes through memory, those of different
// hosts by Gloo.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_LIBRARY_JOBEXCHANGE_H
#define SINTER_BACKENDS_CPU_LIBRARY_JOBEXCHANGE_H

#include "runtime/collective/Exchange.h"

namespace sinter::cpu {

/// Waits for the other processes of the meeting, each of which calls this.
/// `meeting` may end before the result. Gloo is not used on a single host,
/// unless its processes cannot share memory.
rt::Result<std::unique_ptr<rt::Exchange>> makeJobExchange(rt::Meeting &meeting);

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_LIBRARY_JOBEXCHANGE_H
