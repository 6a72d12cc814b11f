//===- Nvtx.cpp - names for the vendor's profilers ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/device/Nvtx.h"

#include <cstddef>
#include <cstdlib>
#include <dlfcn.h>

namespace sinter::cuda::nvtx {
namespace {

using Function = void (*)();

/// NvtxCallbackIdCore.
constexpr unsigned rangePushA = 9, rangePop = 11, numCoreFunctions = 16;
/// NvtxCallbackModule and NvtxExportTableID.
constexpr uint32_t moduleCore = 1, tableCallbacks = 1, tableVersion = 3;

int (*pushRange)(const char *) = nullptr;
int (*popRange)() = nullptr;

/// The profiler writes its functions here. It expects a slot for each of NVTX's
/// functions.
Function otherFunctions[numCoreFunctions];
Function *coreTable[numCoreFunctions + 1];

int getModuleFunctionTable(uint32_t module, Function ***table,
                           unsigned *count) {
  if (module != moduleCore)
    return 0;
  for (unsigned i = 0; i < numCoreFunctions; ++i)
    coreTable[i] = &otherFunctions[i];
  if (table)
    *table = coreTable;
  if (count)
    *count = numCoreFunctions;
  return 1;
}

struct Callbacks {
  size_t structBytes;
  int (*getModuleFunctionTable)(uint32_t, Function ***, unsigned *);
};

struct VersionInfo {
  size_t structBytes;
  uint32_t version, reserved;
  void (*setInjectionVersion)(uint32_t);
};

const void *getExportTable(uint32_t table) {
  static const Callbacks callbacks = {sizeof(Callbacks),
                                      getModuleFunctionTable};
  static const VersionInfo version = {sizeof(VersionInfo), 3, 0,
                                      [](uint32_t) {}};
  if (table == tableCallbacks)
    return &callbacks;
  return table == tableVersion ? &version : nullptr;
}

} // namespace

bool attach(Initialize initialize) {
  if (!initialize || !initialize(getExportTable))
    return false;
  pushRange =
      reinterpret_cast<int (*)(const char *)>(otherFunctions[rangePushA]);
  popRange = reinterpret_cast<int (*)()>(otherFunctions[rangePop]);
  if (!pushRange || !popRange)
    pushRange = nullptr;
  return pushRange != nullptr;
}

void attachFromEnvironment() {
  static const bool isDone = [] {
    const char *path = std::getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : nullptr;
    if (library)
      attach(reinterpret_cast<Initialize>(
          dlsym(library, "InitializeInjectionNvtx2")));
    return true;
  }();
  (void)isDone;
}

void push(const char *name) {
  if (pushRange)
    pushRange(name);
}

void pop() {
  if (pushRange)
    popRange();
}

} // namespace sinter::cuda::nvtx
