//===- SimDevice.cpp - simulated CUDA devices -----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/device/SimDevice.h"
#include "backends/common/device/LaunchText.h"
#include "backends/cuda/library/NcclGroup.h"
#include "backends/cuda/library/PlanCache.h"
#include "backends/sim/device/DeviceMemory.h"
#include "backends/sim/device/SimGather.h"
#include "backends/sim/device/SimKernels.h"
#include "backends/sim/device/SimReport.h"
#include "backends/sim/device/Timeline.h"
#include "backends/sim/library/SimLibrary.h"
#include "backends/sim/library/SimMemory.h"
#include "backends/sim/library/SimNccl.h"
#include "runtime/base/AlignedBlock.h"
#include "runtime/base/CpuFeatures.h"
#include "runtime/collective/SpanningGroup.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

using namespace sinter;
using namespace sinter::sim;
using rt::Result;
using rt::Status;

namespace {

class SimDevice final : public rt::Device {
public:
  SimDevice(int ordinal, const SimSettings &settings);
  ~SimDevice() override;

  const std::string &name() const override { return name_; }
  const std::string &kind() const override { return kind_; }
  std::vector<std::string> report() const override;
  Status checkCode(const sinter_artifact &artifact) const override {
    return rt::checkCpuFeatures(artifact.cpuFeatures);
  }
  int threads() const override { return 1; }

  bool sharesHostMemory() const override { return false; }
  Result<void *> allocate(uint64_t sizeBytes, const char *purpose) override;
  void free(void *address) override;
  void adopt(const void *address, uint64_t sizeBytes) override;
  void discard(void *address, uint64_t sizeBytes) override;
  Result<void *> allocateHost(uint64_t sizeBytes, const char *purpose) override;
  void freeHost(void *address) override;
  uint64_t availableBytes() const override { return memory_.availableBytes(); }

  Result<std::unique_ptr<rt::Stream>> createStream() override {
    return timeline_.createStream();
  }
  Result<std::unique_ptr<rt::Event>> createEvent(rt::EventUse) override {
    return std::unique_ptr<rt::Event>(std::make_unique<SimEvent>());
  }
  Status record(rt::Event &event, rt::Stream &stream) override {
    return timeline_.record(static_cast<SimEvent &>(event), of(stream));
  }
  Status wait(rt::Stream &stream, const rt::Event &event) override {
    if (++numWaits_ == settings_.dropWait)
      return {};
    return timeline_.wait(of(stream), static_cast<const SimEvent &>(event));
  }
  Status synchronize(const rt::Event &event) override {
    return timeline_.synchronize(static_cast<const SimEvent &>(event));
  }
  Status synchronize(rt::Stream &stream) override {
    return timeline_.synchronize(of(stream));
  }
  Status synchronize() override { return timeline_.synchronize(); }
  Result<double> elapsedUs(const rt::Event &begin,
                           const rt::Event &end) override;

  Status upload(rt::Stream &stream, void *to, const void *from,
                uint64_t sizeBytes) override;
  Status download(rt::Stream &stream, void *to, const void *from,
                  uint64_t sizeBytes) override;
  Status copy(rt::Stream &stream, void *to, const void *from,
              uint64_t sizeBytes) override;
  Status copyFromPeer(rt::Stream &stream, void *to, rt::Device &source,
                      const void *from, uint64_t sizeBytes) override;
  Status fill(rt::Stream &stream, void *to, uint8_t value,
              uint64_t sizeBytes) override;
  Status prepareGather() override { return timeline_.status(); }
  Status gatherRows(rt::Stream &stream, const rt::RowGather &gather) override {
    return queued(stream, timeline_.enqueue(of(stream), [this, gather] {
      return sim::gatherRows(memory_, gather);
    }));
  }

  Result<std::unique_ptr<rt::KernelModule>>
  loadKernels(const sinter_artifact &artifact) override;
  Status launch(rt::Stream &stream, rt::KernelModule &module, uint32_t kernel,
                void *const *buffers, int64_t tiles) override;
  Status call(rt::Stream &stream, rt::LibraryCall &call,
              void *const *buffers) override;
  Result<rt::Library *> library() override;
  Result<std::unique_ptr<rt::Communicator>>
  joinGroup(const sinter_rank &rank) override;

  bool hasGraphs() const override { return !settings_.syncLaunches; }
  Status beginCapture(rt::Stream &stream) override {
    return timeline_.beginCapture(of(stream));
  }
  Result<std::unique_ptr<rt::Graph>> endCapture(rt::Stream &stream) override {
    return timeline_.endCapture(of(stream));
  }
  Status start(rt::Stream &stream, rt::Graph &graph) override {
    return timeline_.start(of(stream), static_cast<SimGraph &>(graph));
  }

private:
  static SimStream &of(rt::Stream &stream) {
    return static_cast<SimStream &>(stream);
  }
  Status runLaunch(const SimKernels &kernels, uint32_t kernel,
                   void *const *buffers);
  Status injectedError(const Launch &launch);
  /// The status of work queued on `stream`; with syncLaunches, waits for it.
  Status queued(rt::Stream &stream, Status status) {
    return status.ok() && settings_.syncLaunches ? synchronize(stream) : status;
  }

  std::string name_, kind_ = "sim";
  SimSettings settings_;
  Engine engine_;
  DeviceMemory memory_;
  Timeline timeline_;
  std::unique_ptr<rt::Library> library_;
  std::unordered_map<void *, rt::AlignedBlock> hostBlocks_;
  uint64_t numAllocations_ = 0, numLaunches_ = 0, numWaits_ = 0;
};

class SimStreams final : public MeetingStreams {
public:
  Status queue(void *stream, uint32_t rank, OpenMeeting open) override {
    return Timeline::meet(*static_cast<SimStream *>(stream), rank,
                          std::move(open));
  }
  void locked(const std::function<void()> &function) override {
    Timeline::locked(function);
  }
};

void useMeetingStreams() {
  static auto *streams = new SimStreams;
  setMeetingStreams(streams);
}

/// Tells the user that the call to be left out never happened, so that the run
/// proves nothing.
void noteNothingDropped(const std::string &device, const char *what,
                        uint64_t number, uint64_t count) {
  std::fprintf(stderr,
               "note: %s: SINTER_SIM drop=%s:%llu had no effect: "
               "there were %llu, counted from 1\n",
               device.c_str(), what, static_cast<unsigned long long>(number),
               static_cast<unsigned long long>(count));
}

/// The CUDA device's adapter; leaves out one call if requested.
class SimGroup final : public rt::Communicator {
public:
  SimGroup(std::unique_ptr<rt::Communicator> group, const Timeline &timeline,
           std::string device, uint64_t drop)
      : Communicator(group->rank(), group->replicas()),
        group_(std::move(group)), timeline_(timeline),
        device_(std::move(device)), drop_(drop) {}
  ~SimGroup() override {
    if (numCalls_ < drop_)
      noteNothingDropped(device_, "all-reduce", drop_, numCalls_);
  }
  void abort() override { group_->abort(); }
  Status run(rt::Stream &stream, const rt::Collective &what,
             void *const *buffers) override {
    if (++numCalls_ == drop_)
      return {};
    Status status = group_->run(stream, what, buffers);
    // The error that ended the device tells more than the library's number.
    Status cause = timeline_.status();
    return status.ok() || cause.ok() ? status : cause;
  }

private:
  std::unique_ptr<rt::Communicator> group_;
  const Timeline &timeline_;
  const std::string device_;
  uint64_t drop_, numCalls_ = 0;
};

EngineOptions engineOptions(const SimSettings &settings) {
  EngineOptions options;
  options.threads = settings.threads ? settings.threads : rt::availableCpus();
  options.seed = settings.seed;
  return options;
}

} // namespace

SimDevice::SimDevice(int ordinal, const SimSettings &settings)
    : name_("sim:" + std::to_string(ordinal)), settings_(settings),
      engine_(engineOptions(settings)), memory_(name_, settings.memoryBytes),
      timeline_(settings.seed) {
  setLibraryMemoryCheck(isSimulatedMemory);
}

SimDevice::~SimDevice() {
  if (numWaits_ < settings_.dropWait)
    noteNothingDropped(name_, "wait", settings_.dropWait, numWaits_);
  // No caller is left who could handle an error.
  if (!settings_.report.empty())
    (void)writeReport(settings_.report);
}

std::vector<std::string> SimDevice::report() const {
  return {name_ + ": a simulated CUDA device of compute capability 9.0, for "
                  "tests",
          name_ + ": schedule seed " + std::to_string(settings_.seed) +
              (settings_.memoryBytes
                   ? ", " + std::to_string(settings_.memoryBytes) +
                         " bytes of memory"
                   : "")};
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Result<void *> SimDevice::allocate(uint64_t sizeBytes, const char *purpose) {
  SINTER_RETURN_IF_ERROR(timeline_.status());
  if (sizeBytes && ++numAllocations_ == settings_.failAlloc)
    return Status(SINTER_OUT_OF_MEMORY,
                  name_ + " has no memory for " + purpose + " of " +
                      std::to_string(sizeBytes) + " bytes (injected)");
  return memory_.allocate(sizeBytes, purpose);
}

void SimDevice::free(void *address) {
  if (Status status = memory_.free(address); !status.ok())
    timeline_.fail(status);
}

void SimDevice::adopt(const void *address, uint64_t sizeBytes) {
  memory_.adopt(address, sizeBytes);
}

void SimDevice::discard(void *address, uint64_t sizeBytes) {
  if (Status status = memory_.check(address, sizeBytes, "the discarded range");
      !status.ok())
    timeline_.fail(status);
  else
    poison(address, sizeBytes / 4 * 4); // not the zone after it
}

Result<void *> SimDevice::allocateHost(uint64_t sizeBytes,
                                       const char *purpose) {
  Result<rt::AlignedBlock> block =
      rt::AlignedBlock::allocate(sizeBytes, purpose);
  if (!block.ok())
    return block.status();
  void *address = block->data();
  if (address)
    hostBlocks_.emplace(address, std::move(*block));
  return address;
}

void SimDevice::freeHost(void *address) { hostBlocks_.erase(address); }

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

Result<double> SimDevice::elapsedUs(const rt::Event &begin,
                                    const rt::Event &end) {
  const auto &first = static_cast<const SimEvent &>(begin).mark;
  const auto &last = static_cast<const SimEvent &>(end).mark;
  if (!first || !last || !first->isReached || !last->isReached)
    return Status::failed(name_ + ": the time between events that were not "
                                  "reached");
  return last->timeUs - first->timeUs;
}

Status SimDevice::upload(rt::Stream &stream, void *to, const void *from,
                         uint64_t sizeBytes) {
  return timeline_.enqueue(of(stream), [=, this]() -> Status {
    SINTER_RETURN_IF_ERROR(
        memory_.check(to, sizeBytes, "the destination of an upload"));
    if (sizeBytes)
      std::memcpy(to, from, sizeBytes);
    return {};
  });
}

Status SimDevice::download(rt::Stream &stream, void *to, const void *from,
                           uint64_t sizeBytes) {
  return timeline_.enqueue(of(stream), [=, this]() -> Status {
    SINTER_RETURN_IF_ERROR(
        memory_.check(from, sizeBytes, "the source of a download", true));
    if (sizeBytes)
      std::memcpy(to, from, sizeBytes);
    return {};
  });
}

Status SimDevice::copy(rt::Stream &stream, void *to, const void *from,
                       uint64_t sizeBytes) {
  return copyFromPeer(stream, to, *this, from, sizeBytes);
}

Status SimDevice::copyFromPeer(rt::Stream &stream, void *to, rt::Device &source,
                               const void *from, uint64_t sizeBytes) {
  if (source.kind() != kind_)
    return Status::invalid(name_ + " cannot copy from " + source.name());
  const DeviceMemory &peer = static_cast<SimDevice &>(source).memory_;
  return timeline_.enqueue(of(stream), [=, this, &peer]() -> Status {
    SINTER_RETURN_IF_ERROR(
        peer.check(from, sizeBytes, "the source of a copy", true));
    SINTER_RETURN_IF_ERROR(
        memory_.check(to, sizeBytes, "the destination of a copy"));
    auto begin = reinterpret_cast<uint64_t>(from);
    auto end = reinterpret_cast<uint64_t>(to);
    if (from != to && begin < end + sizeBytes && end < begin + sizeBytes)
      return {SINTER_DEVICE_FAILED,
              name_ + ": source and destination of a copy overlap"};
    if (sizeBytes && from != to)
      std::memcpy(to, from, sizeBytes);
    return {};
  });
}

Status SimDevice::fill(rt::Stream &stream, void *to, uint8_t value,
                       uint64_t sizeBytes) {
  return timeline_.enqueue(of(stream), [=, this]() -> Status {
    SINTER_RETURN_IF_ERROR(memory_.check(to, sizeBytes, "the filled range"));
    if (sizeBytes)
      std::memset(to, value, sizeBytes);
    return {};
  });
}

//===----------------------------------------------------------------------===//
// Kernels and library calls
//===----------------------------------------------------------------------===//

Result<std::unique_ptr<rt::KernelModule>>
SimDevice::loadKernels(const sinter_artifact &artifact) {
  SINTER_RETURN_IF_ERROR(timeline_.status());
  Result<std::unique_ptr<SimKernels>> kernels =
      SimKernels::create(artifact, settings_.drop, engine_);
  if (!kernels.ok())
    return kernels.status();
  return std::unique_ptr<rt::KernelModule>(std::move(*kernels));
}

Status SimDevice::injectedError(const Launch &launch) {
  ++numLaunches_;
  std::string what;
  if (numLaunches_ == settings_.failLaunch)
    what = "the launch failed";
  else if (numLaunches_ == settings_.ecc)
    what = "an uncorrectable memory error";
  else
    return {};
  return {SINTER_DEVICE_FAILED,
          name_ + ": " +
              launchText(launch.name, launch.grid, launch.block,
                         launch.sharedBytes) +
              ": " + what + " (injected)"};
}

Status SimDevice::runLaunch(const SimKernels &kernels, uint32_t kernel,
                            void *const *buffers) {
  Launch launch = kernels.launch(kernel, buffers);
  SINTER_RETURN_IF_ERROR(injectedError(launch));
  for (const MemoryRange &range : launch.ranges)
    SINTER_RETURN_IF_ERROR(memory_.check(
        range.begin, range.sizeBytes,
        (std::string("a buffer of kernel ") + launch.name).c_str(),
        !range.isWritable));
  if (launch.ranges.empty())
    launch.ranges = memory_.ranges();
  engine_.options().drop = kernels.drop();
  LaunchReport report;
  Status status = engine_.launch(launch, &report);
  if (!settings_.report.empty())
    addToReport(settings_.report, name_, report, kernels.sites(kernel));
  SINTER_RETURN_IF_ERROR(status);
  if (Status zones = memory_.checkZones(); !zones.ok())
    return {zones.code(),
            "kernel " + std::string(launch.name) + ": " + zones.message()};
  return {};
}

Status SimDevice::launch(rt::Stream &stream, rt::KernelModule &module,
                         uint32_t kernel, void *const *buffers, int64_t) {
  const auto &kernels = static_cast<const SimKernels &>(module);
  return queued(
      stream, timeline_.enqueue(of(stream), [this, &kernels, kernel, buffers] {
        return runLaunch(kernels, kernel, buffers);
      }));
}

Status SimDevice::call(rt::Stream &stream, rt::LibraryCall &call,
                       void *const *buffers) {
  rt::Stream *on = &stream;
  auto run = [this, on, &call, buffers]() -> Status {
    SINTER_RETURN_IF_ERROR(
        call.run(buffers, {nullptr, /*threads=*/1, /*stream=*/on}));
    if (Status zones = memory_.checkZones(); !zones.ok())
      return {zones.code(), call.description() + ": " + zones.message()};
    return {};
  };
  return queued(stream, timeline_.enqueue(of(stream), std::move(run)));
}

Result<rt::Library *> SimDevice::library() {
  if (!library_) {
    setLtRefusals(settings_.refusals);
    cuda::LibraryOptions options;
    options.note = [this](const std::string &line) {
      std::fprintf(stderr, "note: %s: %s\n", name_.c_str(), line.c_str());
      if (!settings_.report.empty())
        addToReport(settings_.report, name_, line);
    };
    if (!settings_.plans.empty())
      options.cache = std::make_shared<cuda::PlanCache>(
          settings_.plans, "simulated", options.note);
    library_ = createSimLibrary(options);
  }
  return library_.get();
}

Result<std::unique_ptr<rt::Communicator>>
SimDevice::joinGroup(const sinter_rank &rank) {
  SINTER_RETURN_IF_ERROR(timeline_.status());
  useMeetingStreams();
  Result<std::unique_ptr<rt::Communicator>> group =
      cuda::joinNcclGroup(ncclApi(), rank);
  if (!group.ok())
    return group.status();
  return std::unique_ptr<rt::Communicator>(std::make_unique<SimGroup>(
      std::move(*group), timeline_, name_, settings_.dropCollective));
}

Result<std::unique_ptr<rt::Device>>
sinter::sim::createSimDevice(int ordinal, const SimSettings &settings) {
  if (ordinal >= numSimDevices)
    return Status::invalid(
        "there is no device 'sim:" + std::to_string(ordinal) +
        "'; there are sim:0 to "
        "sim:" +
        std::to_string(numSimDevices - 1));
  if (!settings.report.empty())
    SINTER_RETURN_IF_ERROR(writeReport(settings.report));
  return std::unique_ptr<rt::Device>(
      std::make_unique<SimDevice>(ordinal, settings));
}

void sinter::sim::registerSimDevices(rt::DeviceRegistry &registry,
                                     const rt::MakeExchange &makeExchange) {
  registry.add(
      {"sim", /*isNumbered=*/true, [] { return Result<int>(numSimDevices); },
       [](int ordinal, const rt::DeviceOptions &options)
           -> Result<std::unique_ptr<rt::Device>> {
         Result<SimSettings> settings =
             readSettings(options, std::getenv("SINTER_SIM"));
         if (!settings.ok())
           return settings.status();
         return createSimDevice(ordinal, *settings);
       },
       [makeExchange](const rt::GroupRequest &request, uint8_t *group) {
         return request.meeting
                    ? rt::nameGroupOfThreads(request, makeExchange, group)
                    : cuda::nameNcclGroup(ncclApi(), group);
       }});
}
