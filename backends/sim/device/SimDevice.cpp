//===- SimDevice.cpp - simulated CUDA devices -----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/device/SimDevice.h"
#include "backends/sim/device/Engine.h"
#include "backends/sim/library/SimLibrary.h"
#include "runtime/base/AlignedBlock.h"

#include <cstring>
#include <unordered_map>

using namespace sinter;
using namespace sinter::rt;

namespace {

class SimStream final : public Stream {};
class SimEvent final : public Event {};
class SimKernels final : public KernelModule {
public:
  explicit SimKernels(const sinter_artifact &artifact) : artifact(artifact) {}
  const sinter_artifact &artifact;
};

class SimDevice final : public Device {
public:
  SimDevice(std::string name, const sim::EngineOptions &options)
      : name_(std::move(name)), engine_(options) {}
  const std::string &name() const override { return name_; }
  const std::string &kind() const override { return kind_; }
  std::vector<std::string> report() const override { return {"simulated"}; }
  Status checkCode(const sinter_artifact &) const override { return {}; }
  int threads() const override { return 1; }
  bool sharesHostMemory() const override { return false; }
  Result<void *> allocate(uint64_t sizeBytes, const char *purpose) override {
    Result<AlignedBlock> block =
        AlignedBlock::allocate(sizeBytes ? sizeBytes + 256 : 0, purpose);
    if (!block.ok())
      return block.status();
    auto address = reinterpret_cast<uintptr_t>(block->data());
    address = (address + 255) / 256 * 256;
    auto *memory = reinterpret_cast<void *>(address);
    if (memory) {
      blocks_.emplace(memory, std::move(*block));
      ranges_.push_back({memory, sizeBytes, true});
    }
    return memory;
  }
  void free(void *address) override {
    blocks_.erase(address);
    std::erase_if(ranges_, [&](auto &range) { return range.begin == address; });
  }
  Result<void *> allocateHost(uint64_t sizeBytes,
                              const char *purpose) override {
    return allocate(sizeBytes, purpose);
  }
  void freeHost(void *address) override { free(address); }
  Result<std::unique_ptr<Stream>> createStream() override {
    return std::unique_ptr<Stream>(std::make_unique<SimStream>());
  }
  Result<std::unique_ptr<Event>> createEvent(EventUse) override {
    return std::unique_ptr<Event>(std::make_unique<SimEvent>());
  }
  Status record(Event &, Stream &) override { return {}; }
  Status wait(Stream &, const Event &) override { return {}; }
  Status synchronize(const Event &) override { return {}; }
  Status synchronize(Stream &) override { return {}; }
  Status synchronize() override { return {}; }
  Result<double> elapsedUs(const Event &, const Event &) override {
    return 0.0;
  }
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
    if (sizeBytes)
      std::memcpy(to, from, sizeBytes);
    return {};
  }
  Status fill(Stream &, void *to, uint8_t value, uint64_t sizeBytes) override {
    if (sizeBytes)
      std::memset(to, value, sizeBytes);
    return {};
  }
  Result<std::unique_ptr<KernelModule>>
  loadKernels(const sinter_artifact &artifact) override {
    return std::unique_ptr<KernelModule>(
        std::make_unique<SimKernels>(artifact));
  }
  Status launch(Stream &, KernelModule &module, uint32_t kernel,
                void *const *buffers, int64_t) override {
    const sinter_kernel_desc &desc =
        static_cast<SimKernels &>(module).artifact.kernels[kernel];
    sim::Launch launch;
    launch.kernel = desc.sim;
    launch.name = desc.name;
    std::memcpy(launch.grid, desc.grid, sizeof(launch.grid));
    std::memcpy(launch.block, desc.block, sizeof(launch.block));
    launch.sharedBytes = desc.sharedBytes;
    launch.buffers = buffers;
    launch.ranges = ranges_;
    return engine_.launch(launch, nullptr);
  }
  Status call(Stream &stream, LibraryCall &call,
              void *const *buffers) override {
    return call.run(buffers, {nullptr, 1, &stream});
  }
  Result<Library *> library() override {
    if (!library_)
      library_ = sim::createSimLibrary();
    return library_.get();
  }

private:
  std::string name_, kind_ = "sim";
  sim::Engine engine_;
  std::unique_ptr<Library> library_;
  std::vector<sim::MemoryRange> ranges_;
  std::unordered_map<void *, AlignedBlock> blocks_;
};

} // namespace

void sinter::sim::registerSimDevices(DeviceRegistry &registry) {
  registry.add({"sim", /*isNumbered=*/true, [] { return Result<int>(8); },
                [](int ordinal, const DeviceOptions &options)
                    -> Result<std::unique_ptr<Device>> {
                  EngineOptions engine;
                  engine.seed = options.simSeed.value_or(0);
                  return std::unique_ptr<Device>(std::make_unique<SimDevice>(
                      "sim:" + std::to_string(ordinal), engine));
                }});
}
