//===- Signals.h - the end of a run, asked for from outside -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_SIGNALS_H
#define SINTER_RUNTIME_HARNESS_SIGNALS_H

namespace sinter::rt {

/// SIGTERM, SIGINT and SIGUSR1 set a flag; a second one of the first two ends
/// the process at once with exit code 75. With `usr1Saves`, SIGUSR1 asks for a
/// checkpoint instead. A closed terminal or pipe and the limit on file sizes
/// become errors of the calls concerned: SIGHUP, SIGPIPE and SIGXFSZ are
/// ignored.
void watchSignals(bool usr1Saves = false);

/// Whether the end was asked for since watchSignals().
bool stopRequested();

/// Whether a checkpoint was asked for; not again until the next signal.
bool takeSaveRequest();

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_SIGNALS_H
