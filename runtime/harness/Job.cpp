//===- Job.cpp - a training run in several processes ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/Job.h"

#include "runtime/base/Hash.h"
#include "runtime/base/ThreadPool.h"
#include "runtime/exec/ArtifactPlaces.h"
#include "runtime/harness/Replicas.h"
#include "runtime/harness/Signals.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sched.h>
#include <unistd.h>

using namespace sinter::rt;

Result<std::unique_ptr<Job>> Job::join(const sinter_artifact &artifact,
                                       const TrainerOptions &options) {
  const auto replicas = static_cast<uint32_t>(replicasOf(artifact));
  RankFlags flags;
  flags.rank = options.rank;
  flags.world = options.world;
  flags.leader = options.leader;
  Result<Ranks> ranks = findRanks(flags, [](const char *name) -> const char * {
    return std::getenv(name);
  });
  if (!ranks.ok())
    return ranks.status();
  if (const char *tasks = std::getenv("SLURM_NTASKS");
      ranks->source.empty() && !options.world && replicas > 1 && tasks &&
      std::string(tasks) != "1")
    std::fprintf(stderr,
                 "note: Slurm's job has %s tasks, this is one process: srun "
                 "starts several\n",
                 tasks);
  auto job = std::make_unique<Job>();
  job->ranks_ = *ranks;
  if (replicas % ranks->world != 0)
    return Status::invalid(
        ranks->source + ": " + std::to_string(ranks->world) +
        " processes; the program was compiled for " + std::to_string(replicas) +
        (replicas == 1 ? " replica" : " replicas") +
        ": compile it with --replicas=N, a multiple of the number of "
        "processes");
  job->localReplicas_ = replicas / ranks->world;
  if (ranks->world == 1)
    return job;
  Meeting::Options meeting;
  const char *token = std::getenv("SINTER_TOKEN");
  meeting.token = token ? token : ranks->job;
  meeting.sharesMemory = options.transport == TrainerOptions::Transport::Auto;
  meeting.aliveTimeoutMs = options.commTimeoutMs;
  meeting.joinTimeoutMs = options.joinTimeoutMs;
  meeting.onLate = [&options](const std::string &missing) {
    std::fprintf(stderr,
                 "note: rank 0 waits for %s to join, for %lld s in all "
                 "(--join-timeout)\n",
                 missing.c_str(),
                 static_cast<long long>(options.joinTimeoutMs / 1000));
  };
  meeting.isInterrupted = stopRequested;
  Result<std::unique_ptr<Meeting>> joined = Meeting::join(*ranks, meeting);
  if (!joined.ok())
    return joined.status();
  job->meeting_ = std::move(*joined);
  SINTER_RETURN_IF_ERROR(job->findLocalRank());
  SINTER_RETURN_IF_ERROR(job->agreeOnModes(options));
  return job;
}

/// What decides which messages the processes send.
Status Job::agreeOnModes(const TrainerOptions &options) {
  using NonFinite = TrainerOptions::NonFinite;
  const std::string check = options.checkNonfinite == NonFinite::Off  ? "off"
                            : options.checkNonfinite == NonFinite::Op ? "op"
                            : options.locatesNonfinite                ? "step"
                                                                      : "";
  std::string injection;
  if (const std::optional<Injection> &given = options.injection)
    injection =
        (given->node.empty() ? given->entry + ":" + given->command.number()
                             : given->node) +
        "@" + std::to_string(given->step + 1);
  return agree(
      {{"--verify-resume",
        options.verifyResume ? std::to_string(*options.verifyResume) : ""},
       {"--check-nonfinite", check},
       {"--inject-nonfinite", injection}});
}

Status Job::beginRun() {
  allowed_ = 0;
  mostAllowed_ = 1;
  allowedAt_ = {};
  return meeting_ ? meeting_->beginRun() : Status();
}

static std::string hostName() {
  char name[256] = {};
  (void)::gethostname(name, sizeof(name) - 1);
  return name;
}

/// Where no launcher says it: the number among the processes of this host.
Status Job::findLocalRank() {
  if (ranks_.knowsLocalRank)
    return {};
  Result<std::vector<std::string>> hosts =
      meeting_->gather("hosts", hostName());
  if (!hosts.ok())
    return hosts.status();
  ranks_.localRank = static_cast<uint32_t>(std::count(
      hosts->begin(), hosts->begin() + ranks_.rank, (*hosts)[ranks_.rank]));
  return {};
}

Result<int32_t> Job::ownThreads() {
  std::string place = hostName();
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (::sched_getaffinity(0, sizeof(usable), &usable) == 0)
    place.append(reinterpret_cast<const char *>(&usable), sizeof(usable));
  Result<std::vector<std::string>> places =
      meeting_->gather("processors", place);
  if (!places.ok())
    return places.status();
  const auto sharing = std::count(places->begin(), places->end(), place);
  return static_cast<int32_t>(
      std::max<int64_t>(1, availableCpus() / std::max<int64_t>(1, sharing)));
}

/// Facts as one text; names and values have no line ends.
static std::string textOf(const Job::Facts &facts) {
  std::string text;
  for (const auto &[name, value] : facts)
    text += name + "\n" + value + "\n";
  return text;
}

static std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

Status Job::agree(const Facts &facts) {
  if (!meeting_)
    return {};
  // Who differs, and in what, is looked for only if someone does.
  Result<std::string> same = combine(
      toHex(hash64(textOf(facts))), [](const std::vector<std::string> &hashes) {
        return std::string(
            std::all_of(hashes.begin(), hashes.end(),
                        [&](const auto &hash) { return hash == hashes[0]; })
                ? "same"
                : "other");
      });
  if (!same.ok() || *same == "same")
    return same.status();
  Result<std::vector<std::string>> all =
      meeting_->gather("facts " + std::to_string(++agreements_), textOf(facts));
  if (!all.ok())
    return all.status();
  const std::vector<std::string> first = linesOf(all->front());
  for (uint32_t rank = 1; rank < all->size(); ++rank) {
    const std::vector<std::string> other = linesOf((*all)[rank]);
    for (size_t i = 0; i < std::max(first.size(), other.size()); i += 2) {
      const bool isThere = i + 1 < first.size() && i + 1 < other.size();
      if (isThere && first[i] == other[i] && first[i + 1] == other[i + 1])
        continue;
      const std::string name = i < first.size() ? first[i] : other[i];
      auto valueIn = [&](const std::vector<std::string> &lines) {
        return i + 1 < lines.size() && lines[i] == name
                   ? (lines[i + 1].empty() ? "nothing" : lines[i + 1])
                   : "nothing";
      };
      endsTogether_ = true;
      return Status::invalid("rank " + std::to_string(rank) +
                             " differs from rank 0 in " + name + ": " +
                             valueIn(other) + ", not " + valueIn(first));
    }
  }
  return {};
}

Result<std::string> Job::combine(std::string bytes,
                                 const Meeting::Combine &combine) {
  if (!meeting_)
    return combine({std::move(bytes)});
  meeting_->countMessages();
  return meeting_->combine("combined " + std::to_string(++agreements_),
                           std::move(bytes), combine);
}

Result<std::string> Job::firstText(std::string text) {
  return combine(std::move(text), [](const std::vector<std::string> &all) {
    for (const std::string &one : all)
      if (!one.empty())
        return one;
    return std::string();
  });
}

Result<std::string> Job::share(std::string bytes) {
  return combine(std::move(bytes), [](const std::vector<std::string> &all) {
    return all.front();
  });
}

/// About this long, processes go on without asking.
static constexpr std::chrono::milliseconds leaseTime(50);
static constexpr int64_t mostLease = 1000;

Result<Permission> Job::awaitPermission(int64_t step, int64_t most,
                                        uint32_t askedHere) {
  if (!isLeader())
    return meeting_->awaitPermission(step);
  SINTER_RETURN_IF_ERROR(meeting_->status());
  if (step < allowed_)
    return Permission{allowed_};
  const uint32_t asked = askedHere | meeting_->takeAsked();
  for (Order order : {Order::Stop, Order::Save, Order::Compare}) {
    if (!(asked & static_cast<uint32_t>(order)))
      continue;
    // A run that stops also saves, and one that saves compares.
    const Permission permission{step, order};
    SINTER_RETURN_IF_ERROR(meeting_->allow(permission));
    return permission;
  }
  // Twice as many steps as before if they took less than the time, or half.
  const auto now = std::chrono::steady_clock::now();
  const bool isFast = now - allowedAt_ < leaseTime;
  mostAllowed_ = std::clamp<int64_t>(
      isFast ? 2 * mostAllowed_ : mostAllowed_ / 2, 1, mostLease);
  allowedAt_ = now;
  allowed_ = step + std::max<int64_t>(1, std::min(mostAllowed_, most));
  const Permission permission{allowed_};
  SINTER_RETURN_IF_ERROR(meeting_->allow(permission));
  return permission;
}

Status Job::conclude(Status status, const std::string &where,
                     const std::string &advice) {
  if (!meeting_ || status.ok() || endsTogether_)
    return status;
  // This process was interrupted; or it has got the end of the job from get().
  if (status.code() == SINTER_INTERRUPTED &&
      status.message() != meeting_->status().message())
    return status;
  const std::string self = "rank " + std::to_string(rank());
  // The connection of a sum may break before the meeting knows why.
  constexpr int64_t patienceMs = 5000;
  const Status ended = status.isAboutOthers() ? meeting_->awaitEnd(patienceMs)
                                              : meeting_->status();
  if (ended.ok()) {
    meeting_->fail(status.message());
    return status.as(status.code(), self + ": " + status.message());
  }
  // The nodes of the message are in front of what the group says, its number
  // and size at the end.
  std::string text = ended.message() + "; " + self + " stops " + where;
  if (const size_t colon = status.message().find(": ");
      status.isAboutOthers() && colon != std::string::npos)
    text += ", in the sum of " + status.message().substr(0, colon) +
            status.message().substr(std::min(
                status.message().rfind(", message "), status.message().size()));
  if (ended.code() == SINTER_INTERRUPTED)
    text += "; " + advice;
  return {ended.code(), text};
}
