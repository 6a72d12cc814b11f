//===- NumberText.cpp - numbers, sizes and durations as text --------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/NumberText.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

using namespace sinter;

namespace {

template <typename T> std::optional<T> readWhole(std::string_view text) {
  T value{};
  const char *end = text.data() + text.size();
  auto [last, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || last != end)
    return std::nullopt;
  return value;
}

struct Unit {
  std::string_view name;
  int shift; // of one byte
};
// "B" is the last one: the others end with it.
constexpr Unit units[] = {
    {"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"B", 0}};

} // namespace

std::optional<int64_t> rt::readInteger(std::string_view text) {
  return readWhole<int64_t>(text);
}

std::optional<double> rt::readReal(std::string_view text) {
  std::optional<double> value = readWhole<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<int64_t> rt::readBytes(std::string_view text) {
  int shift = 0;
  for (const Unit &unit : units)
    if (text.ends_with(unit.name)) {
      shift = unit.shift;
      text.remove_suffix(unit.name.size());
      break;
    }
  constexpr int64_t most = int64_t(1) << 62;
  // A whole number of bytes is exact, also beyond 2^53.
  if (std::optional<int64_t> whole = readInteger(text)) {
    if (*whole < 0 || *whole > most >> shift)
      return std::nullopt;
    return *whole << shift;
  }
  std::optional<double> value = readReal(text);
  if (!value || *value < 0)
    return std::nullopt;
  double bytes = std::ldexp(*value, shift);
  if (bytes > static_cast<double>(most))
    return std::nullopt;
  return static_cast<int64_t>(bytes);
}

std::optional<double> rt::readSeconds(std::string_view text) {
  // "s" follows "ms", which ends with it.
  constexpr std::pair<std::string_view, double> units[] = {
      {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};
  for (auto [unit, seconds] : units)
    if (text.ends_with(unit)) {
      text.remove_suffix(unit.size());
      std::optional<double> value = readReal(text);
      return value && *value >= 0 ? std::optional(*value * seconds)
                                  : std::nullopt;
    }
  return std::nullopt;
}

std::string rt::realText(double value) {
  char text[40];
  auto [end, error] = std::to_chars(text, text + sizeof(text), value);
  return error == std::errc() ? std::string(text, end) : "";
}

std::string rt::bytesText(uint64_t bytes) {
  for (const Unit &unit : units)
    if (unit.shift && bytes >> unit.shift) {
      char text[40];
      std::snprintf(text, sizeof(text), "%.*f %.*s", unit.shift >= 30 ? 2 : 1,
                    std::ldexp(static_cast<double>(bytes), -unit.shift),
                    static_cast<int>(unit.name.size()), unit.name.data());
      return text;
    }
  return std::to_string(bytes) + " bytes";
}
