//===- ConvAsProduct.h - convolutions that a product computes ---*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_CPU_DEVICE_CONVASPRODUCT_H
#define SINTER_BACKENDS_CPU_DEVICE_CONVASPRODUCT_H

#include "runtime/device/Library.h"

#include "sinter/abi.h"

#include <algorithm>
#include <memory>
#include <string>

namespace sinter::cpu {

/// Owns the product that computes a convolution.
class ConvAsProduct : public rt::LibraryCall {
public:
  void take(std::unique_ptr<rt::LibraryCall> product) {
    product_ = std::move(product);
  }

  uint64_t sharedBytes() const final { return product_->sharedBytes(); }
  uint64_t perWorkerBytes() const final { return product_->perWorkerBytes(); }
  rt::Status bind(const rt::Scratch &scratch, int threads) final {
    return product_->bind(scratch, threads);
  }
  rt::Status run(void *const *buffers, const rt::CallContext &context) final {
    return product_->run(buffers, context);
  }

protected:
  /// `params`: the product, without post-ops, which are those of the
  /// convolution.
  ConvAsProduct(const sinter_command &conv, const sinter_matmul &params)
      : params_(params), command_(conv) {
    params_.numPostOps = conv.conv.params->numPostOps;
    std::copy_n(conv.conv.params->postOps, params_.numPostOps, params_.postOps);
    command_.kind = SINTER_CMD_MATMUL;
    command_.matmul = {&params_, SINTER_BY_LIBRARY, 0};
  }

  std::string productText() const { return product_->description(); }

  sinter_matmul params_;
  sinter_command command_; // of the product

private:
  std::unique_ptr<rt::LibraryCall> product_;
};

} // namespace sinter::cpu

#endif // SINTER_BACKENDS_CPU_DEVICE_CONVASPRODUCT_H
