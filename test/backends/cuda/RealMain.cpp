//===- RealMain.cpp - entry of the tests of installed libraries -----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#define CATCH_CONFIG_RUNNER
#include "backends/cuda/library/Loader.h"

#include <catch2/catch.hpp>

#include <cstdio>
#include <dlfcn.h>

/// Exit code 77: the libraries are not installed.
int main(int argc, char **argv) {
  // First, so that the libraries find it under the driver's name.
  if (!dlopen(SINTER_STAND_IN_DRIVER, RTLD_NOW | RTLD_GLOBAL)) {
    std::printf("%s\n", dlerror());
    return 1;
  }
  auto lt = sinter::cuda::loadCublasLt();
  auto dnn = sinter::cuda::loadCudnn();
  if (!lt.ok() || !dnn.ok()) {
    std::printf("skipped: %s\n",
                (lt.ok() ? dnn.status() : lt.status()).message().c_str());
    return 77;
  }
  return Catch::Session().run(argc, argv);
}
