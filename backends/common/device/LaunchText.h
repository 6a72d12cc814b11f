//===- LaunchText.h - a launch as text for errors ---------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_BACKENDS_COMMON_DEVICE_LAUNCHTEXT_H
#define SINTER_BACKENDS_COMMON_DEVICE_LAUNCHTEXT_H

#include <cstdint>
#include <string>

namespace sinter {

/// "kernel matmul_3 (grid 8x1x1, block 256x1x1, 0 bytes of shared memory)".
inline std::string launchText(const char *name, const uint32_t (&grid)[3],
                              const uint32_t (&block)[3],
                              uint32_t sharedBytes) {
  auto dims = [](const uint32_t(&sizes)[3]) {
    return std::to_string(sizes[0]) + "x" + std::to_string(sizes[1]) + "x" +
           std::to_string(sizes[2]);
  };
  return std::string("kernel ") + name + " (grid " + dims(grid) + ", block " +
         dims(block) + ", " + std::to_string(sharedBytes) +
         " bytes of shared memory)";
}

} // namespace sinter

#endif // SINTER_BACKENDS_COMMON_DEVICE_LAUNCHTEXT_H
