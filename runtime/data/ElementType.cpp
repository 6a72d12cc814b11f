//===- ElementType.cpp - sizes and names of element types -----------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/ElementType.h"

namespace sinter::rt {

namespace {
struct TypeNames {
  sinter_dtype dtype;
  const char *numpy;
  const char *safetensors;
};
constexpr TypeNames typeNames[] = {
    {SINTER_BOOL, "bool", "BOOL"},     {SINTER_U8, "uint8", "U8"},
    {SINTER_I8, "int8", "I8"},         {SINTER_U16, "uint16", "U16"},
    {SINTER_I16, "int16", "I16"},      {SINTER_U32, "uint32", "U32"},
    {SINTER_I32, "int32", "I32"},      {SINTER_U64, "uint64", "U64"},
    {SINTER_I64, "int64", "I64"},      {SINTER_F16, "float16", "F16"},
    {SINTER_BF16, "bfloat16", "BF16"}, {SINTER_F32, "float32", "F32"},
    {SINTER_F64, "float64", "F64"},
};
} // namespace

const char *elementTypeName(uint32_t dtype) {
  for (const TypeNames &names : typeNames)
    if (names.dtype == dtype)
      return names.numpy;
  return "unknown";
}

const char *safetensorsTypeName(uint32_t dtype) {
  for (const TypeNames &names : typeNames)
    if (names.dtype == dtype)
      return names.safetensors;
  return "unknown";
}

std::optional<sinter_dtype> safetensorsType(std::string_view name) {
  for (const TypeNames &names : typeNames)
    if (name == names.safetensors)
      return names.dtype;
  return std::nullopt;
}

std::string shapeText(std::span<const int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

std::optional<uint64_t> tensorBytes(std::span<const int64_t> dims,
                                    uint32_t dtype) {
  int64_t bytes = elementBytes(dtype);
  bool overflow = false;
  // A zero makes the product zero, but each dimension is checked first: a
  // negative one is wrong even beside a zero.
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0)
      return std::nullopt;
    if (dim == 0)
      empty = true;
    else if (__builtin_mul_overflow(bytes, dim, &bytes))
      overflow = true;
  }
  if (empty)
    return 0;
  if (overflow)
    return std::nullopt;
  return static_cast<uint64_t>(bytes);
}

} // namespace sinter::rt
