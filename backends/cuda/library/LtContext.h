//===- LtContext.h - an initialized cuBLASLt --------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CUDA_LIBRARY_LTCONTEXT_H
#define SINTER_BACKENDS_CUDA_LIBRARY_LTCONTEXT_H

#include "backends/cuda/library/LtApi.h"
#include "runtime/base/Status.h"

#include <memory>
#include <string>

namespace sinter::cuda {

/// An initialized cuBLASLt: one handle per device and calling thread.
class LtContext {
public:
  /// `api` must outlive the context. Fails without a CUDA device.
  static rt::Result<std::unique_ptr<LtContext>> create(const lt::Api &api);
  LtContext(const LtContext &) = delete;
  LtContext &operator=(const LtContext &) = delete;
  ~LtContext();

  const lt::Api &api() const { return api_; }
  lt::Handle handle() const { return handle_; }
  /// "cuBLASLt 13.1.0".
  std::string version() const;
  /// A failure with the status's name and the reason, if the library reports
  /// it.
  rt::Status error(const char *function, int status) const;

private:
  explicit LtContext(const lt::Api &api) : api_(api) {}

  const lt::Api &api_;
  lt::Handle handle_ = nullptr;
};

} // namespace sinter::cuda

#endif // SINTER_BACKENDS_CUDA_LIBRARY_LTCONTEXT_H
