//===- Signals.h - requests to stop or save from outside --------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_HARNESS_SIGNALS_H
#define SINTER_RUNTIME_HARNESS_SIGNALS_H

namespace sinter::rt {

/// SIGTERM, SIGINT, SIGUSR1 and SIGXCPU (the limit on CPU time) request the end
/// of the run. A second SIGTERM or SIGINT ends the process at once with exit
/// code 75 and says so, except:
/// - within a second of the first it is taken for the same request, which a
///   launcher sends to a process and to its group;
/// - while a checkpoint is written, it only warns; the next one ends it.
/// SIGXCPU never does: the system repeats it every second. With `usr1Saves`,
/// SIGUSR1 requests a checkpoint instead. A closed terminal
/// or pipe and the limit on file sizes become errors of the calls concerned:
/// SIGHUP, SIGPIPE and SIGXFSZ are ignored.
void watchSignals(bool usr1Saves = false);

/// Whether the end was requested since watchSignals().
bool stopRequested();

/// Whether a checkpoint was requested; not again until the next signal.
bool takeSaveRequest();

/// While one lives, a checkpoint is being written.
class SaveInProgress {
public:
  SaveInProgress();
  ~SaveInProgress();
  SaveInProgress(const SaveInProgress &) = delete;
  SaveInProgress &operator=(const SaveInProgress &) = delete;
};

} // namespace sinter::rt

#endif // SINTER_RUNTIME_HARNESS_SIGNALS_H
