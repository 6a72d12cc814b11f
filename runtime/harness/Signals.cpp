//===- Signals.cpp - signals that end a run or ask for a checkpoint -------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/Signals.h"

#include "sinter/sinter.h"

#include <csignal>
#include <initializer_list>
#include <unistd.h>

static volatile std::sig_atomic_t stopFlag = 0, saveFlag = 0;

extern "C" {
static void onStopSignal(int) {
  if (stopFlag)
    ::_exit(SINTER_INTERRUPTED);
  stopFlag = 1;
}
static void onUsr1ToStop(int) { stopFlag = 1; }
static void onUsr1ToSave(int) { saveFlag = 1; }
}

void sinter::rt::watchSignals(bool usr1Saves) {
  stopFlag = 0;
  saveFlag = 0;
  struct sigaction action = {};
  action.sa_handler = onStopSignal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (int number : {SIGTERM, SIGINT})
    ::sigaction(number, &action, nullptr);
  action.sa_handler = usr1Saves ? onUsr1ToSave : onUsr1ToStop;
  ::sigaction(SIGUSR1, &action, nullptr);
  action.sa_handler = SIG_IGN;
  for (int number : {SIGHUP, SIGPIPE, SIGXFSZ})
    ::sigaction(number, &action, nullptr);
}

bool sinter::rt::stopRequested() { return stopFlag != 0; }

bool sinter::rt::takeSaveRequest() {
  const bool isAsked = saveFlag != 0;
  saveFlag = 0;
  return isAsked;
}
