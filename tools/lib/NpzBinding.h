//===- NpzBinding.h - arrays for the inputs of a graph ----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TOOLS_LIB_NPZBINDING_H
#define SINTER_TOOLS_LIB_NPZBINDING_H

#include "tools/lib/HostTensor.h"

#include <span>

namespace sinter::tools {

/// Selects one array of `given` per input by name, in the order of the inputs,
/// and checks type and shape. Arrays that are not inputs are left out. Errors
/// call the inputs `what`.
rt::Result<HostTensors> selectInputs(std::span<const sinter_tensor_desc> inputs,
                                     const HostTensors &given,
                                     const char *what = "input");

/// Arrays of random numbers: floats in [-1, 1), bytes of any value, and 0 or 1
/// for bools and other integers (so that indices are in range). Equal seeds
/// give equal arrays.
rt::Result<HostTensors> randomInputs(std::span<const sinter_tensor_desc> inputs,
                                     uint64_t seed);

/// The largest difference of two results, as a multiple of what is allowed.
struct Difference {
  double excess = 0; // |a - b| / (atol + rtol * |b|); above 1: too much
  int64_t index = 0; // row-major
  double value = 0, reference = 0;
};

/// Compares arrays of equal shape; NaN equals NaN, an infinity itself.
Difference compare(const HostTensor &value, const HostTensor &reference,
                   double rtol, double atol);

} // namespace sinter::tools

#endif // SINTER_TOOLS_LIB_NPZBINDING_H
