//===- SimLibrary.h - contractions of the simulated device ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// The CUDA device's adapters on top of functions that check their arguments and
// compute by loops. Plans, descriptions and arguments are those that a GPU
// would get.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_SIM_LIBRARY_SIMLIBRARY_H
#define SINTER_BACKENDS_SIM_LIBRARY_SIMLIBRARY_H

#include "backends/cuda/library/LibraryOptions.h"
#include "runtime/device/Library.h"

#include <memory>

namespace sinter::sim {

/// A call computes when it is run; a device with streams runs it in its
/// streams.
std::unique_ptr<rt::Library>
createSimLibrary(const cuda::LibraryOptions &options = {});

} // namespace sinter::sim

#endif // SINTER_BACKENDS_SIM_LIBRARY_SIMLIBRARY_H
