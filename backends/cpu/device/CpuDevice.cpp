//===- CpuDevice.cpp - programs on this machine's CPU ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/CpuDevice.h"
#include "backends/cpu/device/CpuGroup.h"
#include "runtime/collective/SpanningGroup.h"

#include "backends/cpu/device/CpuLibrary.h"
#include "runtime/base/AlignedBlock.h"
#include "runtime/base/CpuFeatures.h"
#include "runtime/base/CpuRates.h"
#include "runtime/base/NumberText.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <unordered_map>

using namespace sinter;
using namespace sinter::rt;

namespace {

using Clock = std::chrono::steady_clock;

const std::string deviceName = "cpu";

/// Copies and fills below this many bytes are not worth waking a worker.
constexpr int64_t copyGrainBytes = 256 * 1024;

std::string featureText() {
  std::string text;
  for (const std::string &feature : cpuFeatures())
    text += (text.empty() ? "" : " ") + feature;
  return text;
}

/// All work is done when a call returns, so there is nothing to order.
class CpuStream final : public Stream {};

class CpuEvent final : public Event {
public:
  Clock::time_point time;
};

class CpuKernels final : public KernelModule {
public:
  explicit CpuKernels(const sinter_kernel_desc *table) : table(table) {}
  const sinter_kernel_desc *table;
};

class CpuDevice final : public Device {
public:
  CpuDevice(int threads, const DeviceOptions &options,
            std::unique_ptr<Library> library)
      : threads_(threads), pool_(ThreadPool::shared()),
        limitBytes_(options.memoryLimitBytes ? options.memoryLimitBytes
                                             : UINT64_MAX),
        usedBytes_(options.sharedUse
                       ? options.sharedUse
                       : std::make_shared<std::atomic<uint64_t>>(0)),
        library_(std::move(library)) {}
  ~CpuDevice() override {
    for (const auto &[address, block] : blocks_)
      *usedBytes_ -= block.sizeBytes();
  }

  const std::string &name() const override { return deviceName; }
  const std::string &kind() const override { return deviceName; }

  std::vector<std::string> report() const override {
    return {"CPU: " + cpuModelName(),
            "threads: " + std::to_string(threads_) + " of " +
                std::to_string(availableCpus()) + " available CPUs",
            "contractions: " + library_->version(),
            "features: " + featureText()};
  }

  Status checkCode(const sinter_artifact &artifact) const override {
    return checkCpuFeatures(artifact.cpuFeatures);
  }

  int threads() const override { return threads_; }

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  bool sharesHostMemory() const override { return true; }

  Result<void *> allocate(uint64_t sizeBytes, const char *purpose) override {
    if (uint64_t left = availableBytes(); !take(sizeBytes))
      return Status(SINTER_OUT_OF_MEMORY,
                    std::string(purpose) + " needs " + bytesText(sizeBytes) +
                        ", " + bytesText(left) +
                        " are left of the memory limit of " +
                        bytesText(limitBytes_));
    Result<AlignedBlock> block = AlignedBlock::allocate(sizeBytes, purpose);
    if (!block.ok()) {
      *usedBytes_ -= sizeBytes;
      return block.status();
    }
    void *address = block->data();
    if (address)
      blocks_.emplace(address, std::move(*block));
    return address;
  }
  void free(void *address) override {
    auto block = blocks_.find(address);
    if (block == blocks_.end())
      return;
    *usedBytes_ -= block->second.sizeBytes();
    blocks_.erase(block);
  }
  uint64_t availableBytes() const override { return limitBytes_ - *usedBytes_; }

  Result<void *> allocateHost(uint64_t sizeBytes,
                              const char *purpose) override {
    return allocate(sizeBytes, purpose);
  }
  void freeHost(void *address) override { free(address); }

  //===--------------------------------------------------------------------===//
  // Order
  //===--------------------------------------------------------------------===//

  Result<std::unique_ptr<Stream>> createStream() override {
    return std::unique_ptr<Stream>(std::make_unique<CpuStream>());
  }
  Result<std::unique_ptr<Event>> createEvent(EventUse) override {
    return std::unique_ptr<Event>(std::make_unique<CpuEvent>());
  }
  Status record(Event &event, Stream &) override {
    static_cast<CpuEvent &>(event).time = Clock::now();
    return {};
  }
  Status wait(Stream &, const Event &) override { return {}; }
  Status synchronize(const Event &) override { return {}; }
  Status synchronize(Stream &) override { return {}; }
  Status synchronize() override { return {}; }
  Result<double> elapsedUs(const Event &begin, const Event &end) override {
    return std::chrono::duration<double, std::micro>(
               static_cast<const CpuEvent &>(end).time -
               static_cast<const CpuEvent &>(begin).time)
        .count();
  }

  //===--------------------------------------------------------------------===//
  // Commands
  //===--------------------------------------------------------------------===//

  Status upload(Stream &stream, void *to, const void *from,
                uint64_t sizeBytes) override {
    return copy(stream, to, from, sizeBytes);
  }
  Status download(Stream &stream, void *to, const void *from,
                  uint64_t sizeBytes) override {
    return copy(stream, to, from, sizeBytes);
  }
  Status copyFromPeer(Stream &stream, void *to, Device &, const void *from,
                      uint64_t sizeBytes) override {
    return copy(stream, to, from, sizeBytes);
  }

  Status copy(Stream &, void *to, const void *from,
              uint64_t sizeBytes) override {
    pool_.parallelFor(threads_, static_cast<int64_t>(sizeBytes), copyGrainBytes,
                      [&](int, int64_t begin, int64_t end) {
                        std::memcpy(static_cast<uint8_t *>(to) + begin,
                                    static_cast<const uint8_t *>(from) + begin,
                                    static_cast<size_t>(end - begin));
                      });
    return {};
  }

  Status fill(Stream &, void *to, uint8_t value, uint64_t sizeBytes) override {
    pool_.parallelFor(threads_, static_cast<int64_t>(sizeBytes), copyGrainBytes,
                      [&](int, int64_t begin, int64_t end) {
                        std::memset(static_cast<uint8_t *>(to) + begin, value,
                                    static_cast<size_t>(end - begin));
                      });
    return {};
  }

  Result<std::unique_ptr<KernelModule>>
  loadKernels(const sinter_artifact &artifact) override {
    return std::unique_ptr<KernelModule>(
        std::make_unique<CpuKernels>(artifact.kernels));
  }

  Status launch(Stream &, KernelModule &module, uint32_t kernel,
                void *const *buffers, int64_t tiles) override {
    sinter_cpu_kernel function =
        static_cast<CpuKernels &>(module).table[kernel].cpu;
    pool_.parallelFor(threads_, tiles, 1, [&](int, int64_t begin, int64_t end) {
      function(buffers, begin, end);
    });
    return {};
  }

  Status call(Stream &, LibraryCall &call, void *const *buffers) override {
    return call.run(buffers, {&pool_, threads_, nullptr});
  }

  Result<Library *> library() override { return library_.get(); }

  Result<std::unique_ptr<Communicator>>
  joinGroup(const sinter_rank &rank) override {
    return cpu::joinCpuGroup(rank);
  }

private:
  /// Counts `sizeBytes` as used, if the limit allows it. Others may share it.
  bool take(uint64_t sizeBytes) {
    uint64_t used = *usedBytes_;
    do
      if (sizeBytes > limitBytes_ - used)
        return false;
    while (!usedBytes_->compare_exchange_weak(used, used + sizeBytes));
    return true;
  }

  int threads_;
  ThreadPool &pool_;
  uint64_t limitBytes_;
  std::shared_ptr<std::atomic<uint64_t>> usedBytes_;
  std::unique_ptr<Library> library_;
  std::unordered_map<void *, AlignedBlock> blocks_;
};

} // namespace

Result<std::unique_ptr<Device>>
sinter::cpu::createCpuDevice(int threads, const DeviceOptions &options) {
  if (threads == 0)
    threads = availableCpus();
  SINTER_RETURN_IF_ERROR(ThreadPool::shared().reserve(threads));
  Result<std::unique_ptr<Library>> library = createCpuLibrary();
  if (!library.ok())
    return library.status();
  return std::unique_ptr<Device>(
      std::make_unique<CpuDevice>(threads, options, std::move(*library)));
}

std::vector<DeviceFact> sinter::cpu::describeCpu() {
  const CpuId cpu = hostCpuId();
  DeviceFact caches{"caches", "", {}};
  for (auto [level, bytes] :
       {std::pair{"L1", cpu.l1Bytes}, {"L2", cpu.l2Bytes}, {"L3", cpu.l3Bytes}})
    if (bytes) {
      caches.text += (caches.text.empty() ? "" : ", ") + std::string(level) +
                     " " + bytesText(bytes);
      caches.parts.push_back({level, "", static_cast<double>(bytes)});
    }
  if (caches.text.empty())
    caches.text = "unknown";
  const CpuRates measured = measureHostCpuAgain();
  DeviceFact rates{"rates of one core", measured.source, {}};
  for (const CpuRateTraits &row : cpuRateTraits())
    if (measured[row.rate]) {
      char text[32];
      std::snprintf(text, sizeof(text), "%.1f ", *measured[row.rate] / 1e9);
      rates.parts.push_back(
          {row.text, text + std::string(row.unit), measured[row.rate]});
    }
  return {{"name", cpu.text(), {}},
          {"CPUs", std::to_string(cpu.cpus), cpu.cpus},
          std::move(caches),
          {"features", featureText(), {}},
          std::move(rates)};
}

void sinter::cpu::registerCpuDevice(DeviceRegistry &registry,
                                    const MakeExchange &makeExchange) {
  registry.add({deviceName, /*isNumbered=*/false, [] { return Result<int>(1); },
                [](int, const DeviceOptions &options) {
                  return createCpuDevice(options.threads, options);
                },
                [makeExchange](const GroupRequest &request, uint8_t *group) {
                  return nameGroupOfThreads(request, makeExchange, group);
                },
                /*libraryFor=*/nullptr, [](int) { return describeCpu(); },
                /*sumsOnHost=*/true});
}
