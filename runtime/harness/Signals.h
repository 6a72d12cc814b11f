//===- Signals.h - signals to end a run or save it --------------*- C++ -*-===//
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

/// Whether a signal has asked for the end since watchSignals().
bool stopRequested();

/// Whether a signal has asked for a checkpoint; clears the request.
bool takeSaveRequest();

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_SIGNALS_H
