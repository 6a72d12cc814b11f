//===- Loader.cpp - batches, prepared ahead by worker threads -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Loader.h"

#include "runtime/base/BlockSignals.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>

using namespace sinter::rt;

int64_t Loader::Options::numSlots() const {
  return std::min<int64_t>(std::max(prefetch, 1) + std::max(inUse, 1),
                           std::max<int64_t>(end - begin, 0));
}

/// The buffers of one batch.
struct Loader::Slot {
  std::vector<void *> buffers; // 64-byte aligned, one for each input
  bool ownsBuffers = true;
  std::vector<int64_t> rows;
  int64_t validRows = 0;
  int64_t ready = -1; // the number of the batch that it holds, filled
  Status status;
  ~Slot() {
    for (void *buffer : buffers)
      if (ownsBuffers)
        std::free(buffer);
  }
};

Loader::Loader(const BatchReader &reader, Options options)
    : reader_(reader), options_(std::move(options)),
      nextToFill_(options_.begin), nextToTake_(options_.begin) {
  const int64_t numSlots = options_.numSlots();
  for (int64_t i = 0; i < numSlots; ++i) {
    slots_.push_back(std::make_unique<Slot>());
    if (options_.buffers.empty())
      continue;
    slots_.back()->buffers = options_.buffers[static_cast<size_t>(i)];
    slots_.back()->ownsBuffers = false;
  }
  int64_t numWorkers =
      std::min<int64_t>(std::max(options_.workers, 1), numSlots);
  BlockSignals blocked; // inherited by the workers
  for (int64_t i = 0; i < numWorkers; ++i) {
    try {
      workers_.emplace_back([this] { work(); });
    } catch (const std::system_error &) {
      break; // without any worker next() fills the batches itself
    }
  }
}

Loader::~Loader() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  freed_.notify_all();
  for (std::thread &worker : workers_)
    worker.join();
}

Loader::Slot &Loader::slotOf(int64_t number) {
  return *slots_[static_cast<size_t>(number % int64_t(slots_.size()))];
}

Status Loader::fillSlot(Slot &slot, int64_t number) const {
  std::span<const sinter_tensor_desc> inputs = reader_.inputs();
  while (slot.buffers.size() < inputs.size()) {
    uint64_t sizeBytes = inputs[slot.buffers.size()].sizeBytes;
    void *buffer = std::aligned_alloc(64, (sizeBytes + 63) / 64 * 64 + 64);
    if (!buffer)
      return Status(SINTER_OUT_OF_MEMORY, "no memory for a batch of data");
    slot.buffers.push_back(buffer);
  }
  int64_t batch = options_.order.partRows();
  slot.rows.resize(batch);
  slot.validRows = batch;
  if (options_.evaluation) {
    int64_t first = number * batch;
    slot.validRows = std::min(batch, options_.order.rows - first);
    for (int64_t i = 0; i < batch; ++i)
      slot.rows[i] = first + std::min(i, slot.validRows - 1);
  } else {
    options_.order.rowsOf(number, slot.rows.data());
    slot.validRows = options_.order.validRows(number);
  }
  SINTER_RETURN_IF_ERROR(reader_.fill(slot.rows, slot.buffers.data()));
  if (!options_.evaluation)
    reader_.ignoreLabels(slot.validRows, slot.buffers.data());
  return {};
}

void Loader::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    // A slot is free when the batch that it held has been released.
    freed_.wait(lock, [&] {
      return stop_ || nextToFill_ >= options_.end ||
             nextToFill_ - std::max(nextToTake_ - std::max(options_.inUse, 1),
                                    options_.begin) <
                 int64_t(slots_.size());
    });
    if (stop_ || nextToFill_ >= options_.end)
      return;
    int64_t number = nextToFill_++;
    Slot &slot = slotOf(number);
    lock.unlock();
    Status status;
    try {
      status = fillSlot(slot, number);
    } catch (const std::bad_alloc &) {
      status = Status(SINTER_OUT_OF_MEMORY, "no memory for a batch of data");
    } catch (const std::exception &error) {
      status = Status::failed(std::string("reading data: ") + error.what());
    }
    lock.lock();
    slot.status = std::move(status);
    slot.ready = number;
    filled_.notify_all();
  }
}

Result<Batch> Loader::next() {
  std::unique_lock lock(mutex_);
  int64_t number = nextToTake_;
  if (number >= options_.end)
    return Status::failed("the loader was asked for more batches than it has");
  ++nextToTake_; // releases the oldest batch in use
  freed_.notify_all();
  Slot &slot = slotOf(number);
  if (workers_.empty()) {
    slot.status = fillSlot(slot, number);
    slot.ready = number;
  }
  filled_.wait(lock, [&] { return slot.ready == number; });
  if (!slot.status.ok())
    return slot.status;
  return Batch{slot.buffers.data(), slot.validRows};
}
