//===- GatherModule.cpp - gathers rows on a GPU ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/device/GatherModule.h"
#include "backends/cuda/device/GatherKernel.h"

#include <algorithm>

using namespace sinter;
using namespace sinter::cuda;
using rt::Result;
using rt::Status;

const char *sinter::cuda::gatherPtx() {
#ifdef SINTER_DEVICE_PTX
  static constexpr char text[] =
#include "backends/cuda/device/GatherKernel.inc"
      ;
  return text;
#else
  return nullptr;
#endif
}

Result<std::unique_ptr<GatherModule>>
GatherModule::load(const DriverTable &driver) {
  const char *ptx = gatherPtx();
  if (!ptx)
    return Status(SINTER_UNSUPPORTED,
                  "this build of Sinter has no kernel that gathers rows");
  std::unique_ptr<GatherModule> module(new GatherModule(driver));
  auto check = [&](DriverResult code, const char *what) -> Status {
    if (code == result::success)
      return {};
    return {SINTER_UNSUPPORTED, std::string("the kernel that gathers rows: ") +
                                    what + ": " + errorText(driver, code)};
  };
  SINTER_RETURN_IF_ERROR(
      check(driver.moduleLoadDataEx(&module->module_, ptx, 0, nullptr, nullptr),
            "the driver does not load it"));
  SINTER_RETURN_IF_ERROR(
      check(driver.moduleGetFunction(&module->kernel_, module->module_,
                                     gatherKernelName),
            gatherKernelName));
  module->last_.name = gatherKernelName;
  return module;
}

GatherModule::~GatherModule() {
  if (module_)
    (void)driver_.moduleUnload(module_);
}

/// The kernel loops if a column has more units than this many blocks.
static constexpr uint64_t mostBlocks = 8192;

DriverResult GatherModule::launch(const rt::RowGather &gather,
                                  StreamHandle stream) {
  uint64_t units = 0;
  for (uint32_t i = 0; i < gather.numColumns; ++i) {
    const rt::RowColumn &column = gather.columns[i];
    units = std::max(units, column.rowBytes / gatherUnit(column) *
                                static_cast<uint64_t>(gather.numRows));
  }
  const uint64_t blocks =
      std::min((units + gatherBlock - 1) / gatherBlock, mostBlocks);
  if (blocks == 0)
    return result::success;
  last_.grid[0] = static_cast<uint32_t>(blocks);
  last_.grid[1] = gather.numColumns;
  last_.grid[2] = last_.block[1] = last_.block[2] = 1;
  last_.block[0] = gatherBlock;
  void *parameters[] = {const_cast<rt::RowGather *>(&gather)};
  return driver_.launchKernel(kernel_, last_.grid[0], last_.grid[1], 1,
                              gatherBlock, 1, 1, 0, stream, parameters,
                              nullptr);
}
