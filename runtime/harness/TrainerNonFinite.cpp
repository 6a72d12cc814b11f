//===- TrainerNonFinite.cpp - what a run does about NaNs and infinities ---===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A step whose loss is not finite changes no state. By default only the loss is
// checked, and the states once it is not finite: what they hold was there
// before the step. If --check-nonfinite is given, the states before each step
// are kept. =op checks every command; =step checks the loss and all states
// after the step, and runs the step that went wrong again, command by command.
// Both write the step to a file.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/ArtifactPlaces.h"
#include "runtime/exec/Program.h"
#include "runtime/harness/Trainer.h"

#include "sinter/program_names.h"

#include <algorithm>
#include <cmath>

using namespace sinter::rt;

using NonFinite = TrainerOptions::NonFinite;

Status Trainer::prepareFinder() {
  if (options_.injection && !options_.locatesNonfinite)
    return Status::invalid("--inject-nonfinite needs --check-nonfinite=step or "
                           "=op");
  // It keeps the states before each step, those of one replica for all.
  if (options_.locatesNonfinite && session_->states().hasDivided())
    return Status::invalid("--check-nonfinite=step and =op: cannot be combined "
                           "with divided states (compiled with --shard) yet");
  return options_.locatesNonfinite ? replicas_->makeFinders(options_.injection)
                                   : Status();
}

/// Keeps the states before the step that begins, and decides whether its
/// commands are watched. Those of the first one are, to learn what is the
/// model's own.
Status Trainer::keepStates() {
  if (!options_.locatesNonfinite)
    return {};
  Program &program = *session_->program()->program;
  const sinter_artifact &artifact = program.artifact();
  keptStates_.resize(artifact.numStates);
  for (uint32_t i = 0; i < artifact.numStates; ++i) {
    if (isRounded(artifact.states[i]))
      continue;
    keptStates_[i].resize(artifact.states[i].tensor.sizeBytes);
    SINTER_RETURN_IF_ERROR(program.readState(i, keptStates_[i].data()));
  }
  // The finder also makes an injected value.
  replicas_->setWatching(
      options_.checkNonfinite == NonFinite::Op || isFirstWatched_ ||
      (options_.injection && options_.injection->step == step_));
  replicas_->beginWatched(step_);
  return {};
}

Status Trainer::restoreStates() {
  Program &program = *session_->program()->program;
  for (uint32_t i = 0; i < keptStates_.size(); ++i)
    if (!isRounded(program.artifact().states[i]))
      SINTER_RETURN_IF_ERROR(program.writeState(i, keptStates_[i].data()));
  return replicas_->spreadStates();
}

/// "state 'w' has NaN (element 3 of 8; ..)".
Result<std::optional<std::string>> Trainer::nonFiniteState() {
  Program &program = *session_->program()->program;
  const sinter_artifact &artifact = program.artifact();
  std::vector<uint8_t> bytes;
  for (uint32_t i = 0; i < artifact.numStates; ++i) {
    const sinter_tensor_desc &tensor = artifact.states[i].tensor;
    if (!isFloatType(tensor.dtype) || isRounded(artifact.states[i]))
      continue;
    bytes.resize(tensor.sizeBytes);
    SINTER_RETURN_IF_ERROR(program.readState(i, bytes.data()));
    FloatSummary now = summarize(tensor.dtype, bytes.data(), bytes.size());
    // Values that were there before, as in a mask, are not an error.
    if ((now.kinds &
         ~summarize(tensor.dtype, keptStates_[i].data(), bytes.size()).kinds) ==
        0)
      continue;
    return std::optional<std::string>(
        "state '" + session_->states().name(i) + "' has " +
        kindText(now.kinds) + " (element " + std::to_string(now.firstBad) +
        " of " + std::to_string(now.count) + "; " + rangeText(now) + ")");
  }
  return std::optional<std::string>();
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
  if (options_.locatesNonfinite) {
    if (what.empty()) {
      Result<std::optional<std::string>> state = nonFiniteState();
      if (!state.ok())
        return state.status();
      if (*state)
        what = "after step " + std::to_string(step + 1) + " " + **state;
    }
    if (!what.empty())
      return reportNonFinite(step, what);
    if (isFirstWatched_ && !replicas_->overflows())
      replicas_->learn();
    else if (options_.checkNonfinite == NonFinite::Op && replicas_->finding())
      return reportNonFinite(step, "step " + std::to_string(step + 1) +
                                       " has values that are not finite (" +
                                       rowsText(step) + ")");
    isFirstWatched_ = false;
    if (options_.injection && options_.injection->step == step)
      progress_->warn("warning: --inject-nonfinite: the value of step " +
                      std::to_string(step + 1) +
                      " was not found: no command read it, and the loss and "
                      "all states are finite");
    return {};
  }
  return what.empty() ? Status() : blameLoss(step, what);
}

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
  const bool isLast = !replicas_->underWay();
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
  if (bad)
    what = "after the update of step " + updates + " " + *bad + ", and " + what;
  else if (isKept)
    what += "; the step changed no state";
  const std::string advice =
      "; --check-nonfinite=step or =op names what made it";
  if (!bad && isKept && isLast && store_)
    return keepsStates(Status::failed(what + advice), step);
  return Status::failed(what + savedText() + advice);
}

Status Trainer::reportNonFinite(int64_t step, const std::string &what) {
  std::string replay =
      (options_.out.empty() ? std::string(".") : options_.out) +
      "/nonfinite-step-" + std::to_string(step + 1) + ".safetensors";
  const Status written = writeReplay(step, replay);
  std::optional<std::string> finding = replicas_->finding();
  if (!finding) {
    SINTER_RETURN_IF_ERROR(restoreStates());
    Result<Replicas::StepData> data =
        replicas_->dataOf(*trainData_, order_, step);
    if (!data.ok())
      return data.status();
    replicas_->setWatching(true);
    replicas_->beginWatched(step);
    SINTER_RETURN_IF_ERROR(replicas_->run(control(step), *data));
    finding = replicas_->finding();
  }
  return Status::failed(
      what + ": " +
      (finding ? *finding : "no command made it, it existed before") +
      (written.ok()
           ? "; sinter-run MODEL --replay=" + replay + " runs the step op by op"
           : "; the step was not written: " + written.message()));
}

/// Writes the states before the step, its data and its control values, as
/// safetensors.
Status Trainer::writeReplay(int64_t step, const std::string &path) {
  const sinter_artifact &artifact = session_->program()->program->artifact();
  Result<Replicas::StepData> data =
      replicas_->dataOf(*trainData_, order_, step);
  if (!data.ok())
    return data.status();
  std::vector<NamedTensor> tensors;
  for (uint32_t i = 0; i < artifact.numStates; ++i) {
    if (isRounded(artifact.states[i]))
      continue;
    const sinter_tensor_desc &tensor = artifact.states[i].tensor;
    tensors.push_back({"state/" + session_->states().name(i),
                       static_cast<sinter_dtype>(tensor.dtype),
                       {tensor.dims, tensor.rank},
                       keptStates_[i]});
  }
  for (size_t part = 0; part < data->inputs.size(); ++part)
    for (size_t i = 0; i < data->inputs[part].size(); ++i) {
      const sinter_tensor_desc &tensor = trainData_->inputs()[i];
      tensors.push_back(
          {SINTER_REPLAY_INPUT + std::to_string(part) + "/" + tensor.name,
           static_cast<sinter_dtype>(tensor.dtype),
           {tensor.dims, tensor.rank},
           {data->inputs[part][i].data(), tensor.sizeBytes}});
    }
  const sinter_control values = control(step);
  auto scalar = [&](const std::string &name, sinter_dtype dtype,
                    const void *address) {
    tensors.push_back(
        {name,
         dtype,
         {},
         {static_cast<const uint8_t *>(address), elementBytes(dtype)}});
  };
  scalar(SINTER_REPLAY_CONTROL SINTER_CONTROL_LR, SINTER_F32, &values.lr);
  scalar(SINTER_REPLAY_CONTROL SINTER_CONTROL_WEIGHT_DECAY, SINTER_F32,
         &values.weightDecay);
  scalar(SINTER_REPLAY_CONTROL SINTER_CONTROL_CLIP_NORM, SINTER_F32,
         &values.clipNorm);
  scalar(SINTER_REPLAY_CONTROL SINTER_CONTROL_STEP, SINTER_I64, &values.step);
  scalar(SINTER_REPLAY_CONTROL SINTER_CONTROL_SEED, SINTER_I64, &values.seed);
  for (size_t part = 0; part < data->validRows.size(); ++part)
    scalar(SINTER_REPLAY_VALID_ROWS + std::to_string(part), SINTER_I64,
           &data->validRows[part]);
  return writeSafetensors(path, tensors);
}
