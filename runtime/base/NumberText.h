//===- NumberText.h - numbers, sizes and durations as text ------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// How all tools and trainers read and write numbers. Readers take the whole
// text or nothing. Nothing depends on the locale.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_BASE_NUMBERTEXT_H
#define SINTER_RUNTIME_BASE_NUMBERTEXT_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sinter::rt {

/// A decimal whole number.
std::optional<int64_t> readInteger(std::string_view text);
/// A finite decimal number: "12", "0.5", "1e-3".
std::optional<double> readReal(std::string_view text);
/// A size in bytes: "4096", "512MiB", "1.5GiB". The units are B, KiB, MiB, GiB
/// and TiB; fractions of a byte are dropped. At most 2^62 bytes.
std::optional<int64_t> readBytes(std::string_view text);
/// A duration that is not negative, in seconds: "200ms", "5s", "10m", "1.5h".
std::optional<double> readSeconds(std::string_view text);

/// The shortest text that stands for the same number.
std::string realText(double value);
/// "1.50 GiB", "12.0 MiB", "3.5 KiB", "100 bytes".
std::string bytesText(uint64_t bytes);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_BASE_NUMBERTEXT_H
