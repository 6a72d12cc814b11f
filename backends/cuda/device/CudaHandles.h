//===- CudaHandles.h - the driver's streams, events and graphs --*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Owners of the driver's handles. Destructors ignore errors: after a failure of
// the device, the driver refuses to destroy handles, and the whole context is
// released instead.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_DEVICE_CUDAHANDLES_H
#define SINTER_BACKENDS_CUDA_DEVICE_CUDAHANDLES_H

#include "backends/cuda/device/CudaContext.h"
#include "runtime/device/Stream.h"

namespace sinter::cuda {

class CudaStream final : public rt::Stream {
public:
  CudaStream(const CudaContext &context, StreamHandle handle)
      : context_(context), handle_(handle) {}
  ~CudaStream() override {
    CurrentContext current(context_.driver(), context_.handle());
    (void)context_.driver().streamDestroy(handle_);
  }
  void *native() const override { return handle_; }
  StreamHandle handle() const { return handle_; }

  /// Whether the next command comes after an event of another stream. A launch
  /// then depends on commands of several streams, and only one after a single
  /// kernel may begin early.
  bool hasWaited = false;

private:
  const CudaContext &context_;
  StreamHandle handle_;
};

class CudaEvent final : public rt::Event {
public:
  CudaEvent(const CudaContext &context, EventHandle handle)
      : context_(context), handle_(handle) {}
  ~CudaEvent() override {
    CurrentContext current(context_.driver(), context_.handle());
    (void)context_.driver().eventDestroy(handle_);
  }
  EventHandle handle() const { return handle_; }

private:
  const CudaContext &context_;
  EventHandle handle_;
};

class CudaGraph final : public rt::Graph {
public:
  CudaGraph(const CudaContext &context, GraphExecHandle handle)
      : context_(context), handle_(handle) {}
  ~CudaGraph() override {
    CurrentContext current(context_.driver(), context_.handle());
    (void)context_.driver().graphExecDestroy(handle_);
  }
  GraphExecHandle handle() const { return handle_; }

private:
  const CudaContext &context_;
  GraphExecHandle handle_;
};

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_DEVICE_CUDAHANDLES_H
