//===- SimLibrary.cpp - contractions of the simulated device --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/sim/library/SimLibrary.h"
#include "backends/cuda/library/CudaLibrary.h"
#include "backends/sim/library/SimCublasLt.h"
#include "backends/sim/library/SimCudnn.h"
#include "backends/sim/library/SimLtEpilogue.h"
#include "backends/sim/library/SimMemory.h"

#include <cstring>

using namespace sinter;

std::unique_ptr<rt::Library>
sinter::sim::createSimLibrary(const cuda::LibraryOptions &options) {
  cuda::LibraryTables tables;
  tables.openLt = [] { return rt::Result<const cuda::lt::Api *>(&ltApi()); };
  tables.openDnn = [] { return rt::Result<const cuda::dnn::Api *>(&dnnApi()); };
  tables.zeroFill = [](void *to, uint64_t sizeBytes, void *) {
    if (!isLibraryMemory(to, sizeBytes))
      return rt::Status::invalid("zeros beyond memory of the device");
    std::memset(to, 0, sizeBytes);
    return rt::Status();
  };
  tables.openLtKernels = [] {
    return rt::Result<std::unique_ptr<cuda::LtKernels>>(createLtKernels());
  };
  return cuda::createCudaLibrary(std::move(tables), options);
}
