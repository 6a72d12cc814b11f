//===- Convert.h - elements of a file to elements of the graph --*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// A value is accepted only if the graph's type holds it exactly; any other is
// reported, never rounded. Two exceptions are rounded to nearest even: uint8
// that is scaled by 1/255, and float64 if it may be rounded. Even then, whole
// numbers beyond 2^24 are not rounded: they are counts, times or identifiers.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_DATA_CONVERT_H
#define SINTER_RUNTIME_DATA_CONVERT_H

#include "runtime/data/ElementType.h"

#include <string>
#include <vector>

namespace sinter::rt {

class Converter {
public:
  struct Options {
    bool bigEndian = false;
    bool scale = false;    // uint8 to float: float(x) / 255.0f
    bool mayRound = false; // float64 only
  };
  Converter() = default;
  Converter(sinter_dtype from, sinter_dtype to, Options options);

  /// Converts `count` elements; returns the index of the first one that `to`
  /// cannot hold, or -1. `from` needs no alignment, `to` that of its type.
  int64_t convert(const uint8_t *from, void *to, int64_t count) const;

  /// Element `index` of `from` as text, for messages.
  std::string elementText(const uint8_t *from, int64_t index) const;

private:
  int64_t convertBlocks(const uint8_t *from, uint8_t *to, int64_t count) const;

  sinter_dtype from_ = SINTER_F32, to_ = SINTER_F32;
  Options options_;
  bool copies_ = false;        // same type and byte order
  std::vector<uint8_t> table_; // one-byte sources: 256 results
};

/// Index of the first NaN or infinity among `count` elements of a float type,
/// or -1. Other types have none.
int64_t firstNonFinite(sinter_dtype dtype, const void *data, int64_t count);

/// Element `index` of integer data as int64 (a larger uint64 wraps to
/// negative).
int64_t integerAt(sinter_dtype dtype, const void *data, int64_t index);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DATA_CONVERT_H
