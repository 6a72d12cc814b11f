//===- CudaLibrary.cpp - contractions of a CUDA device --------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/CudaLibrary.h"
#include "backends/cuda/library/DnnConv.h"
#include "backends/cuda/library/LtMatmul.h"

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::rt;

namespace {

class CudaLibrary : public Library {
public:
  CudaLibrary(LibraryTables tables, const LibraryOptions &options)
      : tables_(std::move(tables)), options_(options) {
    if (tables_.openLtKernels)
      fallbacks_.openKernels = [this] { return openLtKernels(); };
  }

  std::string version() const override {
    if (!lt_ && !dnn_)
      return "no library was needed";
    return (lt_ ? lt_->version() : "") + (lt_ && dnn_ ? ", " : "") +
           (dnn_ ? dnn_->version() : "");
  }

  Result<std::unique_ptr<LibraryCall>>
  prepare(const sinter_command &command, const CallMeans &means) override {
    options_.maxWorkspaceBytes = means.workspaceBytes;
    options_.deterministic = means.isOrdered;
    options_.keepsNan = means.keepsNan;
    if (command.kind == SINTER_CMD_CONV) {
      SINTER_RETURN_IF_ERROR(start(tables_.openDnn, dnn_));
      return prepareDnnConv(*dnn_, command, options_, tables_.zeroFill);
    }
    if (command.kind == SINTER_CMD_ATTENTION) {
      SINTER_RETURN_IF_ERROR(start(tables_.openDnn, dnn_));
      return prepareDnnAttention(*dnn_, command, options_, tables_.zeroFill);
    }
    SINTER_RETURN_IF_ERROR(start(tables_.openLt, lt_));
    return prepareLtMatmul(*lt_, command, options_, fallbacks_);
  }

  void endLoading() override {
    auto note = [&](uint64_t count, const std::string &text) {
      if (count && options_.note)
        options_.note(std::to_string(count) + " of " +
                      std::to_string(fallbacks_.numProducts) +
                      " matrix products " + text);
    };
    note(fallbacks_.numFallbacks,
         "run without their epilogue, which a kernel then applies; the first "
         "because " +
             fallbacks_.firstReason);
    note(fallbacks_.numHidingNan,
         "end with cuBLASLt's ReLU, which may hide NaN; the first because " +
             fallbacks_.firstHidingNan);
    fallbacks_.numFallbacks = fallbacks_.numProducts = 0;
    fallbacks_.numHidingNan = 0;
  }

private:
  Result<LtKernels *> openLtKernels() {
    if (!ltKernels_) {
      auto opened = tables_.openLtKernels();
      if (!opened.ok())
        return opened.status();
      ltKernels_ = std::move(*opened);
    }
    return ltKernels_.get();
  }

  template <typename Open, typename Context>
  static Status start(const Open &open, std::unique_ptr<Context> &context) {
    if (context)
      return {};
    auto api = open();
    if (!api.ok())
      return api.status();
    Result<std::unique_ptr<Context>> started = Context::create(**api);
    if (!started.ok())
      return started.status();
    context = std::move(*started);
    return {};
  }

  LibraryTables tables_;
  LibraryOptions options_;
  std::unique_ptr<LtContext> lt_;
  std::unique_ptr<DnnContext> dnn_;
  std::unique_ptr<LtKernels> ltKernels_;
  LtFallbacks fallbacks_;
};

} // namespace

std::unique_ptr<Library>
sinter::cuda::createCudaLibrary(LibraryTables tables,
                                const LibraryOptions &options) {
  return std::make_unique<CudaLibrary>(std::move(tables), options);
}
