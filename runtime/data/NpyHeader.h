//===- NpyHeader.h - the header of NumPy's .npy files -----------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Format: numpy.org/doc/stable/reference/generated/numpy.lib.format.html. Only
// the literal that NumPy itself writes is accepted; nothing is evaluated.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_DATA_NPYHEADER_H
#define SINTER_RUNTIME_DATA_NPYHEADER_H

#include "runtime/base/Status.h"
#include "runtime/data/ElementType.h"

#include <span>
#include <string>
#include <vector>

namespace sinter::rt {

struct NpyHeader {
  /// NumPy has no bfloat16: two-byte voids ("V2") stand for it, as ml_dtypes
  /// writes it.
  sinter_dtype dtype = SINTER_U8;
  bool isBigEndian = false;
  bool isColumnMajor = false; // Fortran order: the first index varies fastest
  std::vector<int64_t> dims;
  uint64_t dataOffsetBytes = 0; // where the elements begin
};

/// `head` has this many bytes at least, or the whole file.
inline constexpr uint64_t npyHeadBytes = 66 << 10;

/// Parses the header of an .npy file. `head` holds its first bytes, `sizeBytes`
/// is the whole file's size; shape and size are checked against each other.
/// `origin` is what errors call the file.
Result<NpyHeader> parseNpyHeader(const std::string &origin,
                                 std::span<const uint8_t> head,
                                 uint64_t sizeBytes);

/// The bytes before the elements of a row-major little-endian array.
std::string npyHeaderText(sinter_dtype dtype, std::span<const int64_t> dims);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DATA_NPYHEADER_H
