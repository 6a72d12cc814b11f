//===- TrainerNonFinite.cpp - what a run does about NaNs and infinities ---===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A step whose loss is not finite changes no state. By default only the loss is
// checked, and the states once it is not finite: what they hold was there
// before the step. If --check-nonfinite is given, the states before each step
// are kept. =op checks every command; =step checks the loss and all states
// after the step, and runs the step that went wrong again, command by command.
// Both write the step to a file (TrainerReplay.cpp). Several processes tell
// each other after every step what they have found, and do and say the same.
// Without the option, all get the same loss, and save what was before the step.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/ArtifactPlaces.h"
#include "runtime/exec/DividedStates.h"
#include "runtime/exec/Program.h"
#include "runtime/harness/Trainer.h"

#include "sinter/program_names.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

using namespace sinter::rt;

using NonFinite = TrainerOptions::NonFinite;

Status Trainer::prepareFinder() {
  if (options_.injection && !options_.locatesNonfinite)
    return Status::invalid("--inject-nonfinite needs --check-nonfinite=step or "
                           "=op");
  return options_.locatesNonfinite ? replicas_->makeFinders(options_.injection)
                                   : Status();
}

/// Keeps the states before the step that begins, of divided ones what this
/// process holds, and decides whether the step's commands are watched. Those of
/// the first one are, to learn what is the model's own.
Status Trainer::keepStates() {
  if (!options_.locatesNonfinite)
    return {};
  const sinter_artifact &artifact = session_->program()->program->artifact();
  keptStates_.resize(artifact.numStates);
  for (uint32_t i = 0; i < artifact.numStates; ++i)
    if (!isRefreshed(artifact, i))
      SINTER_RETURN_IF_ERROR(replicas_->readState(i, keptStates_[i]));
  // The finder also makes an injected value.
  replicas_->setWatching(
      options_.checkNonfinite == NonFinite::Op || isFirstWatched_ ||
      (options_.injection && options_.injection->step == step_));
  replicas_->beginWatched(step_);
  return {};
}

Status Trainer::restoreStates() {
  const sinter_artifact &artifact = session_->program()->program->artifact();
  for (uint32_t i = 0; i < keptStates_.size(); ++i)
    if (!isRefreshed(artifact, i))
      SINTER_RETURN_IF_ERROR(replicas_->writeState(i, keptStates_[i]));
  return {};
}

/// Of divided states, looks at what this process holds.
Result<std::optional<Trainer::BadState>> Trainer::nonFiniteState() {
  const sinter_artifact &artifact = session_->program()->program->artifact();
  std::vector<uint8_t> bytes;
  for (uint32_t i = 0; i < artifact.numStates; ++i) {
    const sinter_tensor_desc &tensor = artifact.states[i].tensor;
    if (!isFloatType(tensor.dtype) || isRounded(artifact.states[i]))
      continue;
    SINTER_RETURN_IF_ERROR(replicas_->readState(i, bytes));
    FloatSummary now = summarize(tensor.dtype, bytes.data(), bytes.size());
    // Values that were there before, as in a mask, are not an error.
    if ((now.kinds &
         ~summarize(tensor.dtype, keptStates_[i].data(), bytes.size()).kinds) ==
        0)
      continue;
    const uint64_t size = elementBytes(static_cast<sinter_dtype>(tensor.dtype));
    return std::optional(BadState{
        i, "state '" + session_->states().name(i) + "' has " +
               kindText(now.kinds) + " (element " +
               std::to_string(replicas_->firstByte(i) / size + now.firstBad) +
               " of " + std::to_string(tensor.sizeBytes / size) + "; " +
               rangeText(now) +
               (bytes.size() < tensor.sizeBytes
                    ? " in the part of rank " + std::to_string(job_->rank())
                    : "") +
               ")"});
  }
  return std::optional<BadState>();
}

std::string Trainer::rowsText(int64_t step) const {
  std::vector<int64_t> rows(static_cast<size_t>(order_.batch));
  order_.rowsOf(step, rows.data());
  rows.resize(static_cast<size_t>(order_.validRows(step)));
  std::string text = "rows ";
  for (size_t i = 0; i < std::min<size_t>(rows.size(), 8); ++i)
    text += (i ? ", " : "") + std::to_string(rows[i]);
  return text + (rows.size() > 8 ? ", ..." : "");
}

/// Checks step `step` after it was finished. A skipped one has changed nothing
/// but the loss scale.
Status Trainer::checkFinite(int64_t step, bool isSkipped) {
  const bool isLossFinite = std::isfinite(lastLoss_);
  if (!isLossFinite && !isSkipped)
    ++lossesNotFinite_;
  if (options_.checkNonfinite == NonFinite::Off || isSkipped)
    return {};
  std::string what;
  if (!isLossFinite)
    what = "the loss of step " + std::to_string(step + 1) +
           " is not a finite number (" + rowsText(step) + ")";
  if (options_.locatesNonfinite)
    return lookForNonFinite(step, std::move(what));
  return what.empty() ? Status() : blameLoss(step, what);
}

/// After step `step`, whose loss is not finite if `what` says so.
Status Trainer::lookForNonFinite(int64_t step, std::string what) {
  Found here;
  here.finding = replicas_->finding();
  if (what.empty()) {
    Result<std::optional<BadState>> state = nonFiniteState();
    if (!state.ok())
      return state.status();
    here.state = std::move(*state);
  }
  Result<Found> found = findTogether(here);
  if (!found.ok())
    return found.status();
  if (found->state)
    what = "after step " + std::to_string(step + 1) + " " + found->state->text;
  const std::optional<Finding> &finding = found->finding;
  if (!what.empty())
    return reportNonFinite(step, what, finding);
  if (isFirstWatched_ && !(finding && finding->overflows))
    replicas_->learn();
  else if (options_.checkNonfinite == NonFinite::Op && finding)
    return reportNonFinite(step,
                           "step " + std::to_string(step + 1) +
                               " has values that are not finite (" +
                               rowsText(step) + ")",
                           finding);
  isFirstWatched_ = false;
  if (options_.injection && options_.injection->step == step &&
      job_->isLeader())
    progress_->warn("warning: --inject-nonfinite: the value of step " +
                    std::to_string(step + 1) +
                    " was not found: no command read it, and the loss and "
                    "all states are finite");
  return {};
}

//===----------------------------------------------------------------------===//
// What several processes have found
//===----------------------------------------------------------------------===//

using Json = nlohmann::json;

static std::string textOf(const Json &object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Of all processes: the first state, and the finding that is nearest to the
/// cause.
Result<Trainer::Found> Trainer::findTogether(const Found &here) {
  if (!job_->spansProcesses())
    return here;
  Json own = Json::object();
  if (here.state)
    own["state"] = {here.state->index, here.state->text};
  if (const std::optional<Finding> &finding = here.finding)
    own["finding"] = {finding->text, finding->replica, finding->position,
                      finding->overflows};
  auto findingOf = [](const Json &of) {
    const Json &values = of["finding"];
    return Finding{values.at(0).get<std::string>(), values.at(1), values.at(2),
                   values.at(3)};
  };
  Result<std::string> text =
      job_->combine(textOf(own), [&](const std::vector<std::string> &texts) {
        Json all = Json::object();
        for (const std::string &one : texts) {
          const Json of = Json::parse(one);
          if (of.contains("state") && (!all.contains("state") ||
                                       of["state"].at(0) < all["state"].at(0)))
            all["state"] = of["state"];
          if (of.contains("finding") &&
              (!all.contains("finding") ||
               findingOf(of).isBefore(findingOf(all))))
            all["finding"] = of["finding"];
        }
        return textOf(all);
      });
  if (!text.ok())
    return text.status();
  const Json all = Json::parse(*text);
  Found found;
  if (all.contains("state"))
    found.state = BadState{all["state"].at(0), all["state"].at(1)};
  if (all.contains("finding"))
    found.finding = findingOf(all);
  return found;
}

/// "replica 3 of rank 1: '/0/Gemm' made NaN ...".
std::string Trainer::findingText(const Finding &finding) const {
  if (job_->replicas() == 1)
    return finding.text;
  std::string text = "replica " + std::to_string(finding.replica);
  if (job_->spansProcesses())
    text +=
        " of rank " + std::to_string(finding.replica / job_->localReplicas());
  return text + ": " + finding.text;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// Whether a step changes states before its loss is known: the running
/// statistics of micro-batches.
static bool changesStatesEarly(const sinter_artifact &artifact) {
  return microBatchesOf(artifact) > 1 &&
         std::any_of(artifact.states, artifact.states + artifact.numStates,
                     [](const sinter_state_desc &state) {
                       return state.role == SINTER_STATE_BUFFER;
                     });
}

/// The error for a loss of `step` that is not finite, which `what` says. Names
/// the step whose update caused it, if one did.
Status Trainer::blameLoss(int64_t step, std::string what) {
  std::string updates = std::to_string(step);
  bool isLast = !replicas_->underWay(), isOfAll = false;
  if (job_->spansProcesses()) {
    // All have the same loss. Steps that were started may differ, and are not
    // waited for together.
    job_->setStep(step, /*isTraining=*/false);
    Result<std::string> later = job_->firstText(isLast ? "" : "later");
    if (!later.ok())
      return later.status();
    isOfAll = later->empty();
    isLast &= isOfAll;
    job_->setStep(step, /*isTraining=*/!isOfAll);
  }
  // With dynamic scaling, only gradients that are not finite protect the
  // states.
  const bool isKept = !lossScale() && !changesStatesEarly(artifact_);
  if (!isKept)
    updates += " or " + std::to_string(step + 1);
  // Later steps were started before this was known.
  const uint64_t later = replicas_->underWay();
  if (later > 0)
    updates += (later > 1 ? " or one of " : " or ") + std::to_string(step + 2);
  if (later > 1)
    updates += " to " + std::to_string(step + 1 + int64_t(later));
  while (replicas_->underWay())
    SINTER_RETURN_IF_ERROR(replicas_->finish());
  std::optional<std::string> bad;
  if (step > soundStep_) {
    auto found = session_->states().findNonFinite(session_->program());
    if (!found.ok())
      return found.status().as(
          found.status().code(),
          what + "; the states cannot be read: " + found.status().message());
    bad = std::move(*found);
  }
  if (isOfAll) { // of divided states, one process may have the bad part
    Result<std::string> first = job_->firstText(bad.value_or(""));
    if (!first.ok())
      return first.status();
    bad = first->empty() ? std::nullopt : std::optional(*first);
    job_->endTogether();
  }
  if (bad)
    what = "after the update of step " + updates + " " + *bad + ", and " + what;
  else if (isKept)
    what += "; the step changed no state";
  const std::string advice =
      "; --check-nonfinite=step or =op names what made it";
  if (!bad && isKept && isLast && !options_.out.empty()) {
    savesTogether_ = isOfAll;
    return keepsStates(Status::failed(what + advice), step);
  }
  return Status::failed(what + savedText() + advice);
}

/// Ends the run after step `step`, in which `what` was found. Without a
/// `finding`, runs the step again to get one.
Status Trainer::reportNonFinite(int64_t step, const std::string &what,
                                std::optional<Finding> finding) {
  // Others wait while rank 0 writes the file.
  job_->setStep(step, /*isTraining=*/false);
  Result<std::string> advice = writeReplay(step);
  if (!advice.ok())
    return advice.status();
  if (!finding) {
    SINTER_RETURN_IF_ERROR(restoreStates());
    Result<Replicas::StepData> data = replicas_->dataOf(
        *trainData_, order_, step, job_->firstReplica(), job_->localReplicas());
    if (!data.ok())
      return data.status();
    replicas_->setWatching(true);
    replicas_->beginWatched(step);
    job_->setStep(step, /*isTraining=*/true);
    SINTER_RETURN_IF_ERROR(replicas_->run(control(step), *data));
    job_->setStep(step, /*isTraining=*/false);
    Result<Found> found = findTogether({{}, replicas_->finding()});
    if (!found.ok())
      return found.status();
    finding = std::move(found->finding);
  }
  job_->endTogether();
  return Status::failed(what + ": " +
                        (finding ? findingText(*finding)
                                 : "no command made it, it existed before") +
                        "; " + *advice);
}
