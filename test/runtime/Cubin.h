//===- Cubin.h - what a cubin says of itself --------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_TEST_RUNTIME_CUBIN_H
#define SINTER_TEST_RUNTIME_CUBIN_H

#include <optional>
#include <string>
#include <vector>

namespace sinter::test {

struct Cubin {
  unsigned arch; // 90: compute capability 9.0
  std::vector<std::string> kernels;
};

/// Reads the ELF file at `image`, which a toolkit made. Nothing if it is no
/// such file: PTX is text.
std::optional<Cubin> readCubin(const void *image);

} // namespace sinter::test

#endif // SINTER_TEST_RUNTIME_CUBIN_H
