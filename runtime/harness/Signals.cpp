//===- Signals.cpp - requests to stop or save from outside ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/Signals.h"

#include "sinter/sinter.h"

#include <cerrno>
#include <csignal>
#include <initializer_list>
#include <string_view>
#include <time.h>
#include <unistd.h>

// What handlers read and write.
static volatile std::sig_atomic_t stopFlag = 0, saveFlag = 0, isTerminating = 0,
                                  isSaving = 0, hasWarned = 0;
static timespec firstSignal;

/// Writes to standard error from a handler.
static void say(std::string_view line) {
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

static double secondsSinceFirst() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec - firstSignal.tv_sec) +
         double(now.tv_nsec - firstSignal.tv_nsec) * 1e-9;
}

extern "C" {
static void onStopSignal(int) {
  const int savedErrno = errno;
  stopFlag = 1;
  if (!isTerminating) {
    isTerminating = 1;
    ::clock_gettime(CLOCK_MONOTONIC, &firstSignal);
  } else if (secondsSinceFirst() < 1) {
    // The same request: a launcher and its process group.
  } else if (isSaving && !hasWarned) {
    hasWarned = 1;
    say("warning: a checkpoint is being written; another signal stops at once "
        "and loses it\n");
  } else {
    say("error: stopped at once by a second signal; nothing after the newest "
        "checkpoint is saved\n");
    ::_exit(SINTER_INTERRUPTED);
  }
  errno = savedErrno;
}
static void onStopRequest(int) { stopFlag = 1; }
static void onSaveRequest(int) { saveFlag = 1; }
}

void sinter::rt::watchSignals(bool usr1Saves) {
  stopFlag = saveFlag = isTerminating = isSaving = hasWarned = 0;
  struct sigaction action = {};
  action.sa_handler = onStopSignal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (int number : {SIGTERM, SIGINT})
    ::sigaction(number, &action, nullptr);
  action.sa_handler = onStopRequest;
  ::sigaction(SIGXCPU, &action, nullptr);
  action.sa_handler = usr1Saves ? onSaveRequest : onStopRequest;
  ::sigaction(SIGUSR1, &action, nullptr);
  action.sa_handler = SIG_IGN;
  for (int number : {SIGHUP, SIGPIPE, SIGXFSZ})
    ::sigaction(number, &action, nullptr);
}

bool sinter::rt::stopRequested() { return stopFlag != 0; }

bool sinter::rt::takeSaveRequest() {
  const bool isRequested = saveFlag != 0;
  saveFlag = 0;
  return isRequested;
}

sinter::rt::SaveInProgress::SaveInProgress() { isSaving = 1; }
sinter::rt::SaveInProgress::~SaveInProgress() { isSaving = hasWarned = 0; }
