//===- CudaLibrary.cpp - contractions of a CUDA device --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/CudaLibrary.h"
#include "backends/cuda/library/LtMatmul.h"

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::rt;

namespace {

class CudaLibrary : public Library {
public:
  CudaLibrary(LibraryTables tables, const LibraryOptions &options)
      : tables_(std::move(tables)), options_(options) {}

  std::string version() const override {
    return lt_ ? lt_->version() : "no library is open yet";
  }

  Result<std::unique_ptr<LibraryCall>> prepare(const sinter_command &command,
                                               const uint8_t *, int) override {
    if (command.kind != SINTER_CMD_MATMUL)
      return Status(SINTER_UNSUPPORTED, "no library convolves");
    SINTER_RETURN_IF_ERROR(startLt());
    return prepareLtMatmul(*lt_, command, options_);
  }

private:
  Status startLt() {
    if (lt_)
      return {};
    Result<const lt::Api *> api = tables_.openLt();
    if (!api.ok())
      return api.status();
    Result<std::unique_ptr<LtContext>> context = LtContext::create(**api);
    if (!context.ok())
      return context.status();
    lt_ = std::move(*context);
    return {};
  }

  LibraryTables tables_;
  LibraryOptions options_;
  std::unique_ptr<LtContext> lt_;
};

} // namespace

std::unique_ptr<Library>
sinter::cuda::createCudaLibrary(LibraryTables tables,
                                const LibraryOptions &options) {
  return std::make_unique<CudaLibrary>(std::move(tables), options);
}
