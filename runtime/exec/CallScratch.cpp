//===- CallScratch.cpp - library calls within their scratch ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A call's scratch grows with the number of threads that run it, but its result
// does not depend on that number: if the promised scratch is too small for all
// threads, fewer run the call.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/Executor.h"

#include <algorithm>

using namespace sinter::rt;

namespace {

/// A call that runs on at most `threads` threads.
class FewerThreads final : public LibraryCall {
public:
  FewerThreads(std::unique_ptr<LibraryCall> call, int threads)
      : call_(std::move(call)), threads_(threads) {}

  uint64_t sharedBytes() const override { return call_->sharedBytes(); }
  uint64_t perWorkerBytes() const override { return call_->perWorkerBytes(); }
  Status bind(const Scratch &scratch, int threads) override {
    return call_->bind(scratch, std::min(threads, threads_));
  }
  Status run(void *const *buffers, const CallContext &context) override {
    CallContext fewer = context;
    fewer.threads = std::min(context.threads, threads_);
    return call_->run(buffers, fewer);
  }
  int alternatives() override { return call_->alternatives(); }
  void select(int index) override { call_->select(index); }
  void choose(std::span<const double> leastUs) override {
    call_->choose(leastUs);
  }
  std::string description() const override {
    return call_->description() + ", " + std::to_string(threads_) +
           (threads_ == 1 ? " thread" : " threads") + " for want of scratch";
  }

private:
  std::unique_ptr<LibraryCall> call_;
  const int threads_;
};

/// A page apart, so that neighbours do not share a cache line or a prefetch.
uint64_t strideOf(uint64_t bytes) { return (bytes + 4095) / 4096 * 4096; }

} // namespace

ScratchNeeds Executor::scratchNeeds(const Stream &stream) const {
  ScratchNeeds needs;
  for (size_t i = 0; i < calls_.size(); ++i)
    if (calls_[i] && steps_[i].stream == &stream)
      needs.cover(
          {calls_[i]->sharedBytes(), strideOf(calls_[i]->perWorkerBytes())});
  return needs;
}

Result<uint64_t> Executor::shareScratch(Place &place, const Stream &stream,
                                        const ScratchNeeds &needs,
                                        uint64_t promisedBytes) {
  const int threads = place.device->threads();
  uint64_t blockBytes = 0;
  for (uint32_t i = 0; i < calls_.size(); ++i) {
    if (!calls_[i] || steps_[i].stream != &stream)
      continue;
    uint64_t sharedBytes = calls_[i]->sharedBytes(),
             stride = strideOf(calls_[i]->perWorkerBytes());
    // The shared part is as large as the largest call wants.
    uint64_t left = promisedBytes - std::min(promisedBytes, needs.sharedBytes);
    int fitting = stride && left / stride < static_cast<uint64_t>(threads)
                      ? static_cast<int>(left / stride)
                      : threads;
    if (sharedBytes > promisedBytes || fitting == 0)
      return named(
          i, {SINTER_OUT_OF_MEMORY,
              "takes " + std::to_string(needs.sharedBytes + stride) +
                  " bytes of scratch on one thread, more than the " +
                  std::to_string(promisedBytes) +
                  " that library calls were promised; compile the program "
                  "with --workspace=" +
                  std::to_string(needs.sharedBytes + needs.perWorkerBytes)});
    blockBytes = std::max(blockBytes, stride * static_cast<uint64_t>(fitting));
    place.callThreads = std::min(place.callThreads, fitting);
    if (fitting == threads)
      continue;
    calls_[i] = std::make_unique<FewerThreads>(std::move(calls_[i]), fitting);
    for (uint32_t j = i; j < calls_.size(); ++j)
      if (callOf_[j] == i)
        steps_[j].call = calls_[i].get();
  }
  return blockBytes;
}

Status Executor::bind(const Place &place, const Stream &stream,
                      Scratch scratch) {
  const int threads = place.device->threads();
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (!calls_[i] || steps_[i].stream != &stream)
      continue;
    scratch.perWorkerStride = strideOf(calls_[i]->perWorkerBytes());
    SINTER_RETURN_IF_ERROR(calls_[i]->bind(scratch, threads));
  }
  return {};
}
