//===- CudaModule.cpp - the kernels of an artifact on a GPU ---------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/device/CudaModule.h"
#include "backends/common/device/LaunchText.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::cuda;
using rt::Result;
using rt::Status;

bool cuda::hasGpuKernels(const sinter_artifact &artifact) {
  return std::any_of(
      artifact.kernels, artifact.kernels + artifact.numKernels,
      [](const sinter_kernel_desc &kernel) { return !kernel.cpu; });
}

std::vector<const sinter_image *>
cuda::usableImages(const sinter_artifact &artifact, unsigned arch) {
  const sinter_image *cubin = nullptr, *ptx = nullptr;
  for (uint32_t i = 0; i < artifact.numImages; ++i) {
    const sinter_image &image = artifact.images[i];
    // A cubin runs only on its own architecture (and on newer minor versions,
    // but for those the PTX of the newer one is as good).
    if (image.kind == SINTER_IMAGE_CUBIN && image.arch == arch)
      cubin = &image;
    if (image.kind == SINTER_IMAGE_PTX && image.arch <= arch &&
        (!ptx || image.arch > ptx->arch))
      ptx = &image;
  }
  std::vector<const sinter_image *> usable;
  for (const sinter_image *image : {cubin, ptx})
    if (image)
      usable.push_back(image);
  return usable;
}

std::string cuda::launchText(const sinter_kernel_desc &kernel) {
  return sinter::launchText(kernel.name, kernel.grid, kernel.block,
                            kernel.sharedBytes);
}

Result<std::unique_ptr<CudaModule>>
CudaModule::load(const CudaContext &context, const sinter_artifact &artifact) {
  std::unique_ptr<CudaModule> module(new CudaModule(context));
  module->table_ = artifact.kernels;
  if (!hasGpuKernels(artifact))
    return module;
  SINTER_RETURN_IF_ERROR(
      module->loadImages(usableImages(artifact, context.facts().arch())));
  uint32_t mostBuffers = 0;
  for (uint32_t i = 0; i < artifact.numKernels; ++i) {
    if (artifact.kernels[i].cpu) {
      module->functions_.push_back({}); // one entry per kernel
      continue;
    }
    SINTER_RETURN_IF_ERROR(module->findKernel(artifact.kernels[i]));
    mostBuffers = std::max(mostBuffers, artifact.kernels[i].numBuffers);
  }
  module->parameters_.resize(mostBuffers);
  return module;
}

/// The first line of the driver's log.
static std::string firstLine(const char *log) {
  std::string line;
  for (const char *c = log; *c && line.size() < 300; ++c) {
    if (*c != '\n' && *c != '\r')
      line += *c;
    else if (!line.empty())
      break;
  }
  return line;
}

// A driver that is older than the toolkit of the cubin may refuse it; the PTX
// gives the same kernels, after the driver has compiled it.
Status CudaModule::loadImages(const std::vector<const sinter_image *> &images) {
  if (images.empty())
    return {SINTER_DEVICE_FAILED, "the program has no kernels for this GPU"};
  std::string refusals;
  for (const sinter_image *image : images) {
    Status status = loadImage(*image);
    if (status.ok() || status.code() == SINTER_OUT_OF_MEMORY)
      return status;
    refusals += (refusals.empty() ? "" : "; ") + status.message();
  }
  return {SINTER_DEVICE_FAILED, refusals};
}

Status CudaModule::loadImage(const sinter_image &image) {
  char log[4096] = "";
  int options[] = {jitErrorLog, jitErrorLogBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
  DriverResult code = context_.driver().moduleLoadDataEx(&module_, image.bytes,
                                                         2, options, values);
  if (code == result::success) {
    image_ = &image;
    return {};
  }
  std::string line = firstLine(log);
  return {code == result::outOfMemory ? SINTER_OUT_OF_MEMORY
                                      : SINTER_DEVICE_FAILED,
          std::string("the driver does not load the program's ") +
              (image.kind == SINTER_IMAGE_CUBIN ? "cubin" : "PTX") +
              " for sm_" + std::to_string(image.arch) + ": " +
              errorText(context_.driver(), code) +
              (line.empty() ? "" : ": " + line)};
}

Status CudaModule::findKernel(const sinter_kernel_desc &kernel) {
  const DriverTable &driver = context_.driver();
  const DeviceFacts &facts = context_.facts();
  auto refused = [&](const std::string &why) {
    return Status(SINTER_DEVICE_FAILED,
                  "this GPU cannot launch " + launchText(kernel) + ": " + why);
  };
  uint64_t threads =
      uint64_t(kernel.block[0]) * kernel.block[1] * kernel.block[2];
  if (threads > uint64_t(facts.maxThreadsPerBlock))
    return refused("a block has at most " +
                   std::to_string(facts.maxThreadsPerBlock) + " threads");
  for (int i = 0; i < 3; ++i)
    if (kernel.grid[i] > uint64_t(facts.maxGrid[i]) ||
        kernel.block[i] > uint64_t(facts.maxBlock[i]))
      return refused("dimension " + std::to_string(i) + " is too large");
  FunctionHandle function = nullptr;
  DriverResult code = driver.moduleGetFunction(&function, module_, kernel.name);
  if (code != result::success)
    return {SINTER_DEVICE_FAILED, std::string("the program's kernels lack ") +
                                      kernel.name + ": " +
                                      errorText(driver, code)};
  const uint32_t sharedBytes = dynamicSharedBytes(kernel, function);
  uint32_t blocks = kernel.grid[0];
  if (kernel.flags & SINTER_KERNEL_PERSISTENT) {
    Result<uint32_t> resident = residentBlocks(kernel, function, sharedBytes);
    if (!resident.ok())
      return refused(resident.status().message());
    blocks = *resident;
  }
  functions_.push_back({function, blocks, sharedBytes});
  return {};
}

/// What the kernel can use, or else what every kernel may have: static shared
/// memory takes at most maxSharedBytes.
uint32_t CudaModule::dynamicSharedBytes(const sinter_kernel_desc &kernel,
                                        FunctionHandle function) const {
  if (kernel.sharedBytes == 0)
    return 0;
  const DeviceFacts &facts = context_.facts();
  const int optIn = facts.maxSharedBytesOptIn;
  for (int64_t bytes :
       {int64_t(kernel.sharedBytes), int64_t(optIn) - facts.maxSharedBytes})
    if (bytes > 0 && bytes <= optIn &&
        context_.driver().funcSetAttribute(function, functionMaxDynamicShared,
                                           static_cast<int>(bytes)) ==
            result::success)
      return static_cast<uint32_t>(bytes);
  return 0;
}

/// More blocks on a multiprocessor than this hide little more latency, and make
/// every wait of the grid longer.
static constexpr uint32_t mostBlocksPerMultiprocessor = 2;

Result<uint32_t> CudaModule::residentBlocks(const sinter_kernel_desc &kernel,
                                            FunctionHandle function,
                                            uint32_t sharedBytes) const {
  const DeviceFacts &facts = context_.facts();
  if (!facts.hasCooperativeLaunch)
    return Status(SINTER_DEVICE_FAILED,
                  "all blocks must run at once, and it has no such launches");
  int blocks = 0;
  DriverResult code = context_.driver().occupancy(
      &blocks, function,
      static_cast<int>(kernel.block[0] * kernel.block[1] * kernel.block[2]),
      sharedBytes);
  if (code != result::success)
    return Status(SINTER_DEVICE_FAILED, errorText(context_.driver(), code));
  if (blocks <= 0)
    return Status(SINTER_DEVICE_FAILED,
                  "a multiprocessor cannot run one of its blocks");
  return std::min(
      kernel.grid[0],
      std::min(static_cast<uint32_t>(blocks), mostBlocksPerMultiprocessor) *
          static_cast<uint32_t>(facts.multiprocessors));
}

/// Images for older architectures have no wait; drivers before CUDA 12.3 do not
/// record such launches in graphs.
bool CudaModule::mayBeginEarly(const sinter_kernel_desc &kernel) const {
  constexpr uint32_t firstArch = 90;
  constexpr int firstDriver = 12030;
  return (kernel.flags & SINTER_KERNEL_WAITS) && image_->arch >= firstArch &&
         context_.facts().driverVersion >= firstDriver;
}

DriverResult CudaModule::launch(uint32_t number, void *const *buffers,
                                StreamHandle stream, bool isSerial) {
  const sinter_kernel_desc &kernel = table_[number];
  for (uint32_t i = 0; i < kernel.numBuffers; ++i)
    parameters_[i] = const_cast<void **>(&buffers[i]);
  const auto [handle, blocks, sharedBytes] = functions_[number];
  const DriverTable &driver = context_.driver();
  if (kernel.flags & SINTER_KERNEL_PERSISTENT)
    return driver.launchCooperativeKernel(
        handle, blocks, kernel.grid[1], kernel.grid[2], kernel.block[0],
        kernel.block[1], kernel.block[2], sharedBytes, stream,
        parameters_.data());
  if (!isSerial && mayBeginEarly(kernel)) {
    LaunchAttribute attribute = {};
    attribute.id = launchProgrammaticSerialization;
    attribute.programmaticSerializationAllowed = 1;
    const LaunchConfig config = {blocks,          kernel.grid[1],
                                 kernel.grid[2],  kernel.block[0],
                                 kernel.block[1], kernel.block[2],
                                 sharedBytes,     stream,
                                 &attribute,      1};
    return driver.launchKernelEx(&config, handle, parameters_.data(), nullptr);
  }
  return driver.launchKernel(handle, blocks, kernel.grid[1], kernel.grid[2],
                             kernel.block[0], kernel.block[1], kernel.block[2],
                             sharedBytes, stream, parameters_.data(), nullptr);
}

CudaModule::~CudaModule() {
  if (!module_)
    return;
  CurrentContext current(context_.driver(), context_.handle());
  (void)context_.driver().moduleUnload(module_);
}
