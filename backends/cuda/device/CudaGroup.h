//===- CudaGroup.h - a GPU as one replica among others ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_DEVICE_CUDAGROUP_H
#define SINTER_BACKENDS_CUDA_DEVICE_CUDAGROUP_H

#include "backends/cuda/device/CudaContext.h"
#include "runtime/collective/Communicator.h"

#include <memory>

namespace sinter::cuda {

/// Makes every call with the device's context current.
class CudaGroup final : public rt::Communicator {
public:
  CudaGroup(const CudaContext &context, std::unique_ptr<rt::Communicator> group)
      : Communicator(group->rank(), group->replicas()), context_(context),
        group_(std::move(group)) {}
  ~CudaGroup() override {
    CurrentContext current(context_.driver(), context_.handle());
    group_.reset();
  }
  void abort() override {
    CurrentContext current(context_.driver(), context_.handle());
    group_->abort();
  }
  rt::Status run(rt::Stream &stream, const rt::Collective &what,
                 void *const *buffers) override {
    CurrentContext current(context_.driver(), context_.handle());
    return group_->run(stream, what, buffers);
  }

private:
  const CudaContext &context_;
  std::unique_ptr<rt::Communicator> group_;
};

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_DEVICE_CUDAGROUP_H
