//===- ReplicasWatched.cpp - steps whose commands are watched -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/DividedStates.h"
#include "runtime/exec/Program.h"
#include "runtime/harness/Replicas.h"

#include <algorithm>

using namespace sinter::rt;

Result<Replicas::StepData> Replicas::dataOf(const BatchReader &reader,
                                            const RowOrder &order, int64_t step,
                                            uint32_t first,
                                            uint32_t count) const {
  StepData data;
  RowOrder part = order;
  part.parts = job_->replicas();
  part.microBatches = microBatches_;
  std::vector<int64_t> rows(static_cast<size_t>(part.partRows()));
  for (uint32_t replica = first; replica < first + count; ++replica) {
    part.part = replica;
    for (int64_t i = 0; i < microBatches_; ++i) {
      auto &inputs = data.inputs.emplace_back();
      std::vector<void *> addresses;
      for (const sinter_tensor_desc &input : reader.inputs()) {
        Result<AlignedBlock> block =
            AlignedBlock::allocate(input.sizeBytes, "a batch of data");
        if (!block.ok())
          return block.status();
        addresses.push_back(inputs.emplace_back(std::move(*block)).data());
      }
      const int64_t number = step * microBatches_ + i;
      part.rowsOf(number, rows.data());
      SINTER_RETURN_IF_ERROR(reader.fill(rows, addresses.data()));
      data.validRows.push_back(part.validRows(number));
      reader.ignoreLabels(data.validRows.back(), addresses.data());
    }
  }
  return data;
}

Status Replicas::run(const sinter_control &control, const StepData &data) {
  SINTER_RETURN_IF_ERROR(onAll([&](Replica &replica) -> Status {
    sinter_control own = control;
    own.replica = replica.rank;
    for (int64_t i = 0; i < microBatches_; ++i) {
      own.microBatch = i;
      const auto part = static_cast<size_t>(
          (replica.rank - job_->firstReplica()) * microBatches_ + i);
      own.validRows = data.validRows[part];
      std::vector<const void *> inputs;
      for (const AlignedBlock &block : data.inputs[part])
        inputs.push_back(block.data());
      EntryRunner &runner = replica.grad ? *replica.grad : *replica.step;
      SINTER_RETURN_IF_ERROR(runner.begin(own, inputs.data()));
    }
    return replica.grad ? replica.step->begin(own, nullptr) : Status();
  }));
  ++begun_;
  return finish();
}

Status Replicas::makeFinders(const std::optional<Injection> &injection) {
  for (auto &replica : replicas_) {
    const Program &program = *replica->session->program()->program;
    Result<NonFiniteFinder> finder = NonFiniteFinder::create(
        program.artifact(), program.source(), injection);
    if (!finder.ok())
      return finder.status();
    replica->finder = std::move(*finder);
  }
  return {};
}

void Replicas::setWatching(bool isWatching) {
  for (auto &replica : replicas_)
    replica->session->program()->program->setWatch(
        isWatching && replica->finder ? &*replica->finder : nullptr);
}

void Replicas::beginWatched(int64_t step) {
  for (auto &replica : replicas_)
    if (replica->finder)
      replica->finder->beginStep(step);
}

void Replicas::learn() {
  for (auto &replica : replicas_)
    if (replica->finder)
      replica->finder->learn();
}

std::optional<Finding> Replicas::finding() const {
  std::optional<Finding> first;
  for (const auto &replica : replicas_) {
    if (!replica->finder || !replica->finder->finding())
      continue;
    Finding finding = {*replica->finder->finding(), replica->rank,
                       replica->finder->position(),
                       replica->finder->overflows()};
    if (!first || finding.isBefore(*first))
      first = std::move(finding);
  }
  return first;
}

//===----------------------------------------------------------------------===//
// The states before such a step
//===----------------------------------------------------------------------===//

uint64_t Replicas::firstByte(uint32_t index) {
  const sinter_state_desc &state =
      first().program()->program->artifact().states[index];
  return std::min(state.tensor.sizeBytes,
                  job_->firstReplica() * state.partBytes);
}

Status Replicas::readState(uint32_t index, std::vector<uint8_t> &bytes) {
  Program &program = *first().program()->program;
  const sinter_state_desc &state = program.artifact().states[index];
  if (!state.partBytes) {
    bytes.resize(state.tensor.sizeBytes);
    return program.readState(index, bytes.data());
  }
  bytes.resize(replicas_.size() * state.partBytes);
  for (size_t i = 0; i < replicas_.size(); ++i)
    SINTER_RETURN_IF_ERROR(replicas_[i]->session->program()->program->readState(
        index, bytes.data() + i * state.partBytes));
  // Without the zeros beyond the whole.
  bytes.resize(std::min<uint64_t>(bytes.size(),
                                  state.tensor.sizeBytes - firstByte(index)));
  return {};
}

Status Replicas::writeState(uint32_t index, std::span<const uint8_t> bytes) {
  const sinter_state_desc &state =
      first().program()->program->artifact().states[index];
  for (size_t i = 0; i < replicas_.size(); ++i) {
    Program &program = *replicas_[i]->session->program()->program;
    SINTER_RETURN_IF_ERROR(
        state.partBytes
            ? program.writeState(index, partOf(state, bytes, i).data())
            : program.writeState(index, bytes.data()));
  }
  return {};
}
