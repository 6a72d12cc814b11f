//===- TrainerReplay.cpp - a step in a file, to run it op by op -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The states before the step, its data and its control values, as safetensors.
// Rank 0 writes those of all replicas: it reads the rows of all, and gets the
// parts of divided states from the other processes, piece by piece.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/OutOfMemory.h"
#include "runtime/exec/Program.h"
#include "runtime/harness/Trainer.h"

#include "sinter/program_names.h"

#include <algorithm>

using namespace sinter::rt;

/// Of a part of a state in one message. Each process has at most one message
/// under way, which rank 0 holds.
static constexpr uint64_t mostPieceBytes = 1 << 20;

/// Writes the file of step `step`, which has to be the last one. Returns advice
/// for the error that follows; all processes call this, and get that of rank 0.
Result<std::string> Trainer::writeReplay(int64_t step) {
  Status written = gatherKeptStates();
  if (!written.ok() && written.code() != SINTER_OUT_OF_MEMORY)
    return written;
  std::string advice;
  if (job_->isLeader()) {
    const std::string path =
        (options_.out.empty() ? std::string(".") : options_.out) +
        "/nonfinite-step-" + std::to_string(step + 1) + ".safetensors";
    if (written.ok())
      written = orOutOfMemory([&] { return writeReplay(step, path); });
    wholeStates_.clear();
    advice = written.ok() ? "sinter-run MODEL --replay=" + path +
                                " runs the step op by op"
                          : "the step was not written: " + written.message();
  }
  return job_->share(std::move(advice));
}

/// Gives rank 0 the whole of each divided state in keptStates_.
Status Trainer::gatherKeptStates() {
  wholeStates_.clear();
  if (!dividesStates())
    return {};
  const sinter_artifact &artifact = session_->program()->program->artifact();
  Status allocated;
  if (job_->isLeader())
    allocated = orOutOfMemory([&]() -> Status {
      wholeStates_.resize(artifact.numStates);
      for (uint32_t i = 0; i < artifact.numStates; ++i)
        if (artifact.states[i].partBytes)
          wholeStates_[i].resize(artifact.states[i].tensor.sizeBytes);
      return {};
    });
  Result<std::string> sends = job_->share(allocated.ok() ? "yes" : "no");
  if (!sends.ok())
    return sends.status();
  if (*sends != "yes")
    return {SINTER_OUT_OF_MEMORY, "out of memory"};
  for (uint32_t i = 0; i < artifact.numStates; ++i) {
    if (!artifact.states[i].partBytes)
      continue;
    if (!job_->isLeader()) {
      SINTER_RETURN_IF_ERROR(sendKeptState(i));
      continue;
    }
    std::copy(keptStates_[i].begin(), keptStates_[i].end(),
              wholeStates_[i].begin());
    for (uint32_t rank = 1; rank < job_->processes(); ++rank)
      SINTER_RETURN_IF_ERROR(receiveKeptState(i, rank));
  }
  return {};
}

/// The name of the piece from byte `begin` of state `index` on.
static std::string pieceName(uint32_t index, uint64_t begin) {
  return "state " + std::to_string(index) + " from byte " +
         std::to_string(begin);
}

Status Trainer::sendKeptState(uint32_t index) {
  const std::vector<uint8_t> &bytes = keptStates_[index];
  const uint64_t first = replicas_->firstByte(index);
  for (uint64_t at = 0; at < bytes.size(); at += mostPieceBytes) {
    const std::string name = pieceName(index, first + at);
    const uint64_t count = std::min(mostPieceBytes, bytes.size() - at);
    SINTER_RETURN_IF_ERROR(job_->meeting()->put(
        name, {bytes.begin() + at, bytes.begin() + at + count},
        /*readers=*/1));
    SINTER_RETURN_IF_ERROR(job_->meeting()->get(name + "/read").status());
  }
  return {};
}

/// What sendKeptState() sends in process `rank`.
Status Trainer::receiveKeptState(uint32_t index, uint32_t rank) {
  std::vector<uint8_t> &whole = wholeStates_[index];
  const uint64_t size =
      job_->localReplicas() *
      session_->program()->program->artifact().states[index].partBytes;
  const uint64_t end = std::min<uint64_t>(whole.size(), (rank + 1) * size);
  for (uint64_t at = rank * size; at < end; at += mostPieceBytes) {
    const std::string name = pieceName(index, at);
    Result<std::string> piece = job_->meeting()->get(name);
    if (!piece.ok())
      return piece.status();
    if (piece->size() != std::min(mostPieceBytes, end - at))
      return Status::failed("rank " + std::to_string(rank) +
                            " has sent another number of bytes of state '" +
                            session_->states().name(index) + "'");
    std::copy(piece->begin(), piece->end(), whole.begin() + at);
    SINTER_RETURN_IF_ERROR(
        job_->meeting()->put(name + "/read", "", /*readers=*/1));
  }
  return {};
}

Status Trainer::writeReplay(int64_t step, const std::string &path) {
  const sinter_artifact &artifact = session_->program()->program->artifact();
  Result<Replicas::StepData> data =
      replicas_->dataOf(*trainData_, order_, step, 0, job_->replicas());
  if (!data.ok())
    return data.status();
  std::vector<NamedTensor> tensors;
  for (uint32_t i = 0; i < artifact.numStates; ++i) {
    if (!session_->states().isKept(i))
      continue;
    const sinter_tensor_desc &tensor = artifact.states[i].tensor;
    tensors.push_back({"state/" + session_->states().name(i),
                       static_cast<sinter_dtype>(tensor.dtype),
                       {tensor.dims, tensor.rank},
                       artifact.states[i].partBytes && !wholeStates_.empty()
                           ? wholeStates_[i]
                           : keptStates_[i]});
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
