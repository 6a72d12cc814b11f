//===- BlockSignals.h - threads that signals do not reach -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_BLOCKSIGNALS_H
#define SINTER_RUNTIME_BASE_BLOCKSIGNALS_H

#include <pthread.h>
#include <signal.h>

namespace sinter::rt {

/// Blocks all signals for this thread and the threads that it starts while this
/// lives. Signals are for the main thread: its loop decides when a run ends.
class BlockSignals {
public:
  BlockSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
  sigset_t before_;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_BLOCKSIGNALS_H
