//===- Loader.cpp - the vendor's libraries, opened ------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/library/Loader.h"
#include "sinter/abi.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace sinter;
using namespace sinter::cuda;
using namespace sinter::rt;

Result<void *> sinter::cuda::openLibrary(const std::vector<std::string> &names,
                                         const std::string &hint) {
  std::vector<std::string> folders = {""};
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *folder = std::getenv(variable))
      folders.push_back(std::string(folder) + "/lib64/");
  folders.push_back("/usr/local/cuda/lib64/");
  for (const std::string &folder : folders)
    for (const std::string &name : names)
      if (void *library =
              dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL))
        return library;
  std::string list;
  for (const std::string &name : names)
    list += (list.empty() ? "" : " or ") + name;
  return Status(SINTER_DEVICE_FAILED, list + " was not found: install " + hint);
}

namespace {

/// Fills a table from a library and records the first missing name.
class Symbols {
public:
  Symbols(void *library, const char *prefix)
      : library_(library), prefix_(prefix) {}

  template <typename Function>
  void operator()(Function *&to, const char *name) {
    std::string symbol = prefix_ + name;
    to = reinterpret_cast<Function *>(dlsym(library_, symbol.c_str()));
    if (!to && missing_.empty())
      missing_ = symbol;
  }
  const std::string &missing() const { return missing_; }

private:
  void *library_;
  std::string prefix_, missing_;
};

constexpr const char *ltHint =
    "cuBLAS 12 or 13 (NVIDIA's package libcublas-13-0)";
constexpr const char *ncclHint = "NCCL 2 (NVIDIA's package libnccl2)";
constexpr const char *dnnHint = "cuDNN 9 (NVIDIA's package cudnn9-cuda-13)";

struct LoadedLt {
  lt::Api api{};
  Status status;
};

LoadedLt loadLt() {
  LoadedLt loaded;
  Result<void *> library =
      openLibrary({"libcublasLt.so.13", "libcublasLt.so.12"}, ltHint);
  if (!library.ok()) {
    loaded.status = library.status();
    return loaded;
  }
  Symbols get(*library, "cublasLt");
  lt::Api &api = loaded.api;
  get(api.getVersion, "GetVersion");
  get(api.create, "Create");
  get(api.destroy, "Destroy");
  get(api.matmulDescCreate, "MatmulDescCreate");
  get(api.matmulDescDestroy, "MatmulDescDestroy");
  get(api.matmulDescSetAttribute, "MatmulDescSetAttribute");
  get(api.matrixLayoutCreate, "MatrixLayoutCreate");
  get(api.matrixLayoutDestroy, "MatrixLayoutDestroy");
  get(api.matrixLayoutSetAttribute, "MatrixLayoutSetAttribute");
  get(api.matmulPreferenceCreate, "MatmulPreferenceCreate");
  get(api.matmulPreferenceDestroy, "MatmulPreferenceDestroy");
  get(api.matmulPreferenceSetAttribute, "MatmulPreferenceSetAttribute");
  get(api.matmulAlgoGetHeuristic, "MatmulAlgoGetHeuristic");
  get(api.matmulAlgoCheck, "MatmulAlgoCheck");
  get(api.matmulAlgoConfigGetAttribute, "MatmulAlgoConfigGetAttribute");
  get(api.matmul, "Matmul");
  if (!get.missing().empty())
    loaded.status = {SINTER_DEVICE_FAILED, "libcublasLt has no " +
                                               get.missing() + ": install " +
                                               ltHint};
  return loaded;
}

struct LoadedDnn {
  dnn::Api api{};
  Status status;
};

LoadedDnn loadDnn() {
  LoadedDnn loaded;
  Result<void *> library = openLibrary({"libcudnn.so.9"}, dnnHint);
  if (!library.ok()) {
    loaded.status = library.status();
    return loaded;
  }
  Symbols get(*library, "cudnn");
  dnn::Api &api = loaded.api;
  get(api.getVersion, "GetVersion");
  get(api.create, "Create");
  get(api.destroy, "Destroy");
  get(api.setStream, "SetStream");
  get(api.getErrorString, "GetErrorString");
  get(api.getLastErrorString, "GetLastErrorString");
  get(api.backendCreateDescriptor, "BackendCreateDescriptor");
  get(api.backendDestroyDescriptor, "BackendDestroyDescriptor");
  get(api.backendSetAttribute, "BackendSetAttribute");
  get(api.backendGetAttribute, "BackendGetAttribute");
  get(api.backendFinalize, "BackendFinalize");
  get(api.backendExecute, "BackendExecute");
  if (!get.missing().empty())
    loaded.status = {SINTER_DEVICE_FAILED, "libcudnn has no " + get.missing() +
                                               ": install " + dnnHint};
  else if (api.getVersion() < 90000)
    loaded.status = {SINTER_DEVICE_FAILED,
                     "libcudnn has version " +
                         std::to_string(api.getVersion()) + ": install " +
                         dnnHint};
  return loaded;
}

struct LoadedNccl {
  nccl::Api api{};
  Status status;
};

LoadedNccl loadNcclOnce() {
  LoadedNccl loaded;
  Result<void *> library = openLibrary({"libnccl.so.2"}, ncclHint);
  if (!library.ok()) {
    loaded.status = library.status();
    return loaded;
  }
  Symbols get(*library, "nccl");
  nccl::Api &api = loaded.api;
  get(api.getErrorString, "GetErrorString");
  get(api.getVersion, "GetVersion");
  get(api.getUniqueId, "GetUniqueId");
  get(api.commInitRank, "CommInitRank");
  get(api.commDestroy, "CommDestroy");
  get(api.commAbort, "CommAbort");
  get(api.commGetAsyncError, "CommGetAsyncError");
  get(api.groupStart, "GroupStart");
  get(api.groupEnd, "GroupEnd");
  get(api.allReduce, "AllReduce");
  get(api.reduceScatter, "ReduceScatter");
  get(api.allGather, "AllGather");
  if (!get.missing().empty())
    loaded.status = {SINTER_DEVICE_FAILED, "libnccl has no " + get.missing() +
                                               ": install " + ncclHint};
  return loaded;
}

std::string dotted(size_t version) {
  return std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

} // namespace

Result<const lt::Api *> sinter::cuda::loadCublasLt() {
  static const LoadedLt loaded = loadLt();
  if (!loaded.status.ok())
    return loaded.status;
  return &loaded.api;
}

Result<const dnn::Api *> sinter::cuda::loadCudnn() {
  static const LoadedDnn loaded = loadDnn();
  if (!loaded.status.ok())
    return loaded.status;
  return &loaded.api;
}

Result<const nccl::Api *> sinter::cuda::loadNccl() {
  static const LoadedNccl loaded = loadNcclOnce();
  if (!loaded.status.ok())
    return loaded.status;
  return &loaded.api;
}

Result<std::string> sinter::cuda::libraryFor(uint32_t command) {
  switch (command) {
  case SINTER_CMD_MATMUL: {
    Result<const lt::Api *> api = loadCublasLt();
    if (!api.ok())
      return api.status();
    return "cuBLASLt " + dotted((*api)->getVersion());
  }
  case SINTER_CMD_CONV:
  case SINTER_CMD_ATTENTION: {
    Result<const dnn::Api *> api = loadCudnn();
    if (!api.ok())
      return api.status();
    return "cuDNN " + dotted((*api)->getVersion());
  }
  case SINTER_CMD_COLLECTIVE: {
    Result<const nccl::Api *> api = loadNccl();
    if (!api.ok())
      return api.status();
    int version = 0;
    if ((*api)->getVersion(&version) != nccl::success)
      return Status(SINTER_DEVICE_FAILED,
                    std::string("libnccl does not report its version: "
                                "install ") +
                        ncclHint);
    return "NCCL " + dotted(static_cast<size_t>(version));
  }
  default:
    return std::string();
  }
}
