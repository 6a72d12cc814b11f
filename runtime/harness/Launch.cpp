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
#include "runtime/exec/ArtifactPlaces.h"
#include "runtime/harness/Commands.h"
#include "runtime/harness/Signals.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
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
  /// When launch has killed it, because it did not end with the others.
  std::optional<std::chrono::steady_clock::time_point> killed;
};

/// After one process has ended, the others have this long to end as well; rank
/// 0 has the second time while it saves.
constexpr std::chrono::seconds patience(20);
constexpr std::chrono::minutes savePatience(30);

/// What keeps ssh from telling of a process that was killed for longer.
constexpr std::chrono::seconds sshPatience(3);

/// Whether a checkpoint is being written in `directory`; `ifUnseen` if that
/// cannot be seen from here.
bool isSavingIn(const std::string &directory, bool ifUnseen) {
  DIR *folder = ::opendir(directory.c_str());
  if (!folder)
    return ifUnseen;
  bool isSaving = false;
  while (const dirent *entry = ::readdir(folder))
    isSaving |= std::string_view(entry->d_name).starts_with(".tmp-step-");
  ::closedir(folder);
  return isSaving;
}

/// "rank 2 has", "ranks 1 and 2 have", "all processes have".
std::string haveText(const std::vector<size_t> &ranks, size_t world) {
  if (ranks.size() == world && world > 1)
    return "all processes have";
  std::string text;
  for (size_t i = 0; i < ranks.size(); ++i)
    text += (i == 0                  ? ""
             : i + 1 == ranks.size() ? " and "
                                     : ", ") +
            std::to_string(ranks[i]);
  return (ranks.size() > 1 ? "ranks " : "rank ") + text +
         (ranks.size() > 1 ? " have" : " has");
}

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
  /// The program is compiled for `replicas`.
  Launcher(const TrainerOptions &options, int64_t replicas,
           std::span<const char *const> arguments)
      : options_(options), replicas_(replicas), program_(arguments.front()) {
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
    // Each process would say it, of options that the user has not given.
    if (const auto size = static_cast<int64_t>(hosts_.size());
        replicas_ % size != 0)
      return Status::invalid(
          (count > 0 ? "launch: -n " + std::to_string(count)
                     : options_.hosts + ": has " + std::to_string(size) +
                           (size == 1 ? " slot" : " slots")) +
          ": the program was compiled for " + std::to_string(replicas_) +
          (replicas_ == 1 ? " replica" : " replicas") +
          ": compile it with --replicas=N, a multiple of the number of "
          "processes");
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
    // What this job has saved comes before what it began with.
    if (isRestart_ && !options_.resume)
      words.push_back("--resume");
    else if (isRestart_ && !options_.resumePath.empty())
      for (std::string &word : words)
        if (word.starts_with("--resume="))
          word = "--resume=auto:" + options_.resumePath;
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
    // end means that this process or the connection is gone: what was stopped
    // goes on, so that it ends, too.
    line += " & pid=$!; (while read name; do kill -s $name $pid; done; "
            "kill -s TERM $pid; kill -s CONT $pid; n=0; while [ $n -lt " +
            std::to_string(std::chrono::seconds(savePatience).count()) +
            " ]; do sleep 1; n=$((n + 1)); done; kill -s KILL $pid) <&3 "
            ">/dev/null 2>&1 & reader=$!; "
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
    ended_.clear();
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

  static void send(const Child &child, int number) {
    const std::string_view line = number == SIGTERM   ? "TERM\n"
                                  : number == SIGUSR1 ? "USR1\n"
                                                      : "KILL\n";
    if (child.input < 0)
      ::kill(child.pid, number);
    else
      (void)!::write(child.input, line.data(), line.size());
  }

  void signalAll(int number) {
    for (const Child &child : children_)
      if (child.isRunning)
        send(child, number);
  }

  /// Kills a process that has not ended with the others, and then its ssh.
  static void kill(Child &child) {
    const auto now = std::chrono::steady_clock::now();
    if (!child.killed) {
      child.killed = now;
      send(child, SIGKILL);
    } else if (now - *child.killed > sshPatience) {
      ::kill(child.pid, SIGKILL);
    }
  }

  /// Whether rank 0 may be saving: after a failure, the state before it.
  bool isSaving() const {
    // Another host may have a directory of that name for itself.
    const bool ifUnseen = !hosts_.front().empty();
    return (!options_.out.empty() && isSavingIn(options_.out, ifUnseen)) ||
           (!options_.spare.empty() && isSavingIn(options_.spare, ifUnseen));
  }

  void waitForAll() {
    using Clock = std::chrono::steady_clock;
    std::optional<Clock::time_point> end, saved; // saved: may have been saving
    bool saysThatItWaits = false;
    bool hasPassedOn = false;
    while (std::any_of(children_.begin(), children_.end(),
                       [](const Child &child) { return child.isRunning; })) {
      for (size_t rank = 0; rank < children_.size(); ++rank) {
        Child &child = children_[rank];
        if (!child.isRunning ||
            ::waitpid(child.pid, &child.status, WNOHANG) != child.pid)
          continue;
        child.isRunning = false;
        ended_.push_back(rank);
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
      const Clock::time_point now = Clock::now();
      if (end && children_[0].isRunning && isSaving())
        saved = now;
      for (size_t rank = 0; end && rank < children_.size(); ++rank) {
        if (!children_[rank].isRunning || now <= *end)
          continue;
        if (rank != 0 || !saved || now - *saved > patience ||
            now - *end > savePatience) {
          kill(children_[rank]);
        } else if (!std::exchange(saysThatItWaits, true)) {
          std::fprintf(stderr, "launch: waiting for rank 0, which saves\n");
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  /// How the processes ended, and whether they may be started again. The first
  /// that was lost comes before those that ended because of it, and before
  /// those that launch has killed.
  Status outcome() {
    Status lost;
    std::vector<size_t> killed, interrupted, failed;
    int failure = 0;
    for (size_t rank : ended_) {
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
      const int code = WEXITSTATUS(status);
      if (children_[rank].killed && signal) {
        killed.push_back(rank);
      } else if (signal) {
        lost = first(lost, SINTER_INTERRUPTED,
                     self + " was ended by signal " + std::to_string(signal));
      } else if (!host.empty() && code == bySsh) {
        lost = first(lost, SINTER_INTERRUPTED,
                     self + ": the connection to " + host + " failed");
      } else if (code == SINTER_DEVICE_FAILED) {
        lost = first(lost, SINTER_DEVICE_FAILED, self + "'s device failed");
      } else if (code == SINTER_INTERRUPTED) {
        interrupted.push_back(rank);
      } else if (code != 0) {
        // Those that end because another has failed, end with SINTER_FAILED.
        if (failure == SINTER_FAILED && code != SINTER_FAILED)
          failed.clear();
        if (failed.empty() || code == failure) {
          failure = code;
          failed.push_back(rank);
        }
      }
    }
    canRestart_ = false;
    if (!failed.empty() &&
        !(lost.code() == SINTER_DEVICE_FAILED && failure == SINTER_FAILED)) {
      std::sort(failed.begin(), failed.end());
      return {failure <= SINTER_DEVICE_FAILED
                  ? static_cast<sinter_status>(failure)
                  : SINTER_FAILED,
              haveText(failed, hosts_.size()) + " failed"};
    }
    if (lost.ok() && !killed.empty())
      lost = Status(SINTER_INTERRUPTED,
                    haveText(killed, hosts_.size()) +
                        " not ended with the others, and was killed");
    if (lost.ok() && !interrupted.empty())
      lost = Status(SINTER_INTERRUPTED, haveText(interrupted, hosts_.size()) +
                                            " ended after an interruption");
    canRestart_ = !lost.ok();
    return lost;
  }

  static Status first(const Status &known, sinter_status code,
                      const std::string &text) {
    return known.ok() ? Status(code, text) : known;
  }

  const TrainerOptions &options_;
  const int64_t replicas_;
  const std::string program_;
  std::vector<std::string> given_;
  std::vector<std::string> hosts_; // by rank; "": here
  std::vector<Child> children_;
  std::vector<size_t> ended_; // ranks, in the order in which they did
  std::string token_;
  uint64_t starts_ = 0; // of all processes
  bool isRestart_ = false, canRestart_ = false;
  bool isAskedToEnd_ = false; // by SIGUSR1, which saves and ends
};

} // namespace

Status sinter::rt::runLaunch(const sinter_artifact &artifact,
                             const TrainerOptions &options,
                             std::span<const char *const> arguments) {
  if (options.rank || options.world)
    return Status::invalid("launch: sets --rank and --world itself");
  watchSignals(/*usr1Saves=*/true);
  return Launcher(options, replicasOf(artifact), arguments).run();
}
