//===- Replicas.cpp - the replicas of a training program ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/harness/Replicas.h"

#include "runtime/base/BlockSignals.h"
#include "runtime/base/Hash.h"
#include "runtime/device/Registry.h"
#include "runtime/exec/ArtifactPlaces.h"
#include "runtime/exec/Program.h"

#include "sinter/program_names.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <map>
#include <new>
#include <sstream>
#include <system_error>

using namespace sinter::rt;

int64_t sinter::rt::microBatchesOf(const sinter_artifact &artifact) {
  return artifact.training && artifact.training->accumulate
             ? artifact.training->accumulate
             : 1;
}

const sinter_entry *sinter::rt::trainingEntry(const sinter_artifact &artifact) {
  return findEntry(artifact, microBatchesOf(artifact) > 1 ? SINTER_ENTRY_GRAD
                                                          : SINTER_ENTRY_STEP);
}

Result<std::vector<std::string>>
sinter::rt::replicaDevices(const sinter_artifact &artifact,
                           const std::string &device, size_t count,
                           size_t first) {
  std::vector<std::string> names;
  if (device.empty() && replicasOf(artifact) > 1) {
    const std::string kind = artifact.target;
    for (size_t i = 0; i < count; ++i)
      names.push_back(linkedDevices().isNumbered(kind)
                          ? kind + ":" + std::to_string(first + i)
                          : kind);
    return names;
  }
  // The list is of the devices that one program spans.
  if (artifact.numPlaces > 1 && count == 1)
    return std::vector<std::string>{device};
  for (size_t at = 0; at <= device.size();) {
    size_t comma = std::min(device.find(',', at), device.size());
    names.push_back(device.substr(at, comma - at));
    at = comma + 1;
  }
  if (names.size() != count)
    return Status::invalid(
        "--device=" + device + ": names " + std::to_string(names.size()) +
        (names.size() == 1 ? " device" : " devices") +
        (static_cast<int64_t>(count) == replicasOf(artifact)
             ? "; the program was compiled for " + std::to_string(count) +
                   (count == 1 ? " replica" : " replicas") + " (--replicas=N)"
             : "; each process has " + std::to_string(count) +
                   (count == 1 ? " replica" : " replicas")));
  for (size_t i = 1; i < count; ++i) {
    if (deviceKindOf(names[i]) != deviceKindOf(names[0]))
      return Status::invalid("--device=" + device +
                             ": replicas run on devices of one kind");
    if (linkedDevices().isNumbered(names[i]) &&
        std::find(names.begin(), names.begin() + i, names[i]) !=
            names.begin() + i)
      return Status::invalid("--device=" + device + ": names " + names[i] +
                             " twice");
  }
  return names;
}

size_t sinter::rt::firstDevice(size_t visible, size_t count, size_t localRank) {
  return visible == count ? 0 : localRank * count;
}

std::string sinter::rt::sharedDevice(const std::vector<std::string> &devices) {
  struct User {
    size_t rank;
    std::string name;
  };
  std::map<std::string, User> users; // by unique name
  for (size_t rank = 0; rank < devices.size(); ++rank) {
    std::istringstream lines(devices[rank]);
    for (std::string name, uniqueName; lines >> name >> uniqueName;) {
      auto [other, isNew] = users.try_emplace(uniqueName, User{rank, name});
      if (!isNew && other->second.rank != rank)
        return "ranks " + std::to_string(other->second.rank) + " and " +
               std::to_string(rank) + " use the same device, " + uniqueName +
               " (" + other->second.name +
               (other->second.name == name ? "" : " and " + name) +
               "); each process needs one of its own";
    }
  }
  return "";
}

/// How many devices of the artifact's kind this process sees; 0 if that cannot
/// be told: the error comes when one is opened.
static size_t visibleDevices(const sinter_artifact &artifact) {
  for (const DeviceKind &kind : linkedDevices().kinds())
    if (kind.name == artifact.target && kind.isNumbered && kind.count)
      if (Result<int> count = kind.count(); count.ok())
        return static_cast<size_t>(std::max(0, *count));
  return 0;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

/// When one replica fails, the others must not wait for it.
Status Replicas::runTask(const Task &task, Replica &replica) {
  Status status;
  try {
    status = task(replica);
  } catch (const std::bad_alloc &) {
    status = {SINTER_OUT_OF_MEMORY, "out of memory"};
  } catch (const std::exception &error) {
    status = Status::failed(error.what());
  }
  if (status.ok() || !isJoined_)
    return status;
  replica.session->program()->program->abortGroup();
  for (const auto &other : replicas_)
    other->session->program()->program->abortGroup();
  return status;
}

void Replicas::threadMain(Replica &replica) {
  uint64_t done = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || tasks_ > done; });
    if (stop_)
      return;
    done = tasks_;
    const Task &task = *task_;
    lock.unlock();
    Status status = runTask(task, replica);
    lock.lock();
    replica.status = std::move(status);
    if (--running_ == 0)
      changed_.notify_all();
  }
}

Status Replicas::onAll(const Task &task) {
  if (replicas_.size() == 1)
    return task(*replicas_.front());
  {
    std::unique_lock lock(mutex_);
    task_ = &task;
    ++tasks_;
    running_ = replicas_.size();
    changed_.notify_all();
    changed_.wait(lock, [&] { return running_ == 0; });
  }
  // The error of one that only missed another one says least.
  const Status *worst = nullptr;
  for (const auto &replica : replicas_) {
    const Status &status = replica->status;
    if (status.ok())
      continue;
    if (!worst || !status.isAboutOthers())
      worst = &status;
    if (!status.isAboutOthers())
      break;
  }
  return worst ? *worst : Status();
}

Replicas::~Replicas() {
  // A process that leaves may reset connections that others still read from.
  if (Meeting *meeting = job_->meeting(); meeting && isJoined_) {
    (void)meeting->gather("leaving", "");
    meeting->onEnd(nullptr);
  }
  // Communication libraries require all to leave at once.
  if (isJoined_)
    (void)onAll([](Replica &replica) {
      replica.session->program()->program->leave();
      return Status();
    });
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (auto &replica : replicas_)
    if (replica->thread.joinable())
      replica->thread.join();
}

//===----------------------------------------------------------------------===//
// Beginning
//===----------------------------------------------------------------------===//

Result<std::unique_ptr<Replicas>>
Replicas::create(const sinter_artifact &artifact, const TrainerOptions &options,
                 Job &job) {
  const uint32_t count = job.localReplicas();
  const size_t first =
      job.spansProcesses() && options.device.empty()
          ? firstDevice(visibleDevices(artifact), count, job.localRank())
          : 0;
  Result<std::vector<std::string>> devices =
      replicaDevices(artifact, options.device, count, first);
  if (!devices.ok())
    return devices.status();
  std::unique_ptr<Replicas> all(new Replicas);
  all->job_ = &job;
  all->microBatches_ = microBatchesOf(artifact);
  sinter_rank group = {};
  group.replicas = job.replicas();
  if (group.replicas > 1)
    SINTER_RETURN_IF_ERROR(
        linkedDevices().nameGroup(devices->front(), job.group(), group.group));
  for (uint32_t i = 0; i < count; ++i) {
    all->replicas_.push_back(std::make_unique<Replica>());
    Replica &replica = *all->replicas_.back();
    replica.rank = job.firstReplica() + i;
    if (count == 1)
      break;
    BlockSignals blocked;
    try {
      replica.thread = std::thread(
          [all = all.get(), &replica] { all->threadMain(replica); });
    } catch (const std::system_error &error) {
      return Status::failed(std::string("cannot start a thread for replica ") +
                            std::to_string(i) + ": " + error.what());
    }
  }
  // Replicas on one CPU share its memory.
  const auto sharedUse = std::make_shared<std::atomic<uint64_t>>(0);
  SINTER_RETURN_IF_ERROR(all->onAll([&](Replica &replica) -> Status {
    TrainerOptions own = options;
    own.deviceOptions.sharedUse = sharedUse;
    own.device = (*devices)[replica.rank - job.firstReplica()];
    Result<std::unique_ptr<Session>> session = Session::create(artifact, own);
    if (!session.ok())
      return session.status();
    replica.session = std::move(*session);
    auto prepare = [&](const char *entry,
                       std::optional<EntryRunner> &runner) -> Status {
      Result<EntryRunner> created =
          EntryRunner::create(*replica.session, entry);
      if (created.ok())
        runner = std::move(*created);
      return created.status();
    };
    if (all->microBatches_ == 1)
      return prepare(SINTER_ENTRY_STEP, replica.step);
    SINTER_RETURN_IF_ERROR(prepare(SINTER_ENTRY_GRAD, replica.grad));
    return prepare(SINTER_ENTRY_APPLY, replica.step);
  }));
  // Only after all are loaded, in all processes: joining waits for all.
  SINTER_RETURN_IF_ERROR(all->checkDevices());
  if (group.replicas > 1)
    SINTER_RETURN_IF_ERROR(all->onAll([&](Replica &replica) {
      sinter_rank rank = group;
      rank.rank = replica.rank;
      return replica.session->program()->program->join(rank);
    }));
  all->isJoined_ = group.replicas > 1;
  std::vector<sinter_program *> programs;
  for (const auto &replica : all->replicas_)
    programs.push_back(replica->session->program());
  all->first().holdParts(std::move(programs), job.firstReplica());
  if (Meeting *meeting = job.meeting())
    meeting->onEnd([all = all.get()] {
      for (const auto &replica : all->replicas_)
        replica->session->program()->program->abortGroup();
    });
  return all;
}

Status Replicas::checkDevices() {
  std::string own;
  for (const auto &replica : replicas_) {
    const Device &device = replica->session->program()->program->device();
    if (const std::string name = device.uniqueName(); !name.empty())
      own += device.name() + " " + name + "\n";
  }
  Result<std::string> shared = job_->combine(std::move(own), sharedDevice);
  if (!shared.ok() || shared->empty())
    return shared.status();
  job_->endTogether();
  return Status::invalid(*shared);
}

std::string Replicas::workers() const {
  std::string text = job_->spansProcesses()
                         ? std::to_string(job_->processes()) + " processes of "
                         : "";
  std::vector<std::string> names;
  for (const auto &replica : replicas_)
    names.push_back(replica->session->workers());
  if (names.size() > 1 && std::ranges::count(names, names.front()) ==
                              static_cast<std::ptrdiff_t>(names.size()))
    return text + std::to_string(names.size()) + " replicas of " +
           names.front();
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// Whether each replica has a value of its own.
static bool isOwn(const sinter_state_desc &state) {
  return state.role == SINTER_STATE_ACCUM || state.partBytes;
}

Status Replicas::spreadStates() {
  if (replicas_.size() == 1)
    return {};
  Program &source = *first().program()->program;
  const sinter_artifact &artifact = source.artifact();
  std::vector<uint8_t> bytes;
  for (uint32_t i = 0; i < artifact.numStates; ++i) {
    if (isRounded(artifact.states[i]) || artifact.states[i].partBytes)
      continue; // each replica computes it, or has a part of its own
    bytes.resize(artifact.states[i].tensor.sizeBytes);
    SINTER_RETURN_IF_ERROR(source.readState(i, bytes.data()));
    for (size_t r = 1; r < replicas_.size(); ++r)
      SINTER_RETURN_IF_ERROR(
          replicas_[r]->session->program()->program->writeState(i,
                                                                bytes.data()));
  }
  return {};
}

Status Replicas::checkEqual() {
  if (replicas_.size() == 1)
    return {};
  const sinter_artifact &artifact = first().program()->program->artifact();
  std::vector<uint8_t> bytes, others;
  for (uint32_t i = 0; i < artifact.numStates; ++i) {
    const sinter_tensor_desc &tensor = artifact.states[i].tensor;
    if (isOwn(artifact.states[i]))
      continue;
    bytes.resize(tensor.sizeBytes);
    others.resize(tensor.sizeBytes);
    SINTER_RETURN_IF_ERROR(
        first().program()->program->readState(i, bytes.data()));
    for (size_t r = 1; r < replicas_.size(); ++r) {
      SINTER_RETURN_IF_ERROR(
          replicas_[r]->session->program()->program->readState(i,
                                                               others.data()));
      if (bytes != others)
        return {SINTER_MISMATCH, "replica " + std::to_string(r) +
                                     " differs from replica 0 in state '" +
                                     tensor.name + "'"};
    }
  }
  return {};
}

Status Replicas::checkProcesses() {
  if (!job_->spansProcesses())
    return {};
  Program &program = *first().program()->program;
  const sinter_artifact &artifact = program.artifact();
  std::vector<uint8_t> bytes;
  Job::Facts facts;
  for (uint32_t i = 0; i < artifact.numStates; ++i) {
    const sinter_tensor_desc &tensor = artifact.states[i].tensor;
    if (isOwn(artifact.states[i]))
      continue;
    bytes.resize(tensor.sizeBytes);
    SINTER_RETURN_IF_ERROR(program.readState(i, bytes.data()));
    facts.emplace_back(std::string("state '") + tensor.name + "'",
                       "hash " + toHex(hash64(bytes)));
  }
  Status same = job_->agree(facts);
  return same.code() == SINTER_INVALID
             ? same.as(SINTER_MISMATCH, same.message())
             : same;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Status Replicas::load(const BatchReader &reader,
                      const Loader::Options &options) {
  return onAll([&](Replica &replica) -> Status {
    Loader::Options own = options;
    own.order.part = replica.rank;
    own.order.parts = job_->replicas();
    own.order.microBatches = microBatches_;
    own.begin *= microBatches_;
    own.end *= microBatches_;
    replica.loader.reset();
    SINTER_RETURN_IF_ERROR(replica.reading().allocateBatches(own));
    replica.loader = std::make_unique<Loader>(reader, std::move(own));
    return {};
  });
}

const Device &Replicas::fullestDevice() const {
  auto deviceOf = [](const std::unique_ptr<Replica> &replica) -> Device & {
    return replica->session->program()->program->device();
  };
  return deviceOf(*std::min_element(
      replicas_.begin(), replicas_.end(), [&](const auto &a, const auto &b) {
        return deviceOf(a).availableBytes() < deviceOf(b).availableBytes();
      }));
}

/// One replica after the other: an error on a thread would end the group.
Status Replicas::placeData(const BatchReader &reader,
                           const Loader::Options &options, uint32_t mostSteps,
                           const std::function<bool()> &interrupted) {
  Status placed;
  for (auto &replica : replicas_)
    if (placed.ok())
      placed =
          replica->reading().placeData(reader, options, mostSteps, interrupted);
  if (!placed.ok()) {
    for (auto &replica : replicas_)
      replica->session->program()->program->freeData();
    return placed;
  }
  orderOnDevice_ = options.order;
  orderOnDevice_->parts = job_->replicas();
  orderOnDevice_->microBatches = microBatches_;
  mostSteps_ = mostSteps;
  return {};
}

Status Replicas::beginOnDevice(Replica &replica,
                               std::span<const sinter_control> controls) const {
  RowOrder order = *orderOnDevice_;
  order.part = replica.rank;
  const auto perBatch = static_cast<size_t>(order.partRows());
  replica.controls.assign(controls.begin(), controls.end());
  replica.rows.resize(controls.size() * perBatch);
  for (int64_t i = 0; i < microBatches_; ++i) {
    int64_t *rows = replica.rows.data();
    for (sinter_control &control : replica.controls) {
      const int64_t number = control.step * microBatches_ + i;
      control.replica = replica.rank;
      control.microBatch = i;
      control.validRows = order.validRows(number);
      order.rowsOf(number, rows);
      for (int64_t *row = rows + control.validRows; row < rows + perBatch;
           ++row)
        *row = ~*row;
      rows += perBatch;
    }
    SINTER_RETURN_IF_ERROR(
        replica.reading().beginSeries(replica.controls, replica.rows.data()));
  }
  return replica.grad ? replica.step->begin(replica.controls.front(), nullptr)
                      : Status();
}

/// On this thread: an error on a replica's own would end the group.
Status Replicas::read() {
  if (orderOnDevice_)
    return {};
  for (auto &replica : replicas_) {
    Result<Batch> batch = replica->loader->next();
    if (!batch.ok())
      return batch.status();
    replica->batch = *batch;
  }
  return {};
}

Status Replicas::begin(std::span<const sinter_control> controls) {
  if (orderOnDevice_) {
    SINTER_RETURN_IF_ERROR(onAll(
        [&](Replica &replica) { return beginOnDevice(replica, controls); }));
    begun_ += controls.size();
    return {};
  }
  for (int64_t i = 0; i < microBatches_; ++i) {
    if (i > 0)
      SINTER_RETURN_IF_ERROR(read());
    SINTER_RETURN_IF_ERROR(onAll([&](Replica &replica) -> Status {
      sinter_control own = controls.front();
      own.replica = replica.rank;
      own.microBatch = i;
      own.validRows = replica.batch.validRows;
      SINTER_RETURN_IF_ERROR(
          replica.reading().begin(own, replica.batch.inputs));
      return replica.grad && i + 1 == microBatches_
                 ? replica.step->begin(own, nullptr)
                 : Status();
    }));
  }
  ++begun_;
  return {};
}

std::optional<std::string> Replicas::indexFault(RowOrder order,
                                                int64_t step) const {
  for (const auto &replica : replicas_) {
    const std::optional<IndexFault> &fault = replica->step->indexFault();
    if (!fault)
      continue;
    std::optional<int64_t> row = fault->row();
    if (!row)
      return fault->text();
    order.part = replica->rank;
    order.parts = job_->replicas();
    order.microBatches = microBatches_;
    std::vector<int64_t> rows(static_cast<size_t>(order.partRows()));
    order.rowsOf(step * microBatches_ + *row / order.partRows(), rows.data());
    return fault->text() + ", row " +
           std::to_string(rows[static_cast<size_t>(*row % order.partRows())]) +
           " of the data";
  }
  return std::nullopt;
}

Status Replicas::finish() {
  ++finished_;
  // An index out of range is found after the sums over replicas, so no other
  // replica waits for this one, and the group goes on.
  SINTER_RETURN_IF_ERROR(onAll([](Replica &replica) {
    Status finished = replica.step->finish();
    const bool isIndex = !finished.ok() && replica.step->indexFault();
    replica.fault = isIndex ? finished : Status();
    return isIndex ? Status() : finished;
  }));
  for (const auto &replica : replicas_)
    SINTER_RETURN_IF_ERROR(replica->fault);
  return {};
}
