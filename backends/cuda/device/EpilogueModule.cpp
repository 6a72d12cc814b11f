//===- EpilogueModule.cpp - kernels for epilogues on a GPU ----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/device/EpilogueModule.h"
#include "backends/cuda/device/EpilogueKernel.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::cuda;
using rt::Result;
using rt::Status;

const char *sinter::cuda::epiloguePtx() {
#ifdef SINTER_DEVICE_PTX
  static constexpr char text[] =
#include "backends/cuda/device/EpilogueKernel.inc"
      ;
  return text;
#else
  return nullptr;
#endif
}

namespace {

/// The number of blocks for `count` tiles. Kernels loop if that is less.
unsigned blocksFor(int64_t count) {
  return static_cast<unsigned>(std::min<int64_t>(count, INT32_MAX));
}

int64_t quotientUp(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

class EpilogueModule final : public LtKernels {
public:
  explicit EpilogueModule(const DriverTable &driver) : driver_(driver) {}
  ~EpilogueModule() override {
    if (module_)
      (void)driver_.moduleUnload(module_);
  }

  Status load();

  Status apply(const LtEpilogueArgs &args, void *stream) override {
    int64_t tiles = quotientUp(args.m, epilogueTileRows) *
                    quotientUp(args.n, epilogueTileCols) * args.batch;
    return launch(epilogue_, blocksFor(tiles), epilogueTileRows,
                  epilogueBlockRows, &args, stream);
  }
  Status sum(const LtSumArgs &args, void *stream) override {
    return launch(sums_, blocksFor(quotientUp(args.lines, sumTileLines)),
                  sumTileLines * ltSumLanes, 1, &args, stream);
  }

private:
  Status find(FunctionHandle &function, const char *name) {
    return check(driver_.moduleGetFunction(&function, module_, name), name);
  }
  Status launch(FunctionHandle function, unsigned blocks, unsigned blockX,
                unsigned blockY, const void *args, void *stream) {
    void *parameters[] = {const_cast<void *>(args)};
    return check(driver_.launchKernel(function, blocks, 1, 1, blockX, blockY, 1,
                                      0, static_cast<StreamHandle>(stream),
                                      parameters, nullptr),
                 "a launch");
  }
  Status check(DriverResult code, const char *what) const {
    if (code == result::success)
      return {};
    return {SINTER_DEVICE_FAILED,
            "kernels for epilogues: " + std::string(what) + ": " +
                errorText(driver_, code)};
  }

  const DriverTable &driver_;
  ModuleHandle module_ = nullptr;
  FunctionHandle epilogue_ = nullptr, sums_ = nullptr;
};

} // namespace

Status EpilogueModule::load() {
  const char *ptx = epiloguePtx();
  if (!ptx)
    return {SINTER_UNSUPPORTED,
            "this build of Sinter has no kernels for epilogues"};
  SINTER_RETURN_IF_ERROR(
      check(driver_.moduleLoadDataEx(&module_, ptx, 0, nullptr, nullptr),
            "the driver does not load them"));
  SINTER_RETURN_IF_ERROR(find(epilogue_, epilogueKernelName));
  return find(sums_, sumKernelName);
}

Result<std::unique_ptr<LtKernels>>
sinter::cuda::loadEpilogueKernels(const DriverTable &driver) {
  auto module = std::make_unique<EpilogueModule>(driver);
  SINTER_RETURN_IF_ERROR(module->load());
  return std::unique_ptr<LtKernels>(std::move(module));
}
