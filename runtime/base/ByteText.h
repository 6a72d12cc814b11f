//===- ByteText.h - sizes as readable text ----------------------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_BYTETEXT_H
#define SINTER_RUNTIME_BASE_BYTETEXT_H

#include <cstdint>
#include <string>

namespace sinter::rt {

/// "1.50 GiB", "12.0 MiB", "100 bytes".
std::string bytesText(uint64_t bytes);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_BYTETEXT_H
