//===- GraphRunner.cpp - runs random graphs -------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//   sinter-graphs --jobs=N [--timeout=SECONDS]  < LINES
//
// Called by run.py. A line of the input is a folder and its modes, separated by
// tabs. Each graph runs in a child, so that a crash is one outcome. A line of
// the output is the folder, a mode, an outcome and a text, separated by tabs;
// the outcome of a crash is "crashed" and its mode the first one that is not
// reported.
//
//===----------------------------------------------------------------------===//
#include "test/fuzz/graphs/GraphChecks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace sinter::fuzz;

namespace {

struct Options {
  unsigned jobs = 1, timeoutSeconds = 120;
};

int misuse(const std::string &text) {
  std::fprintf(stderr, "sinter-graphs: error: %s\n", text.c_str());
  return 2;
}

/// One line of the output; written at once, so that lines of children do not
/// mix.
void writeLine(const std::string &folder, llvm::StringRef mode,
               llvm::StringRef outcome, std::string text) {
  for (char &c : text)
    if (c == '\n' || c == '\t')
      c = ' ';
  std::string line = folder + '\t' + mode.str() + '\t' + outcome.str() + '\t' +
                     text.substr(0, 2000) + '\n';
  if (::write(1, line.data(), line.size()) < 0)
    std::abort();
}

struct Child {
  pid_t pid;
  std::string folder;
};

Child startChild(const Options &options, const std::string &folder,
                 const std::vector<std::string> &modes) {
  std::fflush(nullptr);
  pid_t pid = ::fork();
  if (pid != 0)
    return {pid, folder};
  ::alarm(options.timeoutSeconds);
  rlimit memory = {rlim_t(8) << 30, rlim_t(8) << 30};
  ::setrlimit(RLIMIT_AS, &memory);
  rlimit noCore = {0, 0};
  ::setrlimit(RLIMIT_CORE, &noCore);
  checkGraph(folder, modes,
             [&](llvm::StringRef mode, Outcome outcome, std::string text) {
               writeLine(folder, mode, nameOf(outcome), std::move(text));
             });
  ::_exit(0);
}

void finishChild(const Child &child, int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return;
  std::string text = "exit " + std::to_string(WEXITSTATUS(status));
  if (WIFSIGNALED(status))
    text = WTERMSIG(status) == SIGALRM ? "takes too long"
                                       : ::strsignal(WTERMSIG(status));
  writeLine(child.folder, "", "crashed", text);
}

void runAll(const Options &options) {
  std::vector<Child> running;
  auto waitForOne = [&] {
    int status = 0;
    pid_t pid = ::wait(&status);
    auto child =
        llvm::find_if(running, [&](const Child &c) { return c.pid == pid; });
    if (child == running.end())
      return;
    finishChild(*child, status);
    running.erase(child);
  };
  std::string line;
  while (std::getline(std::cin, line)) {
    llvm::SmallVector<llvm::StringRef> parts;
    llvm::StringRef(line).split(parts, '\t');
    std::vector<std::string> modes;
    for (llvm::StringRef mode : llvm::drop_begin(parts)) {
      if (!isMode(mode)) {
        misuse("there is no mode '" + mode.str() + "'; the modes are " +
               modeNames());
        std::exit(2);
      }
      modes.push_back(mode.str());
    }
    while (running.size() >= options.jobs)
      waitForOne();
    running.push_back(startChild(options, parts.front().str(), modes));
  }
  while (!running.empty())
    waitForOne();
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument = argv[i];
    unsigned *number = argument.consume_front("--jobs=") ? &options.jobs
                       : argument.consume_front("--timeout=")
                           ? &options.timeoutSeconds
                           : nullptr;
    if (!number || argument.getAsInteger(10, *number) || *number == 0)
      return misuse("the flags are --jobs=N and --timeout=SECONDS");
  }
  runAll(options);
  return 0;
}
