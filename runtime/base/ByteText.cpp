//===- ByteText.cpp - sizes as readable text ------------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/ByteText.h"

#include <cstdio>

std::string sinter::rt::bytesText(uint64_t bytes) {
  char text[40];
  if (bytes >= uint64_t(1) << 30)
    std::snprintf(text, sizeof(text), "%.2f GiB",
                  static_cast<double>(bytes) / (uint64_t(1) << 30));
  else if (bytes >= 1 << 20)
    std::snprintf(text, sizeof(text), "%.1f MiB",
                  static_cast<double>(bytes) / (1 << 20));
  else
    std::snprintf(text, sizeof(text), "%llu bytes",
                  static_cast<unsigned long long>(bytes));
  return text;
}
