//===- SimLibrary.cpp - contractions of the simulated device --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "backends/sim/library/SimLibrary.h"
#include "backends/cuda/library/CudaLibrary.h"
#include "backends/sim/library/SimCublasLt.h"

using namespace sinter;

std::unique_ptr<rt::Library>
sinter::sim::createSimLibrary(const cuda::LibraryOptions &options) {
  cuda::LibraryTables tables;
  tables.openLt = [] { return rt::Result<const cuda::lt::Api *>(&ltApi()); };
  return cuda::createCudaLibrary(std::move(tables), options);
}
