//===- Signals.h - the end of a run, asked for from outside -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_SIGNALS_H
#define SINTER_RUNTIME_HARNESS_SIGNALS_H

namespace sinter::rt {

/// SIGTERM and SIGINT set a flag, the second one ends the process at once with
/// exit code 75. A closed terminal or pipe and the limit on file sizes become
/// errors of the calls concerned: SIGHUP, SIGPIPE and SIGXFSZ are ignored.
void watchSignals();

/// Whether one of the two has come since watchSignals().
bool stopRequested();

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_SIGNALS_H
