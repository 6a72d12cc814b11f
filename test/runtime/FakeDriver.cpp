//===- FakeDriver.cpp - a CUDA driver that checks its caller --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/FakeDriver.h"
#include "test/runtime/Cubin.h"

#include <algorithm>
#include <array>
#include <cstring>

using namespace sinter;
using namespace sinter::test;
using namespace sinter::cuda;

namespace {
FakeDriver *theDriver = nullptr; // functions of the table have no context
} // namespace

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

DriverResult FakeDriver::violation(const std::string &text) {
  violations.push_back(text);
  return result::invalidValue;
}

/// Every function calls this first.
DriverResult FakeDriver::enter(const char *call, bool needsContext,
                               bool mayCapture) {
  int count = ++calls[call];
  auto injected = failingCalls_.find(call);
  if (injected != failingCalls_.end() && injected->second.nth == count) {
    if (isSticky(injected->second.code))
      dead_ = injected->second.code;
    return injected->second.code;
  }
  if (needsContext && dead_ != result::success)
    return dead_;
  if (needsContext && current_.empty()) {
    violation(std::string(call) + ": no context is current");
    return result::invalidContext;
  }
  if (!mayCapture)
    for (const auto &[handle, stream] : streams_)
      if (stream->recording) {
        violation(std::string(call) + ": while a graph is recorded");
        return result::captureUnsupported;
      }
  return result::success;
}

template <typename T>
T *FakeDriver::alive(std::map<const void *, std::unique_ptr<T>> &handles,
                     const void *handle, const char *what) {
  auto found = handles.find(handle);
  if (found != handles.end())
    return found->second.get();
  violation(std::string(what) + ": the handle is not alive");
  return nullptr;
}

FakeDriver::Block *FakeDriver::blockOf(const void *address,
                                       uint64_t sizeBytes) {
  auto after = memory_.upper_bound(address);
  if (after != memory_.begin()) {
    Block &block = std::prev(after)->second;
    auto *byte = static_cast<const uint8_t *>(address);
    if (byte >= block.begin &&
        uint64_t(byte - block.begin) + sizeBytes <= block.sizeBytes)
      return &block;
  }
  violation("an address outside the device's allocations");
  return nullptr;
}

bool FakeDriver::isPinned(const void *address, uint64_t sizeBytes) const {
  auto after = pinned_.upper_bound(address);
  if (after == pinned_.begin())
    return false;
  const Block &block = std::prev(after)->second;
  return uint64_t(static_cast<const uint8_t *>(address) - block.begin) +
             sizeBytes <=
         block.sizeBytes;
}

void FakeDriver::failCall(const std::string &call, int nth, DriverResult code) {
  failingCalls_[call] = {nth + calls[call], code};
}

void FakeDriver::failKernel(const std::string &kernel, int nth,
                            DriverResult code) {
  failingKernels_[kernel] = {nth + executed_[kernel], code};
}

size_t FakeDriver::numAlive() const {
  size_t count = memory_.size() + pinned_.size() + streams_.size() +
                 events_.size() + modules_.size() + graphs_.size();
  for (const Context &context : contexts_)
    count += static_cast<size_t>(context.references);
  return count;
}

uint64_t FakeDriver::deviceBytesHeld() const {
  uint64_t bytes = 0;
  for (const auto &[address, block] : memory_)
    bytes += block.sizeBytes;
  return bytes;
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

DriverResult FakeDriver::queue(Stream &stream, Work work) {
  if (stream.recording) {
    stream.recording->work.push_back(std::move(work));
    ++stream.recorded;
    stream.isJoined = stream.recording->origin == &stream;
  } else
    stream.queue.push_back(std::move(work));
  return result::success;
}

DriverResult FakeDriver::runUntil(Stream &stream, size_t position) {
  while (stream.done < position && dead_ == result::success) {
    // The work may itself wait for this stream's earlier work.
    Work work = stream.queue[stream.done++];
    DriverResult code = work();
    if (code != result::success)
      dead_ = code;
  }
  return dead_;
}

DriverResult
FakeDriver::launchNow(const Function &function, const LaunchRecord &record,
                      const std::vector<std::vector<uint8_t>> &values) {
  launches.push_back(record);
  int count = ++executed_[function.name];
  auto injected = failingKernels_.find(function.name);
  if (injected != failingKernels_.end() && injected->second.nth == count)
    return injected->second.code;
  std::vector<void *> parameters;
  for (const std::vector<uint8_t> &value : values) {
    auto *bytes = const_cast<uint8_t *>(value.data());
    parameters.push_back(value.size() == sizeof(void *)
                             ? *reinterpret_cast<void **>(bytes)
                             : bytes);
  }
  kernels[function.name](parameters.data());
  return result::success;
}

//===----------------------------------------------------------------------===//
// The functions of the table
//===----------------------------------------------------------------------===//

namespace sinter::test {

#define ENTER(NEEDS_CONTEXT, MAY_CAPTURE)                                      \
  FakeDriver &d = *theDriver;                                                  \
  if (DriverResult code = d.enter(__func__, NEEDS_CONTEXT, MAY_CAPTURE))       \
  return code
#define ALIVE(KIND, HANDLE)                                                    \
  auto *KIND = d.alive(d.KIND##s_, HANDLE, __func__);                          \
  if (!KIND)                                                                   \
  return result::invalidHandle

template <typename Handle> Handle asHandle(const void *pointer) {
  return reinterpret_cast<Handle>(const_cast<void *>(pointer));
}
static uint8_t *pointerOf(DeviceAddress address) {
  return reinterpret_cast<uint8_t *>(address);
}

struct FakeCalls {
  using Stream = FakeDriver::Stream;
  using Graph = FakeDriver::Graph;

  static DriverResult init(unsigned) {
    ENTER(false, true);
    return d.initResult;
  }
  static DriverResult driverGetVersion(int *version) {
    ENTER(false, true);
    *version = d.version;
    return result::success;
  }
  static DriverResult errorText(DriverResult error, const char **text,
                                const char *prefix) {
    static std::map<std::string, std::string> texts;
    if (!theDriver->knowsErrors)
      return result::stubLibrary;
    std::string &kept = texts[prefix + std::to_string(error)];
    kept = prefix + std::to_string(error);
    *text = kept.c_str();
    return result::success;
  }
  static DriverResult getErrorName(DriverResult error, const char **text) {
    return errorText(error, text, "CUDA_ERROR_");
  }
  static DriverResult getErrorString(DriverResult error, const char **text) {
    return errorText(error, text, "meaning of ");
  }
  static DriverResult deviceGetCount(int *count) {
    ENTER(false, true);
    *count = static_cast<int>(d.devices_.size());
    return result::success;
  }
  static DriverResult deviceGet(DeviceNumber *device, int ordinal) {
    ENTER(false, true);
    if (ordinal < 0 || ordinal >= static_cast<int>(d.devices_.size()))
      return result::invalidDevice;
    *device = ordinal;
    return result::success;
  }
  static DriverResult deviceGetName(char *name, int size, DeviceNumber device) {
    ENTER(false, true);
    std::snprintf(name, static_cast<size_t>(size), "%s",
                  d.devices_[size_t(device)].name.c_str());
    return result::success;
  }
  static DriverResult deviceGetUuid(DriverUuid *uuid, DeviceNumber device) {
    ENTER(false, true);
    for (int i = 0; i < 16; ++i)
      uuid->bytes[i] = static_cast<unsigned char>(16 * i + device);
    return result::success;
  }
  static DriverResult deviceTotalMem(size_t *bytes, DeviceNumber device) {
    ENTER(false, true);
    *bytes = d.devices_[size_t(device)].totalBytes;
    return result::success;
  }
  static DriverResult deviceGetAttribute(int *value, int number,
                                         DeviceNumber device) {
    ENTER(false, true);
    const FakeDevice &setup = d.devices_[size_t(device)];
    const std::map<int, int> values = {
        {attribute::maxThreadsPerBlock, 1024},
        {attribute::maxBlockX, 1024},
        {attribute::maxBlockY, 1024},
        {attribute::maxBlockZ, 64},
        {attribute::maxGridX, 2147483647},
        {attribute::maxGridY, 65535},
        {attribute::maxGridZ, 65535},
        {attribute::maxSharedBytes, 49152},
        {attribute::maxSharedBytesOptIn, 232448},
        {attribute::multiprocessors, 132},
        {attribute::cooperativeLaunch, setup.hasCooperativeLaunch},
        {attribute::capabilityMajor, setup.major},
        {attribute::capabilityMinor, setup.minor}};
    *value = values.at(number);
    return result::success;
  }
  static DriverResult deviceCanAccessPeer(int *can, DeviceNumber,
                                          DeviceNumber) {
    ENTER(false, true);
    *can = 1;
    return result::success;
  }

  //===--------------------------------------------------------------------===//

  static DriverResult primaryCtxRetain(ContextHandle *context,
                                       DeviceNumber device) {
    ENTER(false, false);
    FakeDriver::Context &primary = d.contexts_[size_t(device)];
    ++primary.references;
    *context = asHandle<ContextHandle>(&primary);
    return result::success;
  }
  static DriverResult primaryCtxRelease(DeviceNumber device) {
    ENTER(false, false);
    FakeDriver::Context &primary = d.contexts_[size_t(device)];
    if (primary.references-- == 0)
      return d.violation("a context is released too often");
    return result::success;
  }
  static DriverResult ctxGetCurrent(ContextHandle *context) {
    ENTER(false, true);
    *context = d.current_.empty() ? nullptr
                                  : asHandle<ContextHandle>(d.current_.back());
    return result::success;
  }
  static DriverResult ctxPushCurrent(ContextHandle context) {
    ENTER(false, true);
    auto *pushed = reinterpret_cast<FakeDriver::Context *>(context);
    if (!pushed || !pushed->references)
      return d.violation("a context that nobody retains becomes current");
    d.current_.push_back(pushed);
    return result::success;
  }
  static DriverResult ctxPopCurrent(ContextHandle *context) {
    ENTER(false, true);
    if (d.current_.empty())
      return d.violation("a pop without a push");
    *context = asHandle<ContextHandle>(d.current_.back());
    d.current_.pop_back();
    return result::success;
  }
  static DriverResult ctxSynchronize() {
    ENTER(true, false);
    for (const auto &[handle, stream] : d.streams_)
      if (DriverResult code = d.runUntil(*stream, stream->queue.size()))
        return code;
    return result::success;
  }
  static DriverResult ctxEnablePeerAccess(ContextHandle, unsigned) {
    ENTER(true, false);
    return result::success;
  }

  //===--------------------------------------------------------------------===//

  static DriverResult memGetInfo(size_t *freeBytes, size_t *totalBytes) {
    ENTER(true, true);
    uint64_t total = d.devices_[size_t(d.current_.back()->device)].totalBytes;
    // Contexts need some memory, too.
    *freeBytes = total - (uint64_t(64) << 20) - d.deviceBytesHeld();
    *totalBytes = total;
    return result::success;
  }
  static FakeDriver::Block makeBlock(uint64_t bytes, uint64_t alignment) {
    FakeDriver::Block block;
    block.storage = std::make_unique<uint8_t[]>(bytes + alignment);
    auto begin = reinterpret_cast<uintptr_t>(block.storage.get());
    begin = (begin + alignment - 1) / alignment * alignment;
    block.begin = reinterpret_cast<uint8_t *>(begin);
    block.sizeBytes = bytes;
    std::memset(block.begin, 0xa5, bytes);
    return block;
  }
  static DriverResult memAlloc(DeviceAddress *address, size_t bytes) {
    ENTER(true, false);
    size_t available = 0, total = 0;
    memGetInfo(&available, &total);
    --d.calls["memGetInfo"];
    if (bytes > available)
      return result::outOfMemory;
    FakeDriver::Block block = makeBlock(bytes, 512);
    *address = reinterpret_cast<DeviceAddress>(block.begin);
    d.memory_.emplace(block.begin, std::move(block));
    return result::success;
  }
  static DriverResult memFree(DeviceAddress address) {
    ENTER(true, false);
    if (!d.memory_.erase(pointerOf(address)))
      return d.violation("memory is freed that is not allocated");
    return result::success;
  }
  static DriverResult memHostAlloc(void **address, size_t bytes, unsigned) {
    ENTER(true, false);
    FakeDriver::Block block = makeBlock(bytes, 4096);
    *address = block.begin;
    d.pinned_.emplace(block.begin, std::move(block));
    return result::success;
  }
  static DriverResult memFreeHost(void *address) {
    ENTER(true, false);
    if (!d.pinned_.erase(address))
      return d.violation("host memory is freed that is not allocated");
    return result::success;
  }

  //===--------------------------------------------------------------------===//

  static DriverResult memcpyHtoDAsync(DeviceAddress to, const void *from,
                                      size_t bytes, StreamHandle handle) {
    ENTER(true, true);
    ALIVE(stream, handle);
    if (!d.blockOf(pointerOf(to), bytes))
      return result::invalidValue;
    d.uploadedBytes += bytes;
    if (d.isPinned(from, bytes))
      return d.queue(*stream, [=] {
        std::memcpy(pointerOf(to), from, bytes);
        return result::success;
      });
    if (stream->recording)
      return d.violation("a recorded copy from memory that is not pinned");
    auto *source = static_cast<const uint8_t *>(from);
    std::vector<uint8_t> staged(source, source + bytes);
    return d.queue(*stream, [to, staged] {
      std::memcpy(pointerOf(to), staged.data(), staged.size());
      return result::success;
    });
  }
  static DriverResult memcpyDtoHAsync(void *to, DeviceAddress from,
                                      size_t bytes, StreamHandle handle) {
    ENTER(true, true);
    ALIVE(stream, handle);
    if (!d.blockOf(pointerOf(from), bytes))
      return result::invalidValue;
    bool isPinned = d.isPinned(to, bytes);
    if (!isPinned && stream->recording)
      return d.violation("a recorded copy to memory that is not pinned");
    d.queue(*stream, [=] {
      std::memcpy(to, pointerOf(from), bytes);
      return result::success;
    });
    return isPinned ? result::success
                    : d.runUntil(*stream, stream->queue.size());
  }
  static DriverResult memcpyDtoDAsync(DeviceAddress to, DeviceAddress from,
                                      size_t bytes, StreamHandle handle) {
    ENTER(true, true);
    ALIVE(stream, handle);
    if (!d.blockOf(pointerOf(to), bytes) || !d.blockOf(pointerOf(from), bytes))
      return result::invalidValue;
    return d.queue(*stream, [=] {
      std::memmove(pointerOf(to), pointerOf(from), bytes);
      return result::success;
    });
  }
  static DriverResult memcpyPeerAsync(DeviceAddress to, ContextHandle,
                                      DeviceAddress from, ContextHandle,
                                      size_t bytes, StreamHandle handle) {
    ENTER(true, true);
    ALIVE(stream, handle);
    if (!d.blockOf(pointerOf(to), bytes) || !d.blockOf(pointerOf(from), bytes))
      return result::invalidValue;
    return d.queue(*stream, [=] {
      std::memcpy(pointerOf(to), pointerOf(from), bytes);
      return result::success;
    });
  }
  static DriverResult memsetD8Async(DeviceAddress to, unsigned char value,
                                    size_t bytes, StreamHandle handle) {
    ENTER(true, true);
    ALIVE(stream, handle);
    if (!d.blockOf(pointerOf(to), bytes))
      return result::invalidValue;
    return d.queue(*stream, [=] {
      std::memset(pointerOf(to), value, bytes);
      return result::success;
    });
  }

  //===--------------------------------------------------------------------===//

  static DriverResult streamCreate(StreamHandle *handle, unsigned flags) {
    ENTER(true, false);
    if (flags != streamNonBlocking)
      return d.violation("a stream that waits for the default stream");
    auto stream = std::make_unique<Stream>();
    *handle = asHandle<StreamHandle>(stream.get());
    d.streams_.emplace(stream.get(), std::move(stream));
    return result::success;
  }
  static DriverResult streamDestroy(StreamHandle handle) {
    ENTER(true, false);
    ALIVE(stream, handle);
    // Its work still runs, and events may refer to it.
    (void)d.runUntil(*stream, stream->queue.size());
    for (const auto &[key, event] : d.events_)
      if (event->stream == stream)
        event->stream = nullptr;
    d.streams_.erase(handle);
    return result::success;
  }
  static DriverResult streamSynchronize(StreamHandle handle) {
    ENTER(true, false);
    ALIVE(stream, handle);
    return d.runUntil(*stream, stream->queue.size());
  }
  static DriverResult streamWaitEvent(StreamHandle handle, EventHandle what,
                                      unsigned) {
    ENTER(true, true);
    ALIVE(stream, handle);
    ALIVE(event, what);
    if (!event->stream)
      return result::success;
    if (event->graph)
      return event->joinCapture(*stream)
                 ? result::success
                 : d.violation("a stream in two captures");
    if (stream->recording)
      return d.violation("a recorded wait for work that is not recorded");
    FakeDriver *driver = &d;
    Stream *other = event->stream;
    size_t position = event->position;
    return d.queue(*stream, [=] { return driver->runUntil(*other, position); });
  }

  static DriverResult eventCreate(EventHandle *handle, unsigned flags) {
    ENTER(true, false);
    auto event = std::make_unique<FakeDriver::Event>();
    event->isTimed = !(flags & eventDisableTiming);
    *handle = asHandle<EventHandle>(event.get());
    d.events_.emplace(event.get(), std::move(event));
    return result::success;
  }
  static DriverResult eventDestroy(EventHandle handle) {
    ENTER(true, false);
    ALIVE(event, handle);
    (void)event;
    d.events_.erase(handle);
    return result::success;
  }
  static DriverResult eventRecord(EventHandle handle, StreamHandle where) {
    ENTER(true, true);
    ALIVE(event, handle);
    ALIVE(stream, where);
    event->record(*stream);
    if (stream->recording)
      return event->isTimed ? d.violation("a timed event inside a graph")
                            : result::success;
    FakeDriver *driver = &d;
    FakeDriver::Event *mark = event;
    d.queue(*stream, [=] {
      // A kernel takes 1000 ticks, and everything else one.
      mark->tick = driver->ticks_ += 1;
      mark->tick += 1000 * driver->launches.size();
      return result::success;
    });
    event->position = stream->queue.size();
    return result::success;
  }
  static DriverResult eventSynchronize(EventHandle handle) {
    ENTER(true, false);
    ALIVE(event, handle);
    return event->stream ? d.runUntil(*event->stream, event->position)
                         : result::success;
  }
  static DriverResult eventElapsedTime(float *milliseconds, EventHandle begin,
                                       EventHandle end) {
    ENTER(true, false);
    auto *first = d.alive(d.events_, begin, __func__);
    auto *last = d.alive(d.events_, end, __func__);
    if (!first || !last)
      return result::invalidHandle;
    if (!first->isTimed || !last->isTimed)
      return d.violation("the time of an event without one");
    if (first->stream->done < first->position ||
        last->stream->done < last->position)
      return result::notReady;
    *milliseconds = static_cast<float>(last->tick - first->tick) / 1e3f;
    return result::success;
  }

  //===--------------------------------------------------------------------===//

  static DriverResult moduleLoadDataEx(ModuleHandle *handle, const void *image,
                                       unsigned numOptions, int *options,
                                       void **values) {
    FakeDriver &d = *theDriver;
    if (DriverResult code = d.enter(__func__, true, false)) {
      for (unsigned i = 0; i < numOptions; ++i)
        if (options[i] == jitErrorLog)
          std::strcpy(static_cast<char *>(values[i]), d.jitLog.c_str());
      return code;
    }
    auto module = std::make_unique<FakeDriver::Module>();
    if (auto cubin = readCubin(image)) {
      const FakeDevice &setup = d.devices_[size_t(d.current_.back()->device)];
      if (cubin->arch != unsigned(10 * setup.major + setup.minor))
        return result::noBinaryForGpu;
      // Kernels of which it is not known what parameters they take.
      for (const std::string &kernel : cubin->kernels)
        module->parameters[kernel];
      *handle = asHandle<ModuleHandle>(module.get());
      d.modules_.emplace(module.get(), std::move(module));
      return result::success;
    }
    // ".entry NAME(.param .u64 a, .param .align 8 .b8 b[24])" is a kernel.
    std::string text = static_cast<const char *>(image);
    auto number = [&](char c) {
      return std::count(text.begin(), text.end(), c);
    };
    if (number('{') != number('}') || number('(') != number(')')) {
      for (unsigned i = 0; i < numOptions; ++i)
        if (options[i] == jitErrorLog)
          std::strcpy(static_cast<char *>(values[i]),
                      "ptxas fatal: brackets without a partner");
      return result::invalidPtx;
    }
    const std::string entry = ".entry ";
    for (size_t at = text.find(entry); at != std::string::npos;
         at = text.find(entry, at + 1)) {
      size_t begin = at + entry.size(), open = text.find('(', begin);
      const std::string list = text.substr(open, text.find(')', open) - open);
      std::vector<size_t> &sizes =
          module->parameters[text.substr(begin, open - begin)];
      const std::string param = ".param ";
      for (size_t p = list.find(param); p != std::string::npos;) {
        size_t next = list.find(param, p + 1), bracket = list.find('[', p);
        sizes.push_back(bracket < next ? std::stoul(list.substr(bracket + 1))
                                       : sizeof(void *));
        p = next;
      }
    }
    *handle = asHandle<ModuleHandle>(module.get());
    d.modules_.emplace(module.get(), std::move(module));
    return result::success;
  }
  static DriverResult moduleUnload(ModuleHandle handle) {
    ENTER(true, false);
    ALIVE(module, handle);
    std::erase_if(d.functions_, [&](const auto &function) {
      return function.second->module == module;
    });
    d.modules_.erase(handle);
    return result::success;
  }
  static DriverResult moduleGetFunction(FunctionHandle *handle,
                                        ModuleHandle from, const char *name) {
    ENTER(true, false);
    ALIVE(module, from);
    auto found = module->parameters.find(name);
    if (found == module->parameters.end())
      return result::notFound;
    auto function = std::make_unique<FakeDriver::Function>(
        FakeDriver::Function{module, name, found->second});
    *handle = asHandle<FunctionHandle>(function.get());
    d.functions_.emplace(function.get(), std::move(function));
    return result::success;
  }
  static DriverResult funcSetAttribute(FunctionHandle handle, int number,
                                       int value) {
    ENTER(true, false);
    ALIVE(function, handle);
    (void)function;
    if (number != functionMaxDynamicShared || value > 232448)
      return result::invalidValue;
    ++d.numFunctionAttributes;
    return result::success;
  }
  static DriverResult launchKernel(FunctionHandle handle, unsigned gridX,
                                   unsigned gridY, unsigned gridZ,
                                   unsigned blockX, unsigned blockY,
                                   unsigned blockZ, unsigned sharedBytes,
                                   StreamHandle where, void **parameters,
                                   void **extra) {
    ENTER(true, true);
    return launch(d, handle,
                  {gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes,
                   where, nullptr, 0},
                  parameters, extra);
  }
  static DriverResult
  launchCooperativeKernel(FunctionHandle handle, unsigned gridX, unsigned gridY,
                          unsigned gridZ, unsigned blockX, unsigned blockY,
                          unsigned blockZ, unsigned sharedBytes,
                          StreamHandle where, void **parameters) {
    ENTER(true, true);
    if (gridX * gridY * gridZ > 132u * d.blocksPerMultiprocessor)
      return result::cooperativeLaunchTooLarge;
    return launch(d, handle,
                  {gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes,
                   where, nullptr, 0},
                  parameters, nullptr, /*isCooperative=*/true);
  }
  static DriverResult occupancy(int *blocks, FunctionHandle handle, int,
                                size_t) {
    ENTER(true, false);
    ALIVE(function, handle);
    (void)function;
    *blocks = static_cast<int>(d.blocksPerMultiprocessor);
    return result::success;
  }
  static DriverResult launchKernelEx(const LaunchConfig *config,
                                     FunctionHandle handle, void **parameters,
                                     void **extra) {
    ENTER(true, true);
    return launch(d, handle, *config, parameters, extra);
  }
  static DriverResult launch(FakeDriver &d, FunctionHandle handle,
                             const LaunchConfig &config, void **parameters,
                             void **extra, bool isCooperative = false) {
    ALIVE(function, handle);
    ALIVE(stream, config.stream);
    const unsigned threads = config.blockX * config.blockY * config.blockZ;
    if (!config.gridX || !config.gridY || !config.gridZ || threads > 1024 ||
        extra)
      return d.violation("a launch of an impossible shape");
    bool isEarly = false;
    for (unsigned i = 0; i < config.numAttributes; ++i) {
      const LaunchAttribute &attribute = config.attributes[i];
      if (attribute.id != launchProgrammaticSerialization)
        return d.violation("an unknown attribute of a launch");
      isEarly = attribute.programmaticSerializationAllowed == 1;
    }
    const FakeDevice &setup = d.devices_[size_t(d.current_.back()->device)];
    if (isEarly && setup.major < 9)
      return result::invalidValue;
    if (isEarly && stream->recording && d.version < 12030)
      return result::captureUnsupported;
    // Values are taken now, as a driver does.
    std::vector<std::vector<uint8_t>> values;
    for (size_t i = 0; i < function->parameterBytes.size(); ++i) {
      auto *bytes = static_cast<const uint8_t *>(parameters[i]);
      values.emplace_back(bytes, bytes + function->parameterBytes[i]);
    }
    FakeDriver *driver = &d;
    FakeDriver::Function copy = *function;
    FakeDriver::LaunchRecord record = {
        copy.name,
        {config.gridX, config.gridY, config.gridZ},
        {config.blockX, config.blockY, config.blockZ},
        config.sharedBytes,
        stream->recording != nullptr,
        isEarly,
        isCooperative};
    return d.queue(*stream,
                   [=] { return driver->launchNow(copy, record, values); });
  }

  //===--------------------------------------------------------------------===//

  static DriverResult streamBeginCapture(StreamHandle handle, int mode) {
    ENTER(true, false);
    ALIVE(stream, handle);
    if (mode != captureThreadLocal)
      return d.violation("a capture that other threads can break");
    auto graph = std::make_unique<Graph>();
    stream->recording = graph.get();
    graph->origin = stream;
    d.graphs_.emplace(graph.get(), std::move(graph));
    return result::success;
  }
  static DriverResult streamEndCapture(StreamHandle handle,
                                       GraphHandle *graph) {
    ENTER(true, true);
    ALIVE(stream, handle);
    if (!stream->recording)
      return d.violation("the end of a capture that did not begin");
    *graph = asHandle<GraphHandle>(stream->recording);
    return d.endCapture(*stream->recording, *stream);
  }
  static DriverResult graphInstantiate(GraphExecHandle *handle,
                                       GraphHandle from, unsigned long long) {
    ENTER(true, false);
    ALIVE(graph, from);
    auto exec = std::make_unique<Graph>(*graph);
    exec->isExec = true;
    *handle = asHandle<GraphExecHandle>(exec.get());
    d.graphs_.emplace(exec.get(), std::move(exec));
    return result::success;
  }
  static DriverResult graphUpload(GraphExecHandle handle, StreamHandle where) {
    ENTER(true, false);
    ALIVE(graph, handle);
    ALIVE(stream, where);
    (void)graph;
    (void)stream;
    return result::success;
  }
  static DriverResult graphLaunch(GraphExecHandle handle, StreamHandle where) {
    ENTER(true, true);
    ALIVE(graph, handle);
    ALIVE(stream, where);
    if (!graph->isExec)
      return d.violation("a graph that was not made ready is started");
    std::vector<FakeDriver::Work> work = graph->work;
    return d.queue(*stream, [work] {
      for (const FakeDriver::Work &one : work)
        if (DriverResult code = one())
          return code;
      return result::success;
    });
  }
  static DriverResult graphExecDestroy(GraphExecHandle handle) {
    ENTER(true, false);
    ALIVE(graph, handle);
    (void)graph;
    d.graphs_.erase(handle);
    return result::success;
  }
  static DriverResult graphDestroy(GraphHandle handle) {
    ENTER(true, false);
    ALIVE(graph, handle);
    (void)graph;
    d.graphs_.erase(handle);
    return result::success;
  }
};

#undef ENTER
#undef ALIVE

} // namespace sinter::test

FakeDriver::FakeDriver(std::vector<FakeDevice> devices)
    : devices_(std::move(devices)) {
  for (size_t i = 0; i < devices_.size(); ++i)
    contexts_.push_back({static_cast<int>(i), 0});
#define SINTER_FIELD(FIELD, EXPORT, PARAMETERS) table_.FIELD = FakeCalls::FIELD;
  SINTER_CUDA_DRIVER_FUNCTIONS(SINTER_FIELD)
#undef SINTER_FIELD
  theDriver = this;
}

FakeDriver::~FakeDriver() { theDriver = nullptr; }

FakeDriver *FakeDriver::current() { return theDriver; }
