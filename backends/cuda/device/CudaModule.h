//===- CudaModule.h - the kernels of an artifact on a GPU -------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_DEVICE_CUDAMODULE_H
#define SINTER_BACKENDS_CUDA_DEVICE_CUDAMODULE_H

#include "backends/cuda/device/CudaContext.h"
#include "runtime/device/Stream.h"

#include <vector>

namespace sinter::cuda {

/// Whether any kernel is for a GPU. In a program with several places, all may
/// be for the CPU.
bool hasGpuKernels(const sinter_artifact &artifact);

/// The images that a GPU of compute capability `arch` (90: 9.0) can run, the
/// best one first: a cubin of exactly this architecture, and the PTX of the
/// newest architecture that is not above it.
std::vector<const sinter_image *> usableImages(const sinter_artifact &artifact,
                                               unsigned arch);

/// "kernel matmul_3 (grid 8x1x1, block 256x1x1, 0 bytes of shared memory)".
std::string launchText(const sinter_kernel_desc &kernel);

class CudaModule final : public rt::KernelModule {
public:
  /// Loads the best image that the driver takes and finds every kernel. The
  /// context must be current. Errors are one line. They quote the driver's log
  /// if it rejects the images, or name the kernel that the GPU cannot launch.
  static rt::Result<std::unique_ptr<CudaModule>>
  load(const CudaContext &context, const sinter_artifact &artifact);
  ~CudaModule() override;

  /// Queues kernel `number`; `buffers[i]` is the value of parameter i. Unless
  /// `isSerial`, a kernel that waits for the launches before it may begin
  /// before they have ended.
  DriverResult launch(uint32_t number, void *const *buffers,
                      StreamHandle stream, bool isSerial);

  const sinter_kernel_desc &desc(uint32_t number) const {
    return table_[number];
  }
  /// The image that was loaded; null if no kernel is for a GPU.
  const sinter_image *image() const { return image_; }

private:
  explicit CudaModule(const CudaContext &context) : context_(context) {}
  rt::Status loadImages(const std::vector<const sinter_image *> &images);
  rt::Status loadImage(const sinter_image &image);
  rt::Status findKernel(const sinter_kernel_desc &kernel);
  bool mayBeginEarly(const sinter_kernel_desc &kernel) const;
  /// How many blocks of a persistent kernel the GPU runs at once; at most as
  /// many as are useful. Fails if it is none.
  rt::Result<uint32_t> residentBlocks(const sinter_kernel_desc &kernel,
                                      FunctionHandle function,
                                      uint32_t sharedBytes) const;
  /// The dynamic shared memory of its blocks, which may be less than it can
  /// use. Tells the driver.
  uint32_t dynamicSharedBytes(const sinter_kernel_desc &kernel,
                              FunctionHandle function) const;

  struct Function {
    FunctionHandle handle = nullptr;
    uint32_t blocks = 0;      // of a launch, along x
    uint32_t sharedBytes = 0; // dynamic, of a block
  };

  const CudaContext &context_;
  const sinter_kernel_desc *table_ = nullptr;
  const sinter_image *image_ = nullptr;
  ModuleHandle module_ = nullptr;
  std::vector<Function> functions_; // by kernel
  std::vector<void *> parameters_;  // addresses of the arguments of one launch
};

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_DEVICE_CUDAMODULE_H
