//===- SimLibrary.h - contractions of the simulated device ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The CUDA device's adapters over functions that check and compute by loops:
// what is planned, described and passed is what a GPU would get.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_LIBRARY_SIMLIBRARY_H
#define SINTER_BACKENDS_SIM_LIBRARY_SIMLIBRARY_H

#include "backends/cuda/library/LibraryOptions.h"
#include "runtime/device/Library.h"

#include <memory>

namespace sinter::sim {

/// A call computes when it is run; a device with streams runs it from there.
std::unique_ptr<rt::Library>
createSimLibrary(const cuda::LibraryOptions &options = {});

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_LIBRARY_SIMLIBRARY_H
