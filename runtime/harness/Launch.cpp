//===- Launch.cpp - starts the processes of a job -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// For those without a launcher: `trainer launch -n 4 OPTIONS` starts the
// trainer four times on this host or, with --hosts, by ssh on several, and
// again from the newest checkpoint when one of them is lost. The processes end
// each other (Job.h); this one waits, passes signals on, and tells how it went.
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/Ranks.h"
#include "runtime/collective/Wire.h"
#include "runtime/harness/Commands.h"
#include "runtime/harness/Signals.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <sstream>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

using namespace sinter::rt;

namespace {

struct Child {
  pid_t pid = -1;
  int input = -1; // of a process on another host: signals are written to it
  int status = 0;
  bool isRunning = false;
};

/// After one process has ended, the others have this long to end as well.
constexpr std::chrono::seconds patience(20);

/// `text` as one word of a shell.
std::string quoted(const std::string &text) {
  std::string result = "'";
  for (char c : text)
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

/// One host a line, "HOST" or "HOST slots=N"; '#' begins a comment. A host
/// appears once for each of its slots.
Result<std::vector<std::string>> readHosts(const std::string &path) {
  std::ifstream file(path);
  if (!file)
    return Status::ofSystem(SINTER_INVALID, path + ": " + std::strerror(errno),
                            errno);
  std::vector<std::string> hosts;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    line = line.substr(0, line.find('#'));
    std::istringstream words(line);
    std::string host, slots, rest;
    words >> host >> slots >> rest;
    if (host.empty())
      continue;
    int64_t count = 1;
    constexpr std::string_view key = "slots=";
    if (!slots.empty()) {
      char *end = nullptr;
      count = slots.starts_with(key)
                  ? std::strtoll(slots.c_str() + key.size(), &end, 10)
                  : 0;
      if (count < 1 || count > 4096 || (end && *end) || !rest.empty())
        return Status::invalid(path + ":" + std::to_string(number) +
                               ": expected HOST or HOST slots=N");
    }
    if (host.front() == '-')
      return Status::invalid(path + ":" + std::to_string(number) +
                             ": a host does not begin with '-'");
    hosts.insert(hosts.end(), static_cast<size_t>(count), host);
  }
  if (hosts.empty())
    return Status::invalid(path + ": has no hosts");
  return hosts;
}

class Launcher {
public:
  Launcher(const TrainerOptions &options,
           std::span<const char *const> arguments)
      : options_(options), program_(arguments.front()) {
    // What the processes are given: all but what is the launcher's.
    for (size_t i = 1; i < arguments.size(); ++i) {
      const std::string_view word = arguments[i];
      const std::string_view name = word.substr(0, word.find('='));
      if (i == 1 && word == "launch")
        continue;
      if (name == "-n" || name == "--hosts" || name == "--max-restarts") {
        i += word.find('=') == word.npos; // its value
        continue;
      }
      given_.emplace_back(word);
    }
  }

  Status run() {
    SINTER_RETURN_IF_ERROR(place());
    std::random_device random;
    for (int i = 0; i < 4; ++i)
      token_ += std::to_string(random());
    for (int64_t restarts = 0;; ++restarts) {
      SINTER_RETURN_IF_ERROR(startAll());
      waitForAll();
      const Status status = outcome();
      if (!canRestart_ || restarts == options_.maxRestarts || stopRequested() ||
          isAskedToEnd_)
        return status;
      std::fprintf(stderr, "launch: %s; restart %lld of %lld\n",
                   status.message().c_str(),
                   static_cast<long long>(restarts + 1),
                   static_cast<long long>(options_.maxRestarts));
      isRestart_ = true;
    }
  }

private:
  Status place() {
    const int64_t count = options_.processes.value_or(0);
    if (options_.hosts.empty()) {
      if (count < 1)
        return Status::invalid("launch: -n N or --hosts=FILE is needed");
      hosts_.resize(static_cast<size_t>(count));
    } else {
      Result<std::vector<std::string>> hosts = readHosts(options_.hosts);
      if (!hosts.ok())
        return hosts.status();
      hosts_ = std::move(*hosts);
      if (count > static_cast<int64_t>(hosts_.size()))
        return Status::invalid(
            options_.hosts + ": has " + std::to_string(hosts_.size()) +
            " slots, fewer than -n " + std::to_string(count));
      if (count > 0)
        hosts_.resize(static_cast<size_t>(count));
    }
    if (options_.maxRestarts > 0 && options_.out.empty())
      return Status::invalid("--max-restarts: needs --out=DIR, with "
                             "checkpoints to continue from");
    return {};
  }

  /// On this host, a port that is free. What is free on another one is not
  /// known, so each start takes another port, and none that connections get.
  Result<std::string> leaderAddress() {
    if (!options_.leader.empty())
      return options_.leader;
    const std::string &host = hosts_.front();
    if (!host.empty())
      return host + ":" +
             std::to_string(
                 portOfJob(token_ + "/" + std::to_string(++starts_)));
    Result<Listener> listener = Listener::open("127.0.0.1", 0);
    if (!listener.ok())
      return listener.status();
    return "127.0.0.1:" + std::to_string(listener->port());
  }

  /// What one process is started with.
  std::vector<std::string> commandOf(size_t rank,
                                     const std::string &leader) const {
    std::vector<std::string> words = {program_};
    words.insert(words.end(), given_.begin(), given_.end());
    if (isRestart_ && !options_.resume)
      words.push_back("--resume");
    words.push_back("--rank=" + std::to_string(rank));
    words.push_back("--world=" + std::to_string(hosts_.size()));
    if (options_.leader.empty() && hosts_.size() > 1)
      words.push_back("--leader=" + leader);
    const std::string &host = hosts_[rank];
    if (host.empty())
      return words;
    char folder[4096];
    std::string line = "cd " +
                       quoted(::getcwd(folder, sizeof(folder)) ? folder : "/") +
                       " && exec 3<&0 && { env SINTER_TOKEN=" + quoted(token_) +
                       " LOCAL_RANK=" + std::to_string(localRank(rank));
    for (const std::string &word : words)
      line += " " + quoted(word);
    // ssh passes no signals on. Their names come by the standard input, whose
    // end means that this process or the connection is gone.
    line += " & pid=$!; (while read name; do kill -s $name $pid; done; "
            "kill -s TERM $pid) <&3 >/dev/null 2>&1 & reader=$!; "
            "wait $pid; code=$?; kill $reader 2>/dev/null; exit $code; }";
    return {"ssh", "-o", "BatchMode=yes", host, line};
  }

  size_t localRank(size_t rank) const {
    return static_cast<size_t>(std::count(
        hosts_.begin(), hosts_.begin() + static_cast<ptrdiff_t>(rank),
        hosts_[rank]));
  }

  Status startAll() {
    Result<std::string> leader = leaderAddress();
    if (!leader.ok())
      return leader.status();
    children_.assign(hosts_.size(), Child());
    for (size_t rank = 0; rank < hosts_.size(); ++rank) {
      std::vector<std::string> words = commandOf(rank, *leader);
      std::vector<char *> argv;
      for (std::string &word : words)
        argv.push_back(word.data());
      argv.push_back(nullptr);
      int pipe[2] = {-1, -1};
      const bool isRemote = !hosts_[rank].empty();
      const bool hasPipe = !isRemote || ::pipe2(pipe, O_CLOEXEC) == 0;
      const pid_t pid = hasPipe ? ::fork() : -1;
      if (pid < 0) {
        const Status status =
            Status::ofSystem(SINTER_FAILED,
                             std::string("launch: cannot start a process: ") +
                                 std::strerror(errno),
                             errno);
        signalAll(SIGTERM);
        waitForAll();
        return status;
      }
      if (pid == 0) {
        // Without its launcher, the job is over: its processes save and end.
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);
        for (const char *name : launcherVariables())
          ::unsetenv(name);
        ::setenv("LOCAL_RANK", std::to_string(localRank(rank)).c_str(), 1);
        ::setenv("SINTER_TOKEN", token_.c_str(), 1);
        if (isRemote)
          ::dup2(pipe[0], STDIN_FILENO);
        for (int number : {SIGHUP, SIGPIPE, SIGXFSZ})
          std::signal(number, SIG_DFL);
        ::execvp(argv.front(), argv.data());
        std::fprintf(stderr, "error: launch: %s: %s\n", argv.front(),
                     std::strerror(errno));
        ::_exit(127);
      }
      if (isRemote)
        ::close(pipe[0]);
      children_[rank].input = pipe[1];
      children_[rank].pid = pid;
      children_[rank].isRunning = true;
    }
    return {};
  }

  void signalAll(int number) {
    for (const Child &child : children_) {
      if (!child.isRunning)
        continue;
      const std::string_view line = number == SIGTERM   ? "TERM\n"
                                    : number == SIGUSR1 ? "USR1\n"
                                                        : "";
      if (child.input < 0 || line.empty())
        ::kill(child.pid, number);
      else
        (void)!::write(child.input, line.data(), line.size());
    }
  }

  void waitForAll() {
    using Clock = std::chrono::steady_clock;
    std::optional<Clock::time_point> end;
    bool hasPassedOn = false;
    while (std::any_of(children_.begin(), children_.end(),
                       [](const Child &child) { return child.isRunning; })) {
      for (Child &child : children_) {
        if (!child.isRunning ||
            ::waitpid(child.pid, &child.status, WNOHANG) != child.pid)
          continue;
        child.isRunning = false;
        if (child.input >= 0)
          ::close(std::exchange(child.input, -1));
        if (child.status != 0 && !end)
          end = Clock::now() + patience;
      }
      if (stopRequested() && !hasPassedOn) {
        hasPassedOn = true;
        signalAll(SIGTERM);
      }
      if (takeSaveRequest()) {
        signalAll(SIGUSR1);
        isAskedToEnd_ |= !options_.goesOnAfterUsr1;
      }
      if (end && Clock::now() > *end)
        signalAll(SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  /// How the processes ended, and whether they may be started again.
  Status outcome() {
    canRestart_ = false;
    Status lost, failed;
    for (size_t rank = 0; rank < children_.size(); ++rank) {
      const int status = children_[rank].status;
      const std::string self = "rank " + std::to_string(rank);
      // A shell tells of a signal by 128 and its number, ssh of itself by 255.
      constexpr int bySignal = 128, bySsh = 255;
      const std::string &host = hosts_[rank];
      const int signal = WIFSIGNALED(status) ? WTERMSIG(status)
                         : !host.empty() && WEXITSTATUS(status) > bySignal &&
                                 WEXITSTATUS(status) < bySsh
                             ? WEXITSTATUS(status) - bySignal
                             : 0;
      if (signal) {
        lost = Status(SINTER_INTERRUPTED,
                      self + " was ended by signal " + std::to_string(signal));
      } else if (!host.empty() && WEXITSTATUS(status) == bySsh) {
        lost = Status(SINTER_INTERRUPTED,
                      self + ": the connection to " + host + " failed");
      } else if (const int code = WEXITSTATUS(status);
                 code == SINTER_DEVICE_FAILED) {
        lost = Status(SINTER_DEVICE_FAILED, self + "'s device failed");
      } else if (code == SINTER_INTERRUPTED && lost.ok()) {
        lost = Status(SINTER_INTERRUPTED, self + " was interrupted");
      } else if (code != 0 && code != SINTER_INTERRUPTED && failed.ok()) {
        failed = Status(code <= SINTER_DEVICE_FAILED
                            ? static_cast<sinter_status>(code)
                            : SINTER_FAILED,
                        self + " has failed");
      }
    }
    canRestart_ = failed.ok() && !lost.ok();
    return failed.ok() ? lost : failed;
  }

  const TrainerOptions &options_;
  const std::string program_;
  std::vector<std::string> given_;
  std::vector<std::string> hosts_; // by rank; "": here
  std::vector<Child> children_;
  std::string token_;
  uint64_t starts_ = 0; // of all processes
  bool isRestart_ = false, canRestart_ = false;
  bool isAskedToEnd_ = false; // by SIGUSR1, which saves and ends
};

} // namespace

Status sinter::rt::runLaunch(const TrainerOptions &options,
                             std::span<const char *const> arguments) {
  if (options.rank || options.world)
    return Status::invalid("launch: sets --rank and --world itself");
  watchSignals(/*usr1Saves=*/true);
  return Launcher(options, arguments).run();
}
