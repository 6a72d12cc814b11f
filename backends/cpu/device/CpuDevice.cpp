//===- CpuDevice.cpp - programs on this machine's CPU ---------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cpu/device/CpuDevice.h"

#include "backends/cpu/device/OneDnnLibrary.h"
#include "runtime/base/AlignedBlock.h"
#include "runtime/base/CpuFeatures.h"

#include <cstring>
#include <unordered_map>

using namespace sinter;
using namespace sinter::rt;

namespace {

const std::string deviceName = "cpu";

/// Copies and fills below this many bytes are not worth waking a worker.
constexpr int64_t copyGrainBytes = 256 * 1024;

class CpuDevice : public Device {
public:
  CpuDevice(int threads, std::unique_ptr<Library> library)
      : threads_(threads), pool_(ThreadPool::shared()),
        library_(std::move(library)) {}

  const std::string &name() const override { return deviceName; }

  std::vector<std::string> report() const override {
    std::string features;
    for (const std::string &feature : cpuFeatures())
      features += (features.empty() ? "" : " ") + feature;
    return {"CPU: " + cpuModelName(),
            "threads: " + std::to_string(threads_) + " of " +
                std::to_string(availableCpus()) + " available CPUs",
            "contractions: " + library_->version(), "features: " + features};
  }

  Status checkFeatures(const char *features) const override {
    return checkCpuFeatures(features);
  }

  int threads() const override { return threads_; }

  Result<void *> allocate(uint64_t sizeBytes, const char *purpose) override {
    Result<AlignedBlock> block = AlignedBlock::allocate(sizeBytes, purpose);
    if (!block.ok())
      return block.status();
    void *address = block->data();
    if (address)
      blocks_.emplace(address, std::move(*block));
    return address;
  }

  void free(void *address) override { blocks_.erase(address); }

  bool sharesHostMemory() const override { return true; }

  Status copy(void *to, const void *from, uint64_t sizeBytes) override {
    pool_.parallelFor(threads_, static_cast<int64_t>(sizeBytes), copyGrainBytes,
                      [&](int, int64_t begin, int64_t end) {
                        std::memcpy(static_cast<uint8_t *>(to) + begin,
                                    static_cast<const uint8_t *>(from) + begin,
                                    static_cast<size_t>(end - begin));
                      });
    return {};
  }

  Status fillZero(void *to, uint64_t sizeBytes) override {
    pool_.parallelFor(threads_, static_cast<int64_t>(sizeBytes), copyGrainBytes,
                      [&](int, int64_t begin, int64_t end) {
                        std::memset(static_cast<uint8_t *>(to) + begin, 0,
                                    static_cast<size_t>(end - begin));
                      });
    return {};
  }

  Status launch(sinter_cpu_kernel kernel, void *const *buffers,
                int64_t tiles) override {
    pool_.parallelFor(threads_, tiles, 1, [&](int, int64_t begin, int64_t end) {
      kernel(buffers, begin, end);
    });
    return {};
  }

  Status call(LibraryCall &call, void *const *buffers) override {
    return call.run(buffers, pool_, threads_);
  }

  Library *library() override { return library_.get(); }

  Status synchronize() override { return {}; }

private:
  int threads_;
  ThreadPool &pool_;
  std::unique_ptr<Library> library_;
  std::unordered_map<void *, AlignedBlock> blocks_;
};

} // namespace

Result<std::unique_ptr<Device>> sinter::cpu::createCpuDevice(int threads) {
  if (threads == 0)
    threads = availableCpus();
  SINTER_RETURN_IF_ERROR(ThreadPool::shared().reserve(threads));
  Result<std::unique_ptr<Library>> library = createOneDnnLibrary();
  if (!library.ok())
    return library.status();
  return std::unique_ptr<Device>(
      std::make_unique<CpuDevice>(threads, std::move(*library)));
}

void sinter::cpu::registerCpuDevice(DeviceRegistry &registry) {
  registry.add(deviceName, createCpuDevice);
}
