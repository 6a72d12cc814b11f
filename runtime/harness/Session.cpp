//===- Session.cpp - runs a program on data -------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/Session.h"

#include "runtime/base/ThreadPool.h"
#include "runtime/exec/ArtifactPlaces.h"
#include "runtime/exec/Program.h"
#include "runtime/harness/Recipe.h"

#include "sinter/program_names.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace sinter::rt;

/// Says where library calls run on fewer threads for lack of scratch.
static void noteFewerThreads(const Program &program) {
  for (uint32_t i = 0; i < program.places().size(); ++i) {
    const Place &place = program.places()[i];
    if (place.callThreads < place.device->threads())
      std::fprintf(stderr,
                   "note: library calls run on as few as %d of %d threads: "
                   "sinterc --workspace=%" PRIu64 " promised no more scratch\n",
                   place.callThreads, place.device->threads(),
                   workspaceBytes(program.artifact(), i));
  }
}

Result<std::unique_ptr<Session>>
Session::create(const sinter_artifact &artifact,
                const TrainerOptions &options) {
  DeviceOptions device = options.deviceOptions;
  device.threads = options.threads;
  Result<std::unique_ptr<Program>> program =
      Program::create(artifact, options.device, device);
  if (!program.ok())
    return program.status();
  if (!options.quiet) {
    std::string note = threadsNote(options.threads);
    if (!note.empty())
      std::fprintf(stderr, "%s\n", note.c_str());
    noteFewerThreads(**program);
  }
  std::unique_ptr<Session> session(new Session);
  session->artifact_ = &artifact;
  session->program_ = new sinter_program{std::move(*program)};
  Result<StateTable> states = StateTable::create(artifact);
  if (!states.ok())
    return states.status();
  session->states_ = std::move(*states);
  return session;
}

Session::~Session() { sinter_program_destroy(program_); }

bool Session::isAsynchronous() const {
  return program_->program->isAsynchronous();
}

std::string Session::workers() const {
  auto threadsText = [](auto count) {
    return std::to_string(count) + (count == 1 ? " thread" : " threads");
  };
  std::string text;
  for (const Place &place : program_->program->places())
    text +=
        (text.empty() ? "" : ", ") + (place.device->sharesHostMemory()
                                          ? threadsText(place.device->threads())
                                          : place.device->name());
  return text;
}

const sinter_entry *sinter::rt::findEntry(const sinter_artifact &artifact,
                                          const char *name) {
  for (uint32_t i = 0; i < artifact.numEntries; ++i)
    if (std::strcmp(artifact.entries[i].name, name) == 0)
      return &artifact.entries[i];
  return nullptr;
}

namespace {
/// An output that the trainer reads. Without one of these it would report
/// numbers that mean something else, so the names are checked at the start.
struct KnownOutput {
  const char *entry, *output;
  /// If not null, the entry may lack the output, but only together with this.
  const char *partner;
};
} // namespace

static constexpr KnownOutput knownOutputs[] = {
    {SINTER_ENTRY_STEP, SINTER_OUTPUT_LOSS, nullptr},
    {SINTER_ENTRY_STEP, SINTER_OUTPUT_LOSS_SCALE, SINTER_OUTPUT_SKIPPED_STEPS},
    {SINTER_ENTRY_STEP, SINTER_OUTPUT_GRADIENT_NORM, SINTER_OUTPUT_WEIGHT_NORM},
    {SINTER_ENTRY_APPLY, SINTER_OUTPUT_LOSS, nullptr},
    {SINTER_ENTRY_APPLY, SINTER_OUTPUT_LOSS_SCALE, SINTER_OUTPUT_SKIPPED_STEPS},
    {SINTER_ENTRY_APPLY, SINTER_OUTPUT_GRADIENT_NORM,
     SINTER_OUTPUT_WEIGHT_NORM},
    {SINTER_ENTRY_EVAL, SINTER_OUTPUT_LOSS_SUM, nullptr},
    {SINTER_ENTRY_EVAL, SINTER_OUTPUT_LOSS_COUNT, nullptr},
    {SINTER_ENTRY_EVAL, SINTER_OUTPUT_CORRECT, SINTER_OUTPUT_CORRECT_COUNT},
};

/// The number of the scalar fp32 output called `name`; nothing without one.
static std::optional<uint32_t> findScalar(const sinter_entry &entry,
                                          const char *name) {
  for (uint32_t i = 0; i < entry.numOutputs; ++i) {
    const sinter_tensor_desc &desc = entry.outputs[i];
    if (std::strcmp(desc.name, name) == 0 && desc.dtype == SINTER_F32 &&
        desc.sizeBytes == sizeof(float))
      return i;
  }
  return std::nullopt;
}

static Status checkOutputs(const sinter_entry &entry) {
  auto missing = [&](const char *output) {
    return Status::failed(std::string("entry ") + entry.name +
                          " has no scalar fp32 output " + output +
                          ": a defect of Sinter");
  };
  for (const KnownOutput &known : knownOutputs) {
    if (std::strcmp(known.entry, entry.name) != 0)
      continue;
    const bool has = findScalar(entry, known.output).has_value();
    if (!known.partner && !has)
      return missing(known.output);
    if (known.partner && has != findScalar(entry, known.partner).has_value())
      return missing(has ? known.partner : known.output);
  }
  return {};
}

Result<EntryRunner> EntryRunner::create(const Session &session,
                                        const char *entry) {
  EntryRunner runner;
  runner.session_ = &session;
  runner.entry_ = findEntry(session.artifact(), entry);
  if (!runner.entry_)
    return Status::invalid(std::string("the program has no \"") + entry +
                           "\" entry");
  if (session.artifact().training)
    SINTER_RETURN_IF_ERROR(checkOutputs(*runner.entry_));
  for (Outputs &outputs : runner.outputs_)
    SINTER_RETURN_IF_ERROR(runner.allocate(outputs, 1));
  return runner;
}

Status EntryRunner::allocate(Outputs &outputs, uint32_t runs) const {
  const uint32_t perRun = writtenOutputs(*entry_);
  while (outputs.addresses.size() < size_t(runs) * perRun) {
    uint64_t sizeBytes =
        entry_->outputs[outputs.addresses.size() % perRun].sizeBytes;
    void *buffer = std::aligned_alloc(64, (sizeBytes + 63) / 64 * 64 + 64);
    if (!buffer)
      return {SINTER_OUT_OF_MEMORY, "no memory for the outputs"};
    outputs.buffers.emplace_back(buffer);
    outputs.addresses.push_back(buffer);
  }
  return {};
}

Status EntryRunner::allocateBatches(Loader::Options &loading) {
  // A run may still upload its batch until the begin() after the next.
  Loader::Options options = loading;
  options.inUse = 3;
  const auto numSlots = static_cast<size_t>(options.numSlots());
  // Other processes cannot use pinned memory.
  constexpr uint64_t mostBytes = uint64_t(1) << 30;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < entry_->numInputs; ++i)
    bytes += entry_->inputs[i].sizeBytes;
  if (bytes > mostBytes / std::max<size_t>(numSlots, 1))
    return {};
  while (batches_.size() < numSlots) {
    Result<std::optional<InputBlock>> block =
        session_->program()->program->allocateInputs(entry_->name);
    if (!block.ok() && block.status().code() != SINTER_OUT_OF_MEMORY)
      return block.status();
    if (!block.ok() || !*block) {
      batches_.clear();
      return {};
    }
    batches_.push_back(std::move(**block));
  }
  for (size_t i = 0; i < numSlots; ++i)
    options.buffers.push_back(batches_[i].inputs());
  loading = std::move(options);
  return {};
}

void EntryRunner::begun(uint64_t number, size_t runs) {
  Outputs &outputs = outputsOf(begun_++);
  outputs.number = number;
  outputs.runs = static_cast<uint32_t>(runs);
  outputs.finished = 0;
  outputs.failure = {};
}

Status EntryRunner::begin(const sinter_control &control,
                          const void *const *inputs) {
  Result<RunNumber> run = session_->program()->program->begin(
      entry_->name, &control, inputs, outputsOf(begun_).addresses.data());
  if (run.ok())
    begun(*run, 1);
  return run.status();
}

Status EntryRunner::beginSeries(std::span<const sinter_control> controls,
                                const int64_t *rows) {
  Result<RunNumber> series = session_->program()->program->beginSeries(
      controls, rows, outputsOf(begun_).addresses.data());
  if (series.ok())
    begun(*series, controls.size());
  return series.status();
}

Status EntryRunner::finish() {
  Outputs &outputs = outputsOf(finished_);
  if (outputs.finished == 0)
    outputs.failure = session_->program()->program->wait(outputs.number);
  lastOutputs_ = outputs.addresses.data() +
                 size_t(outputs.finished) * writtenOutputs(*entry_);
  if (++outputs.finished == outputs.runs)
    ++finished_;
  SINTER_RETURN_IF_ERROR(outputs.failure);
  if (outputs.runs == 1 || !entry_->numIndexChecks)
    return {};
  return session_->program()
      ->program->find(entry_->name)
      ->checkIndices(
          static_cast<const int64_t *>(lastOutputs_[entry_->numOutputs]));
}

Status EntryRunner::run(const sinter_control &control,
                        const void *const *inputs) {
  SINTER_RETURN_IF_ERROR(begin(control, inputs));
  return finish();
}

const std::optional<IndexFault> &EntryRunner::indexFault() const {
  return session_->program()->program->find(entry_->name)->indexFault();
}

std::optional<float> EntryRunner::scalar(const char *output) const {
  std::optional<uint32_t> found = findScalar(*entry_, output);
  if (!found || !lastOutputs_)
    return std::nullopt;
  float value;
  std::memcpy(&value, lastOutputs_[*found], sizeof(value));
  return value;
}

/// An entry's labels are its last input, whatever they are called.
static bool hasLabels(const sinter_artifact &artifact) {
  return std::strcmp(artifact.training->loss, SINTER_LOSS_NONE) != 0;
}

Result<BatchReader> sinter::rt::openData(const sinter_artifact &artifact,
                                         const sinter_entry &entry,
                                         const std::string &spec, DataUse use,
                                         const TrainerOptions &options,
                                         const TableHeader &header) {
  DataOptions table;
  table.labelColumn = options.labelColumn;
  table.header = header;
  BatchOptions batch;
  if (hasLabels(artifact) && entry.numInputs > 0) {
    batch.labels = entry.numInputs - 1;
    table.labelsName = entry.inputs[*batch.labels].name;
  }
  Result<std::shared_ptr<const Dataset>> dataset =
      openDataset(spec, use, table);
  if (!dataset.ok())
    return dataset.status();
  if (options.isGiven("label-column") && !(*dataset)->isTable)
    return Status::invalid("--label-column: " + spec +
                           " is not a CSV file; its arrays have names");
  for (const std::string &note : (*dataset)->notes)
    if (!options.quiet)
      std::fprintf(stderr, "note: %s\n", note.c_str());
  batch.scale = options.scale;
  batch.round = !options.castsExactly;
  batch.checkFinite = options.checkNonfinite != TrainerOptions::NonFinite::Off;
  batch.numClasses = artifact.training->numClasses;
  batch.hasIgnoreIndex = artifact.training->hasIgnoreIndex != 0;
  batch.ignoreIndex = artifact.training->ignoreIndex;
  Result<BatchReader> reader = BatchReader::bind(
      std::move(*dataset), {entry.inputs, entry.numInputs}, batch);
  if (!reader.ok())
    return reader;
  if (std::strcmp(entry.name, SINTER_ENTRY_EVAL) == 0 &&
      reader->rows() % reader->batch() != 0)
    if (std::string node = rowsMixedBy(artifact, SINTER_ROWS_OF_EVALUATION);
        !node.empty())
      return Status::invalid(
          spec + ": its " + std::to_string(reader->rows()) +
          " rows are not a multiple of the batch of " +
          std::to_string(reader->batch()) +
          ", which evaluation needs: " + node +
          " mixes the rows of a batch (compile with --batch=1, or use a "
          "multiple)");
  for (const std::string &note : reader->notes())
    if (!options.quiet)
      std::fprintf(stderr, "note: %s\n", note.c_str());
  reader->prefetch();
  return reader;
}

Result<Evaluation>
sinter::rt::evaluate(EntryRunner &runner, const BatchReader &reader,
                     sinter_control control, const TrainerOptions &options,
                     const std::function<bool()> &interrupted) {
  Loader::Options loading;
  loading.end = evaluationBatches(reader.rows(), reader.batch());
  loading.order = {reader.rows(), reader.batch(), 0, false};
  loading.evaluation = true;
  loading.workers = options.workers;
  loading.prefetch = options.prefetch;
  SINTER_RETURN_IF_ERROR(runner.allocateBatches(loading));
  Loader loader(reader, loading);
  Evaluation result;
  result.rows = reader.rows();
  result.hasAccuracy = true;
  double lossSum = 0, lossCount = 0;
  for (int64_t i = 0; i < loading.end; ++i) {
    if (interrupted())
      return Status(SINTER_INTERRUPTED, "interrupted");
    Result<Batch> batch = loader.next();
    if (!batch.ok())
      return batch.status();
    control.validRows = batch->validRows;
    Status ran = runner.run(control, batch->inputs);
    if (!ran.ok()) {
      const std::optional<IndexFault> &fault = runner.indexFault();
      std::optional<int64_t> row = fault ? fault->row() : std::nullopt;
      return row ? Status::failed(fault->text() + ", row " +
                                  std::to_string(i * reader.batch() + *row) +
                                  " of the data")
                 : ran;
    }
    lossSum += runner.scalar(SINTER_OUTPUT_LOSS_SUM).value();
    lossCount += runner.scalar(SINTER_OUTPUT_LOSS_COUNT).value();
    std::optional<float> correct = runner.scalar(SINTER_OUTPUT_CORRECT);
    std::optional<float> count = runner.scalar(SINTER_OUTPUT_CORRECT_COUNT);
    result.hasAccuracy &= correct && count;
    result.correct += correct.value_or(0);
    result.correctCount += count.value_or(0);
  }
  result.counted = lossCount;
  result.loss = lossCount > 0 ? lossSum / lossCount : NAN;
  result.hasAccuracy &= lossCount > 0;
  return result;
}

Result<Manifest>
sinter::rt::loadWeights(const Session &session, const TrainerOptions &options,
                        std::vector<std::string> &missingSlots) {
  CheckpointReading reading;
  reading.weightsOnly = true;
  reading.missingSlots = &missingSlots;
  Result<Manifest> manifest = loadNewestCheckpoint(
      options.checkpoint, session.states(), session.program(), reading);
  if (manifest.ok() && std::any_of(missingSlots.begin(), missingSlots.end(),
                                   [](const auto &name) {
                                     return name.starts_with(SINTER_SLOT_EMA
                                                             "/");
                                   }))
    std::fprintf(stderr, "note: the checkpoint has no averaged weights; the "
                         "weights are used instead\n");
  return manifest;
}

std::string sinter::rt::evaluationText(const Evaluation &evaluation) {
  if (evaluation.isEmpty())
    return "nothing was evaluated: the labels of all " +
           std::to_string(evaluation.rows) + " rows are ignored";
  char text[96];
  if (evaluation.hasAccuracy)
    std::snprintf(text, sizeof(text), "accuracy %.2f %%, loss %.6g",
                  100 * evaluation.accuracy(), evaluation.loss);
  else
    std::snprintf(text, sizeof(text), "loss %.6g", evaluation.loss);
  return text;
}
