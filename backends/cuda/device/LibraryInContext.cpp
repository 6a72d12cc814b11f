//===- LibraryInContext.cpp - a library's work in one context -------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/device/LibraryInContext.h"

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::rt;

namespace {

class CallInContext final : public LibraryCall {
public:
  CallInContext(const CudaContext &context, std::unique_ptr<LibraryCall> call)
      : context_(context), call_(std::move(call)) {}
  ~CallInContext() override {
    CurrentContext current(context_.driver(), context_.handle());
    call_.reset();
  }
  uint64_t sharedBytes() const override { return call_->sharedBytes(); }
  uint64_t perWorkerBytes() const override { return call_->perWorkerBytes(); }
  Status bind(const Scratch &scratch, int threads) override {
    CurrentContext current(context_.driver(), context_.handle());
    return call_->bind(scratch, threads);
  }
  Status run(void *const *buffers, const CallContext &context) override {
    return call_->run(buffers, context); // from CudaDevice::call
  }
  int alternatives() override {
    CurrentContext current(context_.driver(), context_.handle());
    return call_->alternatives();
  }
  void select(int index) override {
    CurrentContext current(context_.driver(), context_.handle());
    call_->select(index);
  }
  void choose(std::span<const double> leastUs) override {
    CurrentContext current(context_.driver(), context_.handle());
    call_->choose(leastUs);
  }
  std::string description() const override { return call_->description(); }

private:
  const CudaContext &context_;
  std::unique_ptr<LibraryCall> call_;
};

class LibraryInContext final : public Library {
public:
  LibraryInContext(const CudaContext &context, std::unique_ptr<Library> library)
      : context_(context), library_(std::move(library)) {}
  ~LibraryInContext() override {
    CurrentContext current(context_.driver(), context_.handle());
    library_.reset();
  }
  std::string version() const override { return library_->version(); }
  Result<std::unique_ptr<LibraryCall>>
  prepare(const sinter_command &command, const CallMeans &means) override {
    CurrentContext current(context_.driver(), context_.handle());
    Result<std::unique_ptr<LibraryCall>> call =
        library_->prepare(command, means);
    if (!call.ok())
      return call;
    return std::unique_ptr<LibraryCall>(
        std::make_unique<CallInContext>(context_, std::move(*call)));
  }
  void endLoading() override { library_->endLoading(); }

private:
  const CudaContext &context_;
  std::unique_ptr<Library> library_;
};

} // namespace

std::unique_ptr<Library>
sinter::cuda::inContext(const CudaContext &context,
                        std::unique_ptr<Library> library) {
  return std::make_unique<LibraryInContext>(context, std::move(library));
}
