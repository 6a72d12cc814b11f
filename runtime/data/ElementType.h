//===- ElementType.h - sizes and names of element types ---------*- C++ -*-===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// What data files and checkpoints need to know about a sinter_dtype.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_RUNTIME_DATA_ELEMENTTYPE_H
#define SINTER_RUNTIME_DATA_ELEMENTTYPE_H

#include "sinter/abi.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sinter::rt {

/// Bytes of one element; 0 for a number that is not a sinter_dtype.
constexpr uint32_t elementBytes(uint32_t dtype) {
  switch (dtype) {
  case SINTER_BOOL:
  case SINTER_U8:
  case SINTER_I8:
    return 1;
  case SINTER_U16:
  case SINTER_I16:
  case SINTER_F16:
  case SINTER_BF16:
    return 2;
  case SINTER_U32:
  case SINTER_I32:
  case SINTER_F32:
    return 4;
  case SINTER_U64:
  case SINTER_I64:
  case SINTER_F64:
    return 8;
  }
  return 0;
}

constexpr bool isFloatType(uint32_t dtype) {
  return dtype == SINTER_F16 || dtype == SINTER_BF16 || dtype == SINTER_F32 ||
         dtype == SINTER_F64;
}

constexpr bool isIntegerType(uint32_t dtype) {
  return elementBytes(dtype) != 0 && !isFloatType(dtype) &&
         dtype != SINTER_BOOL;
}

/// NumPy's name ("float32", "bool", ...); "unknown" for other numbers.
const char *elementTypeName(uint32_t dtype);

/// The safetensors spelling ("F32", "BOOL", ...) and back.
const char *safetensorsTypeName(uint32_t dtype);
std::optional<sinter_dtype> safetensorsType(std::string_view name);

/// "[3, 28, 28]".
std::string shapeText(std::span<const int64_t> dims);

/// The product of `dims` times `elementBytes`; nothing if a dimension is
/// negative or the product does not fit 63 bits.
std::optional<uint64_t> tensorBytes(std::span<const int64_t> dims,
                                    uint32_t dtype);

} // namespace sinter::rt

#endif // SINTER_RUNTIME_DATA_ELEMENTTYPE_H
