//===- Ceilings.cpp - how fast a device can be at all ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/Ceilings.h"

#include <algorithm>

using namespace sinter::rt;

namespace {

/// Sizes that a device of a kind is busy with for about a millisecond.
struct Sizes {
  uint64_t copyBytes;
  int64_t productSide;
};

Sizes sizesOf(const Device &device) {
  if (device.kind() == "cuda")
    return {uint64_t(512) << 20, 8192};
  if (device.kind() == "cpu")
    return {uint64_t(64) << 20, 1024};
  return {uint64_t(1) << 20, 64}; // simulated: its speed means nothing
}

/// Blocks of the device's memory that are given back.
class Blocks {
public:
  explicit Blocks(Device &device) : device_(device) {}
  ~Blocks() {
    for (void *block : blocks_)
      device_.free(block);
  }
  Result<void *> allocate(uint64_t sizeBytes) {
    Result<void *> block = device_.allocate(sizeBytes, "a measurement");
    if (block.ok() && *block)
      blocks_.push_back(*block);
    return block;
  }

private:
  Device &device_;
  std::vector<void *> blocks_;
};

class Timer {
public:
  static Result<std::unique_ptr<Timer>> create(Device &device) {
    std::unique_ptr<Timer> timer(new Timer(device));
    Result<std::unique_ptr<Stream>> stream = device.createStream();
    if (!stream.ok())
      return stream.status();
    timer->stream = std::move(*stream);
    for (std::unique_ptr<Event> *event : {&timer->begin_, &timer->end_}) {
      Result<std::unique_ptr<Event>> made =
          device.createEvent(EventUse::Timing);
      if (!made.ok())
        return made.status();
      *event = std::move(*made);
    }
    return timer;
  }

  /// Microseconds of `work`, the least of some after one that does not count.
  template <typename Function> Result<double> least(const Function &work) {
    double least = 0;
    for (int i = 0; i < 6; ++i) {
      SINTER_RETURN_IF_ERROR(device_.record(*begin_, *stream));
      SINTER_RETURN_IF_ERROR(work());
      SINTER_RETURN_IF_ERROR(device_.record(*end_, *stream));
      SINTER_RETURN_IF_ERROR(device_.synchronize(*stream));
      Result<double> us = device_.elapsedUs(*begin_, *end_);
      if (!us.ok())
        return us.status();
      if (i > 0)
        least = i == 1 ? *us : std::min(least, *us);
    }
    return std::max(least, 1e-3);
  }

  std::unique_ptr<Stream> stream;

private:
  explicit Timer(Device &device) : device_(device) {}
  Device &device_;
  std::unique_ptr<Event> begin_, end_;
};

Result<double> copyRate(Device &device, Timer &timer, uint64_t sizeBytes) {
  Blocks blocks(device);
  Result<void *> from = blocks.allocate(sizeBytes);
  if (!from.ok())
    return from.status();
  Result<void *> to = blocks.allocate(sizeBytes);
  if (!to.ok())
    return to.status();
  // Defined content, whatever a device that checks may think of other.
  SINTER_RETURN_IF_ERROR(device.fill(*timer.stream, *from, 0, sizeBytes));
  Result<double> us = timer.least(
      [&] { return device.copy(*timer.stream, *to, *from, sizeBytes); });
  if (!us.ok())
    return us.status();
  return 2.0 * static_cast<double>(sizeBytes) / *us / 1e3;
}

/// 0 where the library does not multiply elements of this dtype.
Result<double> productRate(Device &device, Timer &timer, int64_t side,
                           uint32_t dtype) {
  Result<Library *> library = device.library();
  if (!library.ok())
    return 0.0;
  const auto sizeBytes =
      static_cast<uint64_t>(side * side) * (dtype == SINTER_F32 ? 4 : 2);
  sinter_matmul product = {};
  product.dtype = product.outDtype = dtype;
  product.m = product.n = product.k = side;
  product.aStrideM = product.bStrideK = product.cStrideM = side;
  product.aStrideK = product.bStrideN = product.cStrideN = 1;
  const sinter_slice slices[] = {
      {SINTER_SPACE_ARENA, 0, 0, sizeBytes},
      {SINTER_SPACE_ARENA, 0, sizeBytes, sizeBytes},
      {SINTER_SPACE_ARENA, 0, 2 * sizeBytes, sizeBytes}};
  sinter_command command = {};
  command.kind = SINTER_CMD_MATMUL;
  command.slices = slices;
  command.params = &product;
  command.label = "a measurement";
  command.numSlices = 3;
  command.numReads = 2;
  Result<std::unique_ptr<LibraryCall>> call =
      (*library)->prepare(command, nullptr, device.threads());
  if (!call.ok())
    return 0.0;
  Blocks blocks(device);
  void *buffers[3];
  for (void *&buffer : buffers) {
    Result<void *> block = blocks.allocate(sizeBytes);
    if (!block.ok())
      return block.status();
    buffer = *block;
    SINTER_RETURN_IF_ERROR(device.fill(*timer.stream, buffer, 0, sizeBytes));
  }
  Scratch scratch;
  scratch.perWorkerStride = ((*call)->perWorkerBytes() + 4095) / 4096 * 4096;
  for (auto [to, size] :
       {std::pair{&scratch.shared, (*call)->sharedBytes()},
        std::pair{&scratch.perWorker,
                  scratch.perWorkerStride *
                      static_cast<uint64_t>(device.threads())}}) {
    Result<void *> block = blocks.allocate(size);
    if (!block.ok())
      return block.status();
    *to = static_cast<uint8_t *>(*block);
  }
  SINTER_RETURN_IF_ERROR((*call)->bind(scratch, device.threads()));
  Result<double> us =
      timer.least([&] { return device.call(*timer.stream, **call, buffers); });
  if (!us.ok())
    return us.status();
  const auto n = static_cast<double>(side);
  return 2 * n * n * n / *us / 1e6;
}

} // namespace

Result<Ceilings> sinter::rt::measureCeilings(Device &device) {
  const Sizes sizes = sizesOf(device);
  Result<std::unique_ptr<Timer>> timer = Timer::create(device);
  if (!timer.ok())
    return timer.status();
  Ceilings ceilings;
  Result<double> copy = copyRate(device, **timer, sizes.copyBytes);
  if (!copy.ok())
    return copy.status();
  ceilings.copyGBps = *copy;
  for (auto [dtype, to] : {std::pair{SINTER_F32, &ceilings.f32TFlops},
                           std::pair{SINTER_BF16, &ceilings.bf16TFlops}}) {
    Result<double> rate =
        productRate(device, **timer, sizes.productSide, dtype);
    if (!rate.ok())
      return rate.status();
    *to = *rate;
  }
  return ceilings;
}
