//===- Ranks.cpp - which process of a job this is -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/Ranks.h"

#include "runtime/base/Hash.h"

#include <charconv>

using namespace sinter::rt;

namespace {

/// The host of rank 0 as the launcher tells it, or "".
using HostOfLeader = std::string (*)(const Environment &, uint32_t world);

std::string get(const Environment &environment, const char *name) {
  const char *value = name ? environment(name) : nullptr;
  return value ? value : "";
}

std::string leaderUnknown(const Environment &, uint32_t) { return ""; }

std::string leaderOfSlurm(const Environment &environment, uint32_t) {
  return get(environment, "SLURM_STEP_NUM_NODES") == "1"
             ? "127.0.0.1"
             : firstHostOf(get(environment, "SLURM_STEP_NODELIST"));
}

std::string leaderOfMpi(const Environment &environment, uint32_t world) {
  return get(environment, "OMPI_COMM_WORLD_LOCAL_SIZE") == std::to_string(world)
             ? "127.0.0.1"
             : "";
}

/// The variables of one launcher; null: it has none for that.
struct Launcher {
  const char *name;
  const char *rank, *world, *localRank;
  const char *job;
  HostOfLeader leader;
  /// What to add if nothing names the leader.
  const char *advice;
  /// Whether `rank` without `world` means that there is one process: the
  /// variable is there for other reasons, too.
  bool rankAloneIsNothing = false;
};

/// The innermost comes first. Slurm sets SLURM_PROCID for a batch script, too;
/// only tasks of srun have SLURM_STEP_NUM_TASKS.
constexpr Launcher launchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_RUN_ID",
     leaderUnknown, "set MASTER_ADDR and MASTER_PORT"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK", "PMIX_NAMESPACE", leaderOfMpi,
     "add -x MASTER_ADDR=HOST -x MASTER_PORT=PORT to mpirun, with the host of "
     "rank 0"},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID",
     "SLURM_JOB_ID", leaderOfSlurm,
     "export MASTER_ADDR and MASTER_PORT before srun, with the host of rank 0",
     true},
    {"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "PMI_JOBID",
     leaderUnknown, "set MASTER_ADDR and MASTER_PORT to the host of rank 0"},
    {"Kubernetes", "JOB_COMPLETION_INDEX", "WORLD_SIZE", nullptr, nullptr,
     leaderUnknown,
     "set MASTER_ADDR to the name of the pod with index 0, and MASTER_PORT",
     true},
};

struct Number {
  std::string name; // of the variable or flag
  int64_t value;
};

Result<int64_t> parse(const std::string &name, const std::string &text) {
  int64_t value = 0;
  const char *end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || text.empty())
    return Status::invalid(name + "=" + text + ": is not a number");
  return value;
}

class Finder {
public:
  Finder(const RankFlags &flags, const Environment &environment)
      : flags_(flags), environment_(environment), launcher_(innermost()) {}

  Result<Ranks> find() {
    Ranks ranks;
    SINTER_RETURN_IF_ERROR(findNumbers(ranks));
    if (ranks.source.empty())
      return ranks;
    SINTER_RETURN_IF_ERROR(findLeader(ranks));
    return ranks;
  }

private:
  std::string get(const char *name) const { return ::get(environment_, name); }

  const Launcher *innermost() const {
    for (const Launcher &launcher : launchers)
      if (!get(launcher.rank).empty() &&
          (!launcher.rankAloneIsNothing || (flags_.world && !flags_.rank) ||
           !get(launcher.world).empty()))
        return &launcher;
    return nullptr;
  }

  /// The number of a flag or, without one, of a variable.
  Result<std::optional<Number>> number(const char *flag,
                                       const std::optional<int64_t> &given,
                                       const char *variable) const {
    const std::string text = get(variable);
    std::optional<Number> number;
    if (!text.empty()) {
      Result<int64_t> value = parse(variable, text);
      if (!value.ok())
        return value.status();
      number = Number{variable, *value};
    }
    if (given && number && number->value != *given)
      return Status::invalid(std::string(flag) + "=" + std::to_string(*given) +
                             " contradicts " + number->name + "=" +
                             std::to_string(number->value));
    if (given)
      number = Number{flag, *given};
    return number;
  }

  Status findNumbers(Ranks &ranks) {
    Result<std::optional<Number>> rank = number("--rank", flags_.rank,
                                                launcher_ ? launcher_->rank
                                                          : nullptr),
                                  world = number("--world", flags_.world,
                                                 launcher_ ? launcher_->world
                                                           : nullptr);
    SINTER_RETURN_IF_ERROR(rank.status());
    SINTER_RETURN_IF_ERROR(world.status());
    if (!*rank && !*world)
      return flags_.leader.empty()
                 ? checkAlone()
                 : Status::invalid("--leader: needs --rank and --world");
    if (!*world)
      return Status::invalid(
          (*rank)->name + "=" + std::to_string((*rank)->value) +
          ": the number of processes is missing: add --world=N" +
          (launcher_ && launcher_->world
               ? std::string(" or set ") + launcher_->world
               : ""));
    if (!*rank)
      return Status::invalid((*world)->name + "=" +
                             std::to_string((*world)->value) +
                             ": the number of this process is missing: add "
                             "--rank=N");
    constexpr int64_t most = 1 << 16;
    if ((*world)->value < 1 || (*world)->value > most)
      return Status::invalid((*world)->name + "=" +
                             std::to_string((*world)->value) +
                             ": must be from 1 to " + std::to_string(most));
    if ((*rank)->value < 0 || (*rank)->value >= (*world)->value)
      return Status::invalid((*rank)->name + "=" +
                             std::to_string((*rank)->value) +
                             ": must be below " + (*world)->name + "=" +
                             std::to_string((*world)->value));
    ranks.rank = static_cast<uint32_t>((*rank)->value);
    ranks.world = static_cast<uint32_t>((*world)->value);
    ranks.localRank = ranks.rank;
    const bool isByFlags = flags_.rank && flags_.world;
    ranks.source =
        (isByFlags ? "the command line" : std::string(launcher_->name)) + " (" +
        (*rank)->name + ", " + (*world)->name + ")";
    if (launcher_)
      ranks.job = get(launcher_->job);
    const char *local = launcher_ ? launcher_->localRank : "LOCAL_RANK";
    if (std::string text = get(local); !text.empty()) {
      Result<int64_t> value = parse(local, text);
      SINTER_RETURN_IF_ERROR(value.status());
      if (*value < 0 || *value > ranks.rank)
        return Status::invalid(std::string(local) + "=" + text +
                               ": contradicts " + (*rank)->name + "=" +
                               std::to_string(ranks.rank));
      ranks.localRank = static_cast<uint32_t>(*value);
      ranks.knowsLocalRank = true;
    }
    return {};
  }

  /// Whether no launcher has numbered this process, and not only in part.
  Status checkAlone() const {
    constexpr const char *alone = ", or --world=1 to train alone";
    for (const Launcher &launcher : launchers) {
      const std::string local =
          launcher.localRank ? get(launcher.localRank) : "";
      if (launcher.rankAloneIsNothing) {
        // Slurm's batch script and the only pod of a Job have number 0.
        if (const std::string rank = get(launcher.rank);
            !rank.empty() && rank != "0")
          return Status::invalid(std::string(launcher.rank) + "=" + rank +
                                 ": the number of processes is missing: set " +
                                 launcher.world + ", add --world=N" + alone);
      } else if (environment_(launcher.rank) && get(launcher.world) != "1") {
        return Status::invalid(std::string(launcher.rank) +
                               "=: is empty: set it to the number of this "
                               "process, or unset it");
      }
      if (const std::string text = get(launcher.world);
          !text.empty() && text != "1")
        return Status::invalid(std::string(launcher.world) + "=" + text +
                               ": the number of this process is missing: set " +
                               launcher.rank + ", add --rank=N" + alone);
      if (!local.empty() && local != "0")
        return Status::invalid(std::string(launcher.localRank) + "=" + local +
                               ": " + launcher.rank + " and " + launcher.world +
                               " are missing: set them, add --rank=N and "
                               "--world=N" +
                               alone);
    }
    return {};
  }

  Status setPort(Ranks &ranks, const std::string &name,
                 const std::string &text) const {
    Result<int64_t> port = parse(name, text);
    SINTER_RETURN_IF_ERROR(port.status());
    if (*port < 1 || *port > UINT16_MAX)
      return Status::invalid(name + "=" + text + ": a port is from 1 to 65535");
    ranks.leaderPort = static_cast<uint16_t>(*port);
    return {};
  }

  Status findLeader(Ranks &ranks) {
    if (!flags_.leader.empty()) {
      const size_t colon = flags_.leader.rfind(':');
      std::string host = flags_.leader.substr(0, colon);
      if (host.size() > 2 && host.front() == '[' && host.back() == ']')
        host = host.substr(1, host.size() - 2); // IPv6
      if (colon == std::string::npos || host.empty())
        return Status::invalid("--leader=" + flags_.leader +
                               ": expected HOST:PORT");
      ranks.leaderHost = host;
      return setPort(ranks, "--leader", flags_.leader.substr(colon + 1));
    }
    if (ranks.world == 1)
      return {};
    ranks.leaderHost = get("MASTER_ADDR");
    if (std::string port = get("MASTER_PORT"); !port.empty()) {
      SINTER_RETURN_IF_ERROR(setPort(ranks, "MASTER_PORT", port));
      // There, torchrun's own store listens.
      if (get("TORCHELASTIC_USE_AGENT_STORE") == "True" &&
          ranks.leaderPort < UINT16_MAX)
        ++ranks.leaderPort;
    }
    if (ranks.leaderHost.empty() && launcher_)
      ranks.leaderHost = launcher_->leader(environment_, ranks.world);
    if (!ranks.leaderPort && launcher_ && !ranks.job.empty())
      ranks.leaderPort = portOfJob(ranks.job);
    if (ranks.leaderHost.empty() || !ranks.leaderPort)
      return Status::invalid(
          ranks.source + ": where rank 0 listens is not known: " +
          (launcher_ && !(flags_.rank && flags_.world)
               ? std::string(launcher_->advice) + ", or add --leader=HOST:PORT"
               : "add --leader=HOST:PORT"));
    return {};
  }

  const RankFlags &flags_;
  const Environment &environment_;
  const Launcher *const launcher_; // null: none
};

} // namespace

uint16_t sinter::rt::portOfJob(const std::string &job) {
  constexpr uint16_t first = 20000, count = 12000;
  return static_cast<uint16_t>(first + hash64(job) % count);
}

std::string sinter::rt::firstHostOf(const std::string &list) {
  const size_t bracket = list.find_first_of("[,");
  if (bracket == std::string::npos || list[bracket] == ',')
    return list.substr(0, bracket);
  const size_t end = list.find_first_of("-,]", bracket);
  const size_t close = list.find(']', bracket);
  if (end == std::string::npos || close == std::string::npos)
    return "";
  const size_t comma = list.find(',', close);
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1) +
         list.substr(close + 1, comma == std::string::npos ? std::string::npos
                                                           : comma - close - 1);
}

std::vector<const char *> sinter::rt::launcherVariables() {
  std::vector<const char *> names = {"MASTER_ADDR", "MASTER_PORT"};
  for (const Launcher &launcher : launchers)
    for (const char *name : {launcher.rank, launcher.world, launcher.localRank})
      if (name)
        names.push_back(name);
  return names;
}

Result<Ranks> sinter::rt::findRanks(const RankFlags &flags,
                                    const Environment &environment) {
  // One of many single runs that a launcher has started, as for a sweep.
  if (flags.world == 1 && flags.rank.value_or(0) == 0 && flags.leader.empty())
    return Ranks();
  return Finder(flags, environment).find();
}
