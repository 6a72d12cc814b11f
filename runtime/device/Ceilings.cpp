//===- Ceilings.cpp - the highest speed that a device reaches -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/Ceilings.h"
#include "runtime/device/Timer.h"

#include <algorithm>
#include <bit>

using namespace sinter::rt;

namespace {

/// Sizes that keep a device of each kind busy for about a millisecond.
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

/// Owns blocks of the device's memory.
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

/// A stream and a timer for it.
struct Clock {
  std::unique_ptr<Stream> stream;
  Timer timer;

  Result<double> leastUs(const std::function<Status()> &work) {
    return timer.leastUs(*stream, work);
  }
};

Result<Clock> createClock(Device &device) {
  Result<std::unique_ptr<Stream>> stream = device.createStream();
  if (!stream.ok())
    return stream.status();
  Result<Timer> timer = Timer::create(device);
  if (!timer.ok())
    return timer.status();
  return Clock{std::move(*stream), std::move(*timer)};
}

Result<double> copyRate(Device &device, Clock &clock, uint64_t sizeBytes) {
  Blocks blocks(device);
  Result<void *> from = blocks.allocate(sizeBytes);
  if (!from.ok())
    return from.status();
  Result<void *> to = blocks.allocate(sizeBytes);
  if (!to.ok())
    return to.status();
  SINTER_RETURN_IF_ERROR(
      fillRandom(device, *clock.stream, *from, sizeBytes, SINTER_F32));
  Result<double> us = clock.leastUs(
      [&] { return device.copy(*clock.stream, *to, *from, sizeBytes); });
  if (!us.ok())
    return us.status();
  return 2.0 * static_cast<double>(sizeBytes) / *us / 1e3;
}

/// 0 if the library does not multiply elements of this dtype.
Result<double> productRate(Device &device, Clock &clock, int64_t side,
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
  command.matmul.params = &product;
  command.label = "a measurement";
  command.numSlices = 3;
  command.numReads = 2;
  constexpr uint64_t workspaceBytes = 32u << 20; // sinterc's default
  Result<std::unique_ptr<LibraryCall>> call =
      (*library)->prepare(command, {nullptr, device.threads(), workspaceBytes});
  if (!call.ok())
    return 0.0;
  Blocks blocks(device);
  void *buffers[3];
  for (void *&buffer : buffers) {
    Result<void *> block = blocks.allocate(sizeBytes);
    if (!block.ok())
      return block.status();
    buffer = *block;
    SINTER_RETURN_IF_ERROR(
        fillRandom(device, *clock.stream, buffer, sizeBytes, dtype));
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
  Result<double> us = clock.leastUs(
      [&] { return device.call(*clock.stream, **call, buffers); });
  if (!us.ok())
    return us.status();
  const auto n = static_cast<double>(side);
  return 2 * n * n * n / *us / 1e6;
}

} // namespace

double Ceilings::mostGBps(uint64_t readBytes, uint64_t writtenBytes) const {
  const double bytes = double(readBytes) + double(writtenBytes);
  if (levels.empty() || bytes == 0)
    return 0;
  // Of the bytes in a level, the same share is read as of all bytes.
  double left = bytes, us = 0;
  for (const MemoryLevel &level : levels) {
    const double here = std::min(left, double(level.sizeBytes)),
                 reads = here * double(readBytes) / bytes,
                 writes = here * double(writtenBytes) / bytes;
    us += std::max({reads / level.readGBps, writes / level.writeGBps,
                    level.bothGBps > 0 ? here / level.bothGBps : 0}) /
          1e3;
    left -= here;
  }
  return bytes / us / 1e3;
}

void sinter::rt::setLimits(Ceilings &ceilings, const CpuRates &rates,
                           const CpuId &cpu, int threads) {
  auto all = [&](CpuRate rate, double perUnit) {
    return rates[rate].value_or(0) / perUnit * threads;
  };
  constexpr double giga = 1e9, tera = 1e12;
  if (!rates[CpuRate::Fp32])
    return;
  ceilings.mostF32TFlops =
      std::max(all(CpuRate::Fp32, tera), ceilings.f32TFlops);
  ceilings.mostBf16TFlops =
      std::max({all(CpuRate::Bf16, tera), all(CpuRate::Bf16Tiles, tera),
                ceilings.mostF32TFlops, ceilings.bf16TFlops});
  // Reads and writes share the bus of the main memory. Those of caches have
  // paths of their own. The copy may have found some of its data in a cache.
  MemoryLevel memory = {"memory", UINT64_MAX};
  memory.readGBps = memory.writeGBps = memory.bothGBps =
      std::max({all(CpuRate::Memory, giga), all(CpuRate::MemoryFill, giga),
                all(CpuRate::MemoryCopy, giga), ceilings.copyGBps});
  ceilings.levels = {memory};
  struct Cache {
    const char *name;
    CpuRate reads, writes;
    uint64_t bytes; // that one core reaches; each may reach another
  };
  for (const Cache &cache :
       {Cache{"L3", CpuRate::L3, CpuRate::L3Fill, cpu.l3Bytes},
        {"L2", CpuRate::L2, CpuRate::L2Fill, cpu.l2Bytes},
        {"L1", CpuRate::L1, CpuRate::L1Fill, cpu.l1Bytes}}) {
    // A cache is at least as fast as the next level, even if a busy machine
    // measured less.
    const MemoryLevel &behind = ceilings.levels.front();
    if (!cache.bytes || !rates[cache.reads] || !rates[cache.writes])
      continue;
    const MemoryLevel level = {
        cache.name, cache.bytes * static_cast<uint64_t>(threads),
        std::max(all(cache.reads, giga), behind.readGBps),
        std::max(all(cache.writes, giga), behind.writeGBps)};
    ceilings.levels.insert(ceilings.levels.begin(), level);
  }
}

Status sinter::rt::fillRandom(Device &device, Stream &stream, void *to,
                              uint64_t sizeBytes, uint32_t dtype) {
  constexpr uint64_t mostBytes = 4u << 20; // the rest are copies of these
  const uint64_t firstBytes = std::min(sizeBytes, mostBytes);
  Result<void *> host = device.allocateHost(firstBytes, "a measurement");
  if (!host.ok())
    return host.status();
  // A linear congruential generator (Knuth's MMIX), whose upper bits are good;
  // 24 of them for a float, 8 for a bf16, which is a float's upper half.
  const auto number = [](uint64_t bits, int count) {
    const int half = 1 << (count - 1);
    return std::bit_cast<uint32_t>(
        static_cast<float>(static_cast<int>(bits & (2 * half - 1)) - half) /
        static_cast<float>(half));
  };
  uint64_t state = 1;
  auto *words = static_cast<uint32_t *>(*host);
  for (uint64_t i = 0; i < firstBytes / 4; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    words[i] = dtype == SINTER_F32
                   ? number(state >> 40, 24)
                   : number(state >> 40, 8) >> 16 | number(state >> 56, 8);
  }
  Status status = device.upload(stream, to, *host, firstBytes);
  auto *bytes = static_cast<uint8_t *>(to);
  for (uint64_t done = firstBytes; done < sizeBytes && status.ok(); done *= 2)
    status = device.copy(stream, bytes + done, bytes,
                         std::min(done, sizeBytes - done));
  Status waited = device.synchronize(stream);
  device.freeHost(*host);
  return status.ok() ? waited : status;
}

Result<Ceilings> sinter::rt::measureCeilings(Device &device) {
  const Sizes sizes = sizesOf(device);
  Result<Clock> clock = createClock(device);
  if (!clock.ok())
    return clock.status();
  Ceilings ceilings;
  Result<double> copy = copyRate(device, *clock, sizes.copyBytes);
  if (!copy.ok())
    return copy.status();
  ceilings.copyGBps = *copy;
  for (auto [dtype, to] : {std::pair{SINTER_F32, &ceilings.f32TFlops},
                           std::pair{SINTER_BF16, &ceilings.bf16TFlops}}) {
    Result<double> rate = productRate(device, *clock, sizes.productSide, dtype);
    if (!rate.ok())
      return rate.status();
    *to = *rate;
  }
  if (device.kind() == "cpu")
    setLimits(ceilings, measureHostCpuAgain(), hostCpuId(), device.threads());
  return ceilings;
}
