//===- TrainerJob.cpp - a training run among several processes ------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// All processes make the same steps. Rank 0 evaluates, saves and logs; the
// others hear from it when to stop and when to compare their states.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/File.h"
#include "runtime/base/OutOfMemory.h"
#include "runtime/exec/ArtifactPlaces.h"
#include "runtime/harness/Recipe.h"
#include "runtime/harness/Signals.h"
#include "runtime/harness/SumMemory.h"
#include "runtime/harness/Trainer.h"
#include "runtime/train/CheckpointFile.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <thread>
#include <unistd.h>

using namespace sinter::rt;

/// "trace.rank3.json" for "trace.json".
static std::string ofRank(const std::string &file, uint32_t rank) {
  std::filesystem::path path = file;
  path.replace_extension(".rank" + std::to_string(rank) +
                         path.extension().string());
  return path.string();
}

/// Joins the job, and leaves to rank 0 what one process does for all.
Status Trainer::joinJob() {
  if (!job_) {
    Result<std::unique_ptr<Job>> job = Job::join(artifact_, options_);
    if (!job.ok())
      return job.status();
    job_ = std::move(*job);
  }
  if (!job_->spansProcesses())
    return {};
  Result<int32_t> threads = job_->ownThreads();
  if (!threads.ok())
    return threads.status();
  if (options_.threads == 0)
    options_.threads = *threads;
  if (job_->isLeader())
    return {};
  options_.quiet = true;
  options_.logJson.clear();
  options_.logStats = false;
  options_.tensorboard.clear();
  if (!options_.traceEvents.empty())
    options_.traceEvents = ofRank(options_.traceEvents, job_->rank());
  return {};
}

/// A file by which all recognise a directory of rank 0 while they compare them.
static std::string markIn(const std::string &directory) {
  return CheckpointStore::temporaryName(directory, "rank-0");
}

/// Whether the mark of rank 0 is in `directory`, maybe after a while: a file
/// system of a network may show new files late.
static bool hasMark(const std::string &directory, const std::string &mark) {
  constexpr int tries = 30;
  constexpr std::chrono::milliseconds pause(100);
  for (int i = 0; i < tries; ++i) {
    Result<std::vector<uint8_t>> found = readFile(markIn(directory));
    if (found.ok() && std::string(found->begin(), found->end()) == mark)
      return true;
    // It may still appear.
    if (i + 1 < tries)
      std::this_thread::sleep_for(pause);
  }
  return false;
}

/// Once rank 0 has opened its directories, in which the others look for
/// checkpoints, and write their parts.
Status Trainer::agreeOnDirectories() {
  if (!job_->spansProcesses() || !numDivided(artifact_))
    return job_->agree({}); // the others wait until rank 0 has made them
  const std::pair<const char *, const std::string *> directories[] = {
      {"--out", &options_.out}, {"--spare", &options_.spare}};
  std::string mark;
  if (job_->isLeader()) {
    std::random_device random;
    mark = std::to_string(random()) + "-" + std::to_string(random());
    for (const auto &[name, directory] : directories)
      if (!directory->empty())
        SINTER_RETURN_IF_ERROR(writeFileAtomic(markIn(*directory), mark));
  }
  Result<std::string> shared = job_->share(mark);
  if (!shared.ok())
    return shared.status();
  Job::Facts facts;
  for (const auto &[name, directory] : directories)
    facts.emplace_back(
        std::string(name) + " (all processes share it, because each writes "
                            "a part of a checkpoint)",
        directory->empty()             ? "none"
        : hasMark(*directory, *shared) ? "rank 0's"
                                       : "another directory, " + *directory);
  Status same = job_->agree(facts);
  if (job_->isLeader())
    for (const auto &[name, directory] : directories)
      if (!directory->empty())
        ::unlink(markIn(*directory).c_str());
  return same;
}

/// Before the first step: whether all processes would train the same.
Status Trainer::agreeOnRun() {
  if (!job_->spansProcesses())
    return {};
  Job::Facts facts = {
      {"the program (its build id)", artifact_.buildId},
      {"the first step (give all --resume, and the same checkpoints)",
       std::to_string(step_)},
      {"the number of steps", std::to_string(totalSteps_)},
      {"the rows of --data", std::to_string(order_.rows)},
      {"the size of --data", std::to_string(fingerprint_.sizeBytes)},
      {"the content of --data", std::to_string(fingerprint_.contentHash)}};
  // Also options without a value, so that all have the same names.
  std::map<std::string, std::string> values;
  for (const auto &[name, value] : runOptions(options_))
    values[name] = value;
  auto presence = [](const std::string &text) {
    return text.empty() ? "" : "given";
  };
  // Files may lie elsewhere on another host, and only rank 0 evaluates.
  values["eval-data"] = presence(options_.evalData);
  for (const auto &[name, shapesRun] : trainOptionNames())
    if (shapesRun && name != "data")
      facts.emplace_back("--" + name, values[name]);
  facts.emplace_back("--out", presence(options_.out));
  facts.emplace_back("--spare", presence(options_.spare));
  facts.emplace_back("--on-usr1", options_.goesOnAfterUsr1 ? "save" : "stop");
  SINTER_RETURN_IF_ERROR(job_->agree(facts));
  if (job_->isLeader() && savedStep_ >= 0)
    job_->tellSaved(savedStep_);
  Status same = replicas_->checkProcesses();
  return same.code() == SINTER_MISMATCH
             ? Status::invalid(same.message() + ", before the first step")
             : same;
}

/// What sums over processes hold here, for --verbose.
std::string Trainer::sumsText() const {
  const uint64_t bytes = spanningBytes(artifact_, job_->processes());
  if (!bytes)
    return "";
  return "sums over processes of " + std::to_string(bytes) + " bytes by " +
         job_->meeting()->transport() + ", ";
}

bool Trainer::isStopped() const {
  return job_->spansProcesses() ? isStopOrdered_ : stopRequested();
}

/// Of rank 0: whether the states of all processes were not compared for many
/// steps. The time bounds what that costs.
bool Trainer::isTimeToCompare() const {
  constexpr int64_t steps = 100;
  constexpr std::chrono::seconds time(1);
  return step_ - std::max(comparedStep_, firstStep_) >= steps &&
         std::chrono::steady_clock::now() - comparedAt_ >= time;
}

/// Whether all processes have the same states after step_. None that differ are
/// saved.
Status Trainer::compareProcesses() {
  Status same = replicas_->checkProcesses();
  if (same.code() != SINTER_MISMATCH)
    return same;
  saysWhatIsLost_ = true;
  return same.as(SINTER_MISMATCH,
                 same.message() + ", after step " + std::to_string(step_) +
                     "; nothing is saved after step " +
                     std::to_string(std::max(comparedStep_, firstStep_)) +
                     ", where they were the same");
}

/// Where the steps that may begin now end: before `end`, or at step_ if there
/// was an order, which has been followed.
Result<int64_t> Trainer::awaitPermission(int64_t end) {
  if (!job_->spansProcesses())
    return end;
  uint32_t asked = 0;
  if (job_->isLeader()) {
    if (stopRequested())
      asked |= static_cast<uint32_t>(Order::Stop);
    if (step_ != lastOrderedSave_ && step_ > firstStep_ && isTimeToSave())
      asked |= static_cast<uint32_t>(Order::Save);
    if (isTimeToCompare())
      asked |= static_cast<uint32_t>(Order::Compare);
  } else {
    if (stopRequested() && !hasAskedToStop_) {
      hasAskedToStop_ = true;
      job_->ask(Order::Stop);
    }
    if (takeSaveRequest())
      job_->ask(Order::Save);
  }
  int64_t most = std::min(end - step_, saveTimes_.stepsLeft(step_));
  // So that the others wait if the evaluation fails, and save their parts.
  if (evalData_ && job_->spansProcesses())
    most = std::min(most, order_.batchesPerEpoch() -
                              step_ % order_.batchesPerEpoch());
  Result<Permission> permission = job_->awaitPermission(step_, most, asked);
  if (!permission.ok())
    return permission.status();
  switch (permission->order) {
  case Order::None:
    return std::min(end, permission->step);
  case Order::Stop:
    isStopOrdered_ = true;
    if (job_->isLeader() && !stopRequested())
      progress_->warn("note: " + job_->meeting()->stopAskedBy() +
                      " got a signal to stop, so all processes do");
    break;
  case Order::Compare:
  case Order::Save:
    SINTER_RETURN_IF_ERROR(finishSteps());
    job_->setStep(step_, /*isTraining=*/false);
    if (permission->order == Order::Save)
      SINTER_RETURN_IF_ERROR(checkData(/*ofAll=*/true));
    SINTER_RETURN_IF_ERROR(compareProcesses());
    comparedStep_ = step_;
    comparedAt_ = std::chrono::steady_clock::now();
    if (permission->order == Order::Compare)
      break;
    lastOrderedSave_ = step_;
    if (store_)
      SINTER_RETURN_IF_ERROR(saveOrWarn());
    SINTER_RETURN_IF_ERROR(job_->isLeader() ? endSaves() : assistSaves());
    break;
  }
  return step_;
}

//===----------------------------------------------------------------------===//
// Checkpoints of which every process has a part
//===----------------------------------------------------------------------===//

// Rank 0 says where the others write, once for each time that it tries to save,
// and then that it is done. They say what they have written.

/// Whether other processes have parts of the states.
bool Trainer::dividesStates() const {
  return job_->spansProcesses() && session_ && session_->states().hasDivided();
}

std::string Trainer::partName() const {
  return partFileName(job_->rank(), job_->processes());
}

static std::string saveKey(const char *what, uint64_t round) {
  return std::string(what) + " " + std::to_string(round);
}

/// `text` with a mark in front: of what was written, or of an error.
static constexpr char writtenMark = '+', failedMark = '-';

/// What `write` returns. Too little memory is an error like others: rank 0
/// waits for an answer of all.
template <typename Write> static std::string answerOf(Write write) {
  std::string text;
  Status status = orOutOfMemory([&]() -> Status {
    Result<Manifest::PartFile> written = write();
    if (written.ok())
      text = writtenMark + partFileText(*written);
    return written.status();
  });
  return status.ok() ? text : failedMark + status.message();
}

/// Rank 0, in CheckpointStore::save().
Result<std::vector<Manifest::PartFile>>
Trainer::writeAllParts(const std::string &directory) {
  const uint64_t round = ++saveRounds_;
  // The others may see the directory elsewhere.
  const size_t slash = directory.rfind('/');
  const bool isSpare =
      spare_ && directory.substr(0, slash) == spare_->directory();
  const std::string name = directory.substr(slash + 1);
  SINTER_RETURN_IF_ERROR(job_->meeting()->put(
      saveKey("save", round), (isSpare ? "spare/" : "out/") + name,
      job_->processes() - 1));
  Result<std::vector<std::string>> answers = job_->meeting()->gather(
      saveKey("parts", round), answerOf([&] {
        return writePartFile(directory, partName(), session_->states());
      }));
  if (!answers.ok())
    return answers.status();
  std::vector<Manifest::PartFile> files;
  for (uint32_t rank = 0; rank < answers->size(); ++rank) {
    const std::string &text = (*answers)[rank];
    const std::string who = "rank " + std::to_string(rank) + ": ";
    if (text.empty() || text.front() != writtenMark)
      return Status::failed(who +
                            text.substr(std::min<size_t>(1, text.size())));
    Result<Manifest::PartFile> file = parsePartFile(text.substr(1));
    if (!file.ok())
      return Status::failed(who + "its answer " + file.status().message());
    files.push_back(std::move(*file));
  }
  return files;
}

/// `where` is "out/NAME" or "spare/NAME", a directory in --out or --spare.
Result<Manifest::PartFile> Trainer::writeOwnPart(const std::string &where) {
  const std::string &parent =
      where.starts_with("spare/") ? options_.spare : options_.out;
  const std::string directory =
      parent + "/" + where.substr(where.find('/') + 1);
  const std::string option = where.starts_with("spare/") ? "--spare" : "--out";
  if (parent.empty() || ::access(directory.c_str(), F_OK) != 0)
    return Status::failed(
        (parent.empty() ? "has no " + option + ", which"
                        : "there is no " + directory + " here: " + option) +
        " must be one directory that all processes share, "
        "because each writes a part of a checkpoint");
  // Rank 0 has looked at its own part alone.
  SINTER_RETURN_IF_ERROR(session_->states().checkFinite(session_->program()));
  return writePartFile(directory, partName(), session_->states());
}

/// Rank 0, after its last try to save these states.
Status Trainer::endSaves() {
  return dividesStates() ? job_->meeting()->put(saveKey("save", ++saveRounds_),
                                                "", job_->processes() - 1)
                         : Status();
}

/// Rank 0, after a failure for which the others wait, before step_ or after
/// their last step: they compare the states, and assist then.
Status Trainer::meetToSave() {
  if (step_ < std::min(totalSteps_, options_.stopAfter))
    SINTER_RETURN_IF_ERROR(job_->give(step_, Order::Save));
  SINTER_RETURN_IF_ERROR(checkTrainData(/*ofAll=*/true));
  return compareProcesses();
}

/// The other processes, meanwhile.
Status Trainer::assistSaves() {
  if (!dividesStates())
    return {};
  if (options_.checkNonfinite != TrainerOptions::NonFinite::Off)
    SINTER_RETURN_IF_ERROR(checkStates());
  while (true) {
    const uint64_t round = ++saveRounds_;
    Result<std::string> where = job_->meeting()->get(saveKey("save", round));
    if (!where.ok())
      return where.status();
    if (where->empty())
      return {};
    Result<std::vector<std::string>> answers =
        job_->meeting()->gather(saveKey("parts", round),
                                answerOf([&] { return writeOwnPart(*where); }));
    if (!answers.ok())
      return answers.status();
  }
}
