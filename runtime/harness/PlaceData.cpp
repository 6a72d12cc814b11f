//===- PlaceData.cpp - copies a dataset to a device -----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Rows are read, converted and checked by a loader, in one pass in their order,
// as batches are.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/AlignedBlock.h"
#include "runtime/exec/Program.h"
#include "runtime/harness/Recipe.h"
#include "runtime/harness/Session.h"

using namespace sinter::rt;

/// The batches that may still be copied while the next one is read.
static constexpr int64_t batchesInUse = 2;

Status EntryRunner::uploadRows(DeviceData &data, const BatchReader &reader,
                               const Loader::Options &loading,
                               const std::function<bool()> &interrupted) {
  Program &program = *session_->program()->program;
  const Place &place = program.places().front();
  Loader::Options reading;
  reading.end = evaluationBatches(reader.rows(), reader.batch());
  reading.order = {reader.rows(), reader.batch(), 0, false};
  reading.evaluation = true;
  reading.workers = loading.workers;
  reading.prefetch = loading.prefetch;
  reading.inUse = batchesInUse;
  SINTER_RETURN_IF_ERROR(allocateBatches(reading));
  std::unique_ptr<Event> copied[batchesInUse];
  for (std::unique_ptr<Event> &event : copied) {
    Result<std::unique_ptr<Event>> made =
        place.device->createEvent(EventUse::Order);
    if (!made.ok())
      return made.status();
    event = std::move(*made);
  }
  Status status;
  {
    Loader loader(reader, reading);
    for (int64_t i = 0; i < reading.end && status.ok(); ++i) {
      if (interrupted())
        status = {SINTER_INTERRUPTED, "interrupted"};
      Event &event = *copied[i % batchesInUse];
      if (status.ok() && i >= batchesInUse)
        status = place.device->synchronize(event);
      if (!status.ok())
        break;
      Result<Batch> batch = loader.next();
      status = batch.status();
      if (status.ok())
        status =
            data.upload(i * reader.batch(), batch->validRows, batch->inputs);
      if (status.ok())
        status = place.device->record(event, *place.stream);
    }
    // The loader's memory may still be read.
    Status done = place.device->synchronize(*place.stream);
    if (status.ok())
      status = done;
  }
  batches_.clear();
  return status;
}

/// Copies the ignored label to the row of labels that pads.
static Status uploadIgnored(DeviceData &data, const Place &place,
                            const BatchReader &reader, size_t input) {
  Result<AlignedBlock> labels = AlignedBlock::allocate(
      reader.inputs()[input].sizeBytes, "a batch of labels");
  if (!labels.ok())
    return labels.status();
  std::vector<void *> buffers(reader.inputs().size());
  buffers[input] = labels->data();
  reader.ignoreLabels(0, buffers.data());
  SINTER_RETURN_IF_ERROR(data.uploadPadding(buffers.data()));
  return place.device->synchronize(*place.stream);
}

Status EntryRunner::placeData(const BatchReader &reader,
                              const Loader::Options &loading, uint32_t mostRuns,
                              const std::function<bool()> &interrupted) {
  Program &program = *session_->program()->program;
  DeviceData::Options options;
  options.rows = reader.rows();
  options.mostRuns = mostRuns;
  options.mostBytes = leftByLimit(program.artifact());
  if (std::optional<size_t> input = reader.ignorableInput();
      input && loading.order.padsLast)
    options.paddedInput = static_cast<uint32_t>(*input);
  lastOutputs_ = nullptr; // the addresses move
  for (Outputs &outputs : outputs_)
    SINTER_RETURN_IF_ERROR(allocate(outputs, mostRuns));
  Result<DeviceData *> data = program.allocateData(entry_->name, options);
  if (!data.ok())
    return data.status();
  Status placed = uploadRows(**data, reader, loading, interrupted);
  if (placed.ok() && options.paddedInput)
    placed = uploadIgnored(**data, program.places().front(), reader,
                           *options.paddedInput);
  if (!placed.ok())
    program.freeData();
  return placed;
}
