//===- LtContext.cpp - an initialized cuBLASLt ----------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/LtContext.h"

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::rt;

static const char *statusName(int status) {
  switch (status) {
  case 1:
    return "NOT_INITIALIZED";
  case 3:
    return "ALLOC_FAILED";
  case 7:
    return "INVALID_VALUE";
  case 8:
    return "ARCH_MISMATCH";
  case 11:
    return "MAPPING_ERROR";
  case 13:
    return "EXECUTION_FAILED";
  case 14:
    return "INTERNAL_ERROR";
  case 15:
    return "NOT_SUPPORTED";
  case 16:
    return "LICENSE_ERROR";
  default:
    return "an unknown status";
  }
}

Result<std::unique_ptr<LtContext>> LtContext::create(const lt::Api &api) {
  std::unique_ptr<LtContext> context(new LtContext(api));
  int status = api.create(&context->handle_);
  if (status != lt::statusSuccess) {
    context->handle_ = nullptr;
    return context->error("Create", status);
  }
  return context;
}

LtContext::~LtContext() {
  if (handle_)
    api_.destroy(handle_);
}

std::string LtContext::version() const {
  size_t version = api_.getVersion();
  return "cuBLASLt " + std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

Status LtContext::error(const char *function, int status) const {
  std::string text = std::string("cublasLt") + function +
                     " failed: " + statusName(status) + " (" +
                     std::to_string(status) + ")";
  if (const char *reason = api_.lastError ? api_.lastError() : nullptr)
    text += std::string(": ") + reason;
  return {SINTER_DEVICE_FAILED, text};
}
