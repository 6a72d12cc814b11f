//===- Loader.h - batches, prepared ahead by worker threads -----*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Workers fill a ring of batches ahead of the consumer. The content of a batch
// is a function of its number alone, so neither the number of workers nor their
// timing changes anything. An error is returned in place of its batch.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_DATA_LOADER_H
#define SINTER_RUNTIME_DATA_LOADER_H

#include "runtime/data/BatchReader.h"
#include "runtime/data/Shuffle.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace sinter::rt {

struct Batch {
  const void *const *inputs = nullptr; // in the order of the reader's inputs
  int64_t validRows = 0;               // the rows after these repeat valid ones
};

class Loader {
public:
  struct Options {
    int64_t begin = 0, end = 0; // batch numbers [begin, end)
    RowOrder order;             // rows and batch as the reader has them
    /// One pass over all rows in order, the last batch padded.
    bool evaluation = false;
    int32_t workers = 1;  // >= 1
    int32_t prefetch = 4; // batches ahead, >= 1
    /// How many batches stay as they are: the last one, and those before it.
    int32_t inUse = 1;
    /// Memory for numSlots() batches, which outlives the loader: an address for
    /// each input. Empty: the loader allocates it.
    std::vector<std::vector<void *>> buffers;

    /// The batches that the loader holds.
    int64_t numSlots() const;
  };
  /// `reader` outlives the loader.
  Loader(const BatchReader &reader, Options options);
  ~Loader();
  Loader(const Loader &) = delete;
  Loader &operator=(const Loader &) = delete;

  /// The next batch. Its buffers stay as they are until this was called
  /// `inUse` times more. May be called end - begin times at most.
  Result<Batch> next();

private:
  struct Slot;
  void work();
  Status fillSlot(Slot &slot, int64_t number) const;
  Slot &slotOf(int64_t number);

  const BatchReader &reader_;
  Options options_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<std::thread> workers_;
  std::mutex mutex_; // guards everything below and Slot::ready
  std::condition_variable filled_, freed_;
  int64_t nextToFill_; // claimed by workers
  int64_t nextToTake_; // by the consumer; `inUse` batches before it stay
  bool stop_ = false;
};

/// Batches of one evaluation pass over `rows` rows.
constexpr int64_t evaluationBatches(int64_t rows, int64_t batch) {
  return (rows + batch - 1) / batch;
}

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DATA_LOADER_H
