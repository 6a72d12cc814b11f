//===- FloatProducts.h - checks of fp32 products ----------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_RUNTIME_FLOATPRODUCTS_H
#define SINTER_TEST_RUNTIME_FLOATPRODUCTS_H

#include "test/runtime/OneCommand.h"

namespace sinter::test {

void addBatch(sinter_matmul &p, int64_t size, int64_t a, int64_t b, int64_t c);

struct ProductOptions {
  bool constantB = false;
  bool addResult = false; // ADD reads the result itself
};

/// Runs `p` with 1, 2 and 3 threads, requires equal bits and compares with sums
/// in double precision. Returns what the library chose.
std::string checkProduct(const sinter_matmul &p, ProductOptions options = {});

} // namespace sinter::test

#endif // SINTER_TEST_RUNTIME_FLOATPRODUCTS_H
