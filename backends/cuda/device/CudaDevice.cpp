//===- CudaDevice.cpp - programs on an NVIDIA GPU -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/device/CudaDevice.h"

#include "backends/cuda/device/CudaGroup.h"
#include "backends/cuda/device/CudaHandles.h"
#include "backends/cuda/device/CudaModule.h"
#include "backends/cuda/device/DeviceArena.h"
#include "backends/cuda/device/GatherModule.h"
#include "backends/cuda/device/LibraryInContext.h"
#include "backends/cuda/device/Nvtx.h"
#include "runtime/base/DebugWords.h"
#include "runtime/base/NumberText.h"

#include <set>
#include <utility>

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::rt;

namespace {

const std::string kindName = "cuda";

StreamHandle handleOf(Stream &stream) {
  return static_cast<CudaStream &>(stream).handle();
}
bool &hasWaited(Stream &stream) {
  return static_cast<CudaStream &>(stream).hasWaited;
}
EventHandle handleOf(const Event &event) {
  return static_cast<const CudaEvent &>(event).handle();
}
DeviceAddress addressOf(const void *pointer) {
  return reinterpret_cast<DeviceAddress>(pointer);
}

class CudaDevice final : public Device {
public:
  CudaDevice(std::unique_ptr<CudaContext> context, int ordinal,
             const DeviceOptions &options, bool isSerial,
             const LibraryFactory &makeLibrary, const GroupFactory &groups)
      : name_(kindName + ":" + std::to_string(ordinal)),
        context_(std::move(context)), driver_(context_->driver()),
        arena_(driver_, name_, options.memoryLimitBytes, context_->freeBytes()),
        syncLaunches_(options.syncLaunches),
        isSerial_(isSerial || options.syncLaunches), makeLibrary_(makeLibrary),
        groups_(groups) {}
  ~CudaDevice() override;

  /// The part of construction that can fail.
  Status start();

  const std::string &name() const override { return name_; }
  const std::string &kind() const override { return kindName; }
  std::string uniqueName() const override;
  std::vector<std::string> report() const override;
  Status checkCode(const sinter_artifact &artifact) const override;
  int threads() const override { return 1; }

  bool sharesHostMemory() const override { return false; }
  Result<void *> allocate(uint64_t sizeBytes, const char *purpose) override;
  Result<void *> allocateApart(uint64_t sizeBytes,
                               const char *purpose) override;
  void free(void *address) override;
  Result<void *> allocateHost(uint64_t sizeBytes, const char *purpose) override;
  void freeHost(void *address) override;
  uint64_t availableBytes() const override { return arena_.availableBytes(); }

  Result<std::unique_ptr<Stream>> createStream() override;
  Result<std::unique_ptr<Event>> createEvent(EventUse use) override;
  Status record(Event &event, Stream &stream) override;
  Status wait(Stream &stream, const Event &event) override;
  Status synchronize(const Event &event) override;
  Status synchronize(Stream &stream) override;
  Status synchronize() override;
  Result<double> elapsedUs(const Event &begin, const Event &end) override;

  Status upload(Stream &stream, void *to, const void *from,
                uint64_t sizeBytes) override;
  Status download(Stream &stream, void *to, const void *from,
                  uint64_t sizeBytes) override;
  Status copy(Stream &stream, void *to, const void *from,
              uint64_t sizeBytes) override;
  Status copyFromPeer(Stream &stream, void *to, Device &source,
                      const void *from, uint64_t sizeBytes) override;
  Status fill(Stream &stream, void *to, uint8_t value,
              uint64_t sizeBytes) override;
  Status prepareGather() override;
  Status gatherRows(Stream &stream, const RowGather &gather) override;
  Result<std::unique_ptr<KernelModule>>
  loadKernels(const sinter_artifact &artifact) override;
  Status launch(Stream &stream, KernelModule &module, uint32_t kernel,
                void *const *buffers, int64_t tiles) override;
  Status call(Stream &stream, LibraryCall &call, void *const *buffers) override;
  Result<Library *> library() override;
  Result<std::unique_ptr<Communicator>>
  joinGroup(const sinter_rank &rank) override;
  void beginRange(const char *name) override { nvtx::push(name); }
  void endRange() override { nvtx::pop(); }

  bool hasGraphs() const override { return !syncLaunches_; }
  Status beginCapture(Stream &stream) override;
  Result<std::unique_ptr<Graph>> endCapture(Stream &stream) override;
  Status start(Stream &stream, Graph &graph) override;

private:
  /// The kernels queued since the host last waited, for errors that show only
  /// at the next wait.
  struct Launches {
    const sinter_kernel_desc *last = nullptr;
    uint64_t count = 0;
    bool inGraph = false;
  };

  Status check(DriverResult code, const char *what);
  Status checkQueued(DriverResult code, Stream &stream, const char *what);
  Status checkWaited(DriverResult code);
  std::string suspects() const;

  std::string name_;
  std::unique_ptr<CudaContext> context_;
  const DriverTable &driver_;
  DeviceArena arena_;
  bool syncLaunches_;
  bool isSerial_; // no kernel begins before the one before it has ended
  LibraryFactory makeLibrary_;
  GroupFactory groups_;
  std::unique_ptr<Library> library_; // created when first needed
  std::unique_ptr<GatherModule> gather_;
  StreamHandle setup_ = nullptr; // clears new memory
  Launches launches_;
  std::set<DeviceNumber> peers_; // devices that copies came from
  Status failure_;               // a failure of the whole device
};

} // namespace

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// The Status of a driver call. `what` says in a few words what was tried.
Status CudaDevice::check(DriverResult code, const char *what) {
  if (code == result::success)
    return failure_;
  if (!failure_.ok())
    return failure_;
  if (!isSticky(code))
    return {code == result::outOfMemory ? SINTER_OUT_OF_MEMORY
                                        : SINTER_DEVICE_FAILED,
            std::string(what) + ": " + errorText(driver_, code)};
  failure_ = {SINTER_DEVICE_FAILED,
              name_ + " failed" + suspects() + ": " + errorText(driver_, code)};
  return failure_;
}

/// The kernels that may have caused an error that shows now.
std::string CudaDevice::suspects() const {
  if (launches_.inGraph)
    return " in a graph (--sync-launches names the kernel)";
  if (!launches_.last)
    return "";
  return (launches_.count == 1
              ? " in "
              : " in one of " + std::to_string(launches_.count) +
                    " kernels, the last of them ") +
         launchText(*launches_.last) +
         (launches_.count == 1 ? "" : " (--sync-launches names the kernel)");
}

/// Checks the queueing of work. With --sync-launches, also waits for the work.
Status CudaDevice::checkQueued(DriverResult code, Stream &stream,
                               const char *what) {
  if (code == result::success && syncLaunches_)
    return synchronize(stream);
  return check(code, what);
}

Status CudaDevice::checkWaited(DriverResult code) {
  Status status = check(code, "waiting for the device");
  launches_ = Launches();
  return status;
}

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

Status CudaDevice::start() {
  nvtx::attachFromEnvironment();
  CurrentContext current(driver_, context_->handle());
  return check(driver_.streamCreate(&setup_, streamNonBlocking),
               "creating a stream");
}

CudaDevice::~CudaDevice() {
  CurrentContext current(driver_, context_->handle());
  library_.reset();
  gather_.reset();
  if (setup_)
    (void)driver_.streamDestroy(setup_);
  arena_.release();
}

std::string CudaDevice::uniqueName() const { return context_->facts().uuid; }

std::vector<std::string> CudaDevice::report() const {
  const DeviceFacts &facts = context_->facts();
  const uint64_t used = facts.totalBytes - context_->freeBytes();
  return {"GPU: " + facts.name + ", compute capability " +
              std::to_string(facts.major) + "." + std::to_string(facts.minor) +
              ", " + std::to_string(facts.multiprocessors) + " multiprocessors",
          "UUID: " + facts.uuid,
          "driver: CUDA " + std::to_string(facts.driverVersion / 1000) + "." +
              std::to_string(facts.driverVersion % 1000 / 10),
          "memory: " + bytesText(facts.totalBytes) + ", of which " +
              bytesText(used) + " are taken by the context and other programs",
          "memory for a program: " + bytesText(arena_.limitBytes())};
}

Status CudaDevice::checkCode(const sinter_artifact &artifact) const {
  if (!hasGpuKernels(artifact) ||
      !usableImages(artifact, context_->facts().arch()).empty())
    return {};
  std::string has;
  for (uint32_t i = 0; i < artifact.numImages; ++i)
    has += (i ? ", " : "") + std::string("sm_") +
           std::to_string(artifact.images[i].arch) +
           (artifact.images[i].kind == SINTER_IMAGE_PTX ? " and newer" : "");
  return {SINTER_DEVICE_FAILED, "the program has code for " + has + "; " +
                                    name_ + " (" + context_->facts().name +
                                    ") is sm_" +
                                    std::to_string(context_->facts().arch())};
}

Result<Library *> CudaDevice::library() {
  if (library_)
    return library_.get();
  if (makeLibrary_) {
    CurrentContext current(driver_, context_->handle());
    const DeviceFacts &facts = context_->facts();
    Result<std::unique_ptr<Library>> made = makeLibrary_(
        facts.name + ", sm_" + std::to_string(facts.arch()) + ", " +
        std::to_string(facts.multiprocessors) + " multiprocessors, driver " +
        std::to_string(facts.driverVersion));
    if (!made.ok())
      return made.status();
    library_ = inContext(*context_, std::move(*made));
    return library_.get();
  }
  return Status(SINTER_UNSUPPORTED,
                "device '" + name_ + "' has no contraction library");
}

Result<std::unique_ptr<Communicator>>
CudaDevice::joinGroup(const sinter_rank &rank) {
  SINTER_RETURN_IF_ERROR(failure_);
  if (!groups_.join)
    return Device::joinGroup(rank);
  CurrentContext current(driver_, context_->handle());
  Result<std::unique_ptr<Communicator>> group = groups_.join(rank);
  if (!group.ok())
    return group.status();
  return std::unique_ptr<Communicator>(
      std::make_unique<CudaGroup>(*context_, std::move(*group)));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Result<void *> CudaDevice::allocate(uint64_t sizeBytes, const char *purpose) {
  SINTER_RETURN_IF_ERROR(failure_);
  CurrentContext current(driver_, context_->handle());
  Result<DeviceAddress> address = arena_.allocate(sizeBytes, purpose);
  if (!address.ok())
    return address.status();
  if (*address == 0)
    return static_cast<void *>(nullptr);
  Status cleared = check(driver_.memsetD8Async(*address, 0, sizeBytes, setup_),
                         "clearing memory");
  if (cleared.ok())
    cleared = check(driver_.streamSynchronize(setup_), "clearing memory");
  if (!cleared.ok()) {
    arena_.free(*address);
    return cleared;
  }
  return reinterpret_cast<void *>(*address);
}

Result<void *> CudaDevice::allocateApart(uint64_t sizeBytes,
                                         const char *purpose) {
  SINTER_RETURN_IF_ERROR(failure_);
  CurrentContext current(driver_, context_->handle());
  Result<DeviceAddress> address = arena_.allocateApart(sizeBytes, purpose);
  if (!address.ok())
    return address.status();
  return reinterpret_cast<void *>(*address);
}

void CudaDevice::free(void *address) {
  CurrentContext current(driver_, context_->handle());
  arena_.free(addressOf(address));
}

Result<void *> CudaDevice::allocateHost(uint64_t sizeBytes,
                                        const char *purpose) {
  SINTER_RETURN_IF_ERROR(failure_);
  void *address = nullptr;
  if (sizeBytes == 0)
    return address;
  CurrentContext current(driver_, context_->handle());
  DriverResult code =
      driver_.memHostAlloc(&address, sizeBytes, hostAllocPortable);
  if (code != result::success)
    return check(code, ("no " + bytesText(sizeBytes) +
                        " of pinned host memory for " + purpose)
                           .c_str());
  return address;
}

void CudaDevice::freeHost(void *address) {
  if (!address)
    return;
  CurrentContext current(driver_, context_->handle());
  (void)driver_.memFreeHost(address);
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

Result<std::unique_ptr<Stream>> CudaDevice::createStream() {
  CurrentContext current(driver_, context_->handle());
  StreamHandle handle = nullptr;
  SINTER_RETURN_IF_ERROR(check(driver_.streamCreate(&handle, streamNonBlocking),
                               "creating a stream"));
  return std::unique_ptr<Stream>(new CudaStream(*context_, handle));
}

Result<std::unique_ptr<Event>> CudaDevice::createEvent(EventUse use) {
  CurrentContext current(driver_, context_->handle());
  EventHandle handle = nullptr;
  SINTER_RETURN_IF_ERROR(
      check(driver_.eventCreate(
                &handle, use == EventUse::Timing ? 0 : eventDisableTiming),
            "creating an event"));
  return std::unique_ptr<Event>(new CudaEvent(*context_, handle));
}

Status CudaDevice::record(Event &event, Stream &stream) {
  CurrentContext current(driver_, context_->handle());
  return check(driver_.eventRecord(handleOf(event), handleOf(stream)),
               "recording an event");
}

Status CudaDevice::wait(Stream &stream, const Event &event) {
  CurrentContext current(driver_, context_->handle());
  hasWaited(stream) = true;
  return check(driver_.streamWaitEvent(handleOf(stream), handleOf(event), 0),
               "waiting for an event");
}

Status CudaDevice::synchronize(const Event &event) {
  SINTER_RETURN_IF_ERROR(failure_);
  CurrentContext current(driver_, context_->handle());
  return checkWaited(driver_.eventSynchronize(handleOf(event)));
}

Status CudaDevice::synchronize(Stream &stream) {
  SINTER_RETURN_IF_ERROR(failure_);
  CurrentContext current(driver_, context_->handle());
  return checkWaited(driver_.streamSynchronize(handleOf(stream)));
}

Status CudaDevice::synchronize() {
  SINTER_RETURN_IF_ERROR(failure_);
  CurrentContext current(driver_, context_->handle());
  return checkWaited(driver_.ctxSynchronize());
}

Result<double> CudaDevice::elapsedUs(const Event &begin, const Event &end) {
  CurrentContext current(driver_, context_->handle());
  float milliseconds = 0;
  SINTER_RETURN_IF_ERROR(check(
      driver_.eventElapsedTime(&milliseconds, handleOf(begin), handleOf(end)),
      "reading an event's time"));
  return double(milliseconds) * 1e3;
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

Status CudaDevice::upload(Stream &stream, void *to, const void *from,
                          uint64_t sizeBytes) {
  if (sizeBytes == 0)
    return failure_;
  CurrentContext current(driver_, context_->handle());
  return checkQueued(
      driver_.memcpyHtoDAsync(addressOf(to), from, sizeBytes, handleOf(stream)),
      stream, "copying to the device");
}

Status CudaDevice::download(Stream &stream, void *to, const void *from,
                            uint64_t sizeBytes) {
  if (sizeBytes == 0)
    return failure_;
  CurrentContext current(driver_, context_->handle());
  return checkQueued(
      driver_.memcpyDtoHAsync(to, addressOf(from), sizeBytes, handleOf(stream)),
      stream, "copying from the device");
}

Status CudaDevice::copy(Stream &stream, void *to, const void *from,
                        uint64_t sizeBytes) {
  if (sizeBytes == 0)
    return failure_;
  CurrentContext current(driver_, context_->handle());
  return checkQueued(driver_.memcpyDtoDAsync(addressOf(to), addressOf(from),
                                             sizeBytes, handleOf(stream)),
                     stream, "copying within the device");
}

Status CudaDevice::copyFromPeer(Stream &stream, void *to, Device &source,
                                const void *from, uint64_t sizeBytes) {
  if (sizeBytes == 0)
    return failure_;
  const CudaContext &peer = *static_cast<CudaDevice &>(source).context_;
  CurrentContext current(driver_, context_->handle());
  // Without peer access, copies go through the host.
  int canReach = 0;
  if (peers_.insert(peer.device()).second &&
      driver_.deviceCanAccessPeer(&canReach, context_->device(),
                                  peer.device()) == result::success &&
      canReach)
    (void)driver_.ctxEnablePeerAccess(peer.handle(), 0);
  return checkQueued(driver_.memcpyPeerAsync(addressOf(to), context_->handle(),
                                             addressOf(from), peer.handle(),
                                             sizeBytes, handleOf(stream)),
                     stream, "copying from another device");
}

Status CudaDevice::fill(Stream &stream, void *to, uint8_t value,
                        uint64_t sizeBytes) {
  if (sizeBytes == 0)
    return failure_;
  CurrentContext current(driver_, context_->handle());
  return checkQueued(
      driver_.memsetD8Async(addressOf(to), value, sizeBytes, handleOf(stream)),
      stream, "filling memory");
}

Status CudaDevice::prepareGather() {
  SINTER_RETURN_IF_ERROR(failure_);
  if (gather_)
    return {};
  CurrentContext current(driver_, context_->handle());
  Result<std::unique_ptr<GatherModule>> module = GatherModule::load(driver_);
  if (module.ok())
    gather_ = std::move(*module);
  return module.status();
}

Status CudaDevice::gatherRows(Stream &stream, const RowGather &gather) {
  SINTER_RETURN_IF_ERROR(failure_);
  CurrentContext current(driver_, context_->handle());
  const DriverResult code = gather_->launch(gather, handleOf(stream));
  launches_.last = &gather_->lastLaunch();
  ++launches_.count;
  return checkQueued(code, stream, "gathering rows");
}

Result<std::unique_ptr<KernelModule>>
CudaDevice::loadKernels(const sinter_artifact &artifact) {
  CurrentContext current(driver_, context_->handle());
  Result<std::unique_ptr<CudaModule>> module =
      CudaModule::load(*context_, artifact);
  if (!module.ok())
    return module.status();
  return std::unique_ptr<KernelModule>(std::move(*module));
}

Status CudaDevice::launch(Stream &stream, KernelModule &module, uint32_t kernel,
                          void *const *buffers, int64_t) {
  SINTER_RETURN_IF_ERROR(failure_);
  CurrentContext current(driver_, context_->handle());
  auto &kernels = static_cast<CudaModule &>(module);
  bool isSerial = isSerial_ || std::exchange(hasWaited(stream), false);
  DriverResult code =
      kernels.launch(kernel, buffers, handleOf(stream), isSerial);
  if (code != result::success && !isSticky(code))
    return {SINTER_DEVICE_FAILED,
            launchText(kernels.desc(kernel)) +
                " was not launched: " + errorText(driver_, code)};
  // A sticky error comes from an earlier kernel.
  Status status = check(code, "launching a kernel");
  launches_.last = &kernels.desc(kernel);
  ++launches_.count;
  return status.ok() && syncLaunches_ ? synchronize(stream) : status;
}

Status CudaDevice::call(Stream &stream, LibraryCall &call,
                        void *const *buffers) {
  SINTER_RETURN_IF_ERROR(failure_);
  CurrentContext current(driver_, context_->handle());
  hasWaited(stream) = false;
  Status status = call.run(buffers, {nullptr, 1, &stream});
  return status.ok() && syncLaunches_ ? synchronize(stream) : status;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

Status CudaDevice::beginCapture(Stream &stream) {
  SINTER_RETURN_IF_ERROR(failure_);
  CurrentContext current(driver_, context_->handle());
  // Other threads of the process may allocate during the capture.
  return check(driver_.streamBeginCapture(handleOf(stream), captureThreadLocal),
               "recording a graph");
}

Result<std::unique_ptr<Graph>> CudaDevice::endCapture(Stream &stream) {
  CurrentContext current(driver_, context_->handle());
  GraphHandle graph = nullptr;
  SINTER_RETURN_IF_ERROR(check(
      driver_.streamEndCapture(handleOf(stream), &graph), "recording a graph"));
  launches_ = Launches();
  GraphExecHandle exec = nullptr;
  DriverResult code = driver_.graphInstantiate(&exec, graph, 0);
  (void)driver_.graphDestroy(graph);
  SINTER_RETURN_IF_ERROR(check(code, "instantiating a graph"));
  std::unique_ptr<Graph> result(new CudaGraph(*context_, exec));
  SINTER_RETURN_IF_ERROR(check(driver_.graphUpload(exec, handleOf(stream)),
                               "copying a graph to the device"));
  return result;
}

Status CudaDevice::start(Stream &stream, Graph &graph) {
  SINTER_RETURN_IF_ERROR(failure_);
  CurrentContext current(driver_, context_->handle());
  launches_.inGraph = true;
  return check(driver_.graphLaunch(static_cast<CudaGraph &>(graph).handle(),
                                   handleOf(stream)),
               "starting a graph");
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

Result<std::unique_ptr<Device>> cuda::createCudaDevice(
    const DriverTable &driver, int ordinal, const DeviceOptions &options,
    const LibraryFactory &makeLibrary, const GroupFactory &groups) {
  Result<std::unique_ptr<CudaContext>> context =
      CudaContext::create(driver, ordinal);
  if (!context.ok())
    return context.status();
  Result<bool> isSerial = hasDebugWord(serialLaunchesWord);
  if (!isSerial.ok())
    return isSerial.status();
  auto device = std::make_unique<CudaDevice>(
      std::move(*context), ordinal, options, *isSerial, makeLibrary, groups);
  SINTER_RETURN_IF_ERROR(device->start());
  return std::unique_ptr<Device>(std::move(device));
}

static Result<int> countDevices() {
  Result<const DriverTable *> driver = openDriver();
  if (!driver.ok())
    return driver.status();
  int count = 0;
  DriverResult code = (*driver)->deviceGetCount(&count);
  if (code != result::success)
    return Status(SINTER_DEVICE_FAILED, errorText(**driver, code));
  return count;
}

void cuda::registerCudaDevices(DeviceRegistry &registry,
                               const LibraryFactory &makeLibrary,
                               const GroupFactory &groups,
                               const LibraryNames &libraryFor) {
  registry.add({kindName, /*isNumbered=*/true, countDevices,
                [makeLibrary, groups](int ordinal, const DeviceOptions &options)
                    -> Result<std::unique_ptr<Device>> {
                  Result<const DriverTable *> driver = openDriver();
                  if (!driver.ok())
                    return driver.status();
                  return createCudaDevice(**driver, ordinal, options,
                                          makeLibrary, groups);
                },
                groups.name, libraryFor});
}
