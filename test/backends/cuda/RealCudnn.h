//===- RealCudnn.h - cuDNN without a device, for tests ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_BACKENDS_CUDA_REALCUDNN_H
#define SINTER_TEST_BACKENDS_CUDA_REALCUDNN_H

#include "backends/cuda/library/DnnPlan.h"

#include <string>

namespace sinter::test {

/// cuDNN for the device of the fixture h200.json, over the stand-in for the
/// driver.
const cuda::DnnContext &realCudnn();

/// The text after `"name":"` in a plan's text; empty if there is none.
std::string textOf(const std::string &json, const std::string &name);

} // namespace sinter::test

#endif // SINTER_TEST_BACKENDS_CUDA_REALCUDNN_H
