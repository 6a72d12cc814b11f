//===- Convert.cpp - elements of a file to elements of the graph ----------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
// Conversions between thirteen types go through three wide ones: a block of the
// source is loaded as int64, uint64 or double, and stored from there.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Convert.h"
#include "runtime/base/Float16.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>

using namespace sinter::rt;

namespace {

constexpr int64_t blockSize = 256;

/// Larger whole numbers must be exact: float32 holds all up to this one.
constexpr double largestRounded = 1 << 24;

double halfToDouble(uint16_t bits) { return toFloat(Half{bits}); }
double bfloatToDouble(uint16_t bits) { return toFloat(Bfloat{bits}); }

template <typename T> T loadAs(const uint8_t *from, bool swap) {
  T value;
  if (!swap || sizeof(T) == 1) {
    std::memcpy(&value, from, sizeof(T));
    return value;
  }
  uint8_t bytes[sizeof(T)];
  std::reverse_copy(from, from + sizeof(T), bytes);
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <typename T, typename Wide, typename Map>
void loadBlock(const uint8_t *from, bool swap, int64_t count, Wide *wide,
               Map map) {
  for (int64_t i = 0; i < count; ++i)
    wide[i] = map(loadAs<T>(from + i * sizeof(T), swap));
}

/// A block of values in one of the three wide types.
struct Block {
  enum Kind { Signed, Unsigned, Float } kind = Signed;
  union {
    int64_t i[blockSize];
    uint64_t u[blockSize];
    double d[blockSize];
  };
};

void load(sinter_dtype dtype, const uint8_t *from, bool swap, int64_t count,
          Block &block) {
  auto same = [](auto value) { return value; };
  block.kind = Block::Signed;
  switch (dtype) {
  case SINTER_BOOL:
    return loadBlock<uint8_t>(from, swap, count, block.i,
                              [](uint8_t value) { return value != 0; });
  case SINTER_U8:
    return loadBlock<uint8_t>(from, swap, count, block.i, same);
  case SINTER_I8:
    return loadBlock<int8_t>(from, swap, count, block.i, same);
  case SINTER_U16:
    return loadBlock<uint16_t>(from, swap, count, block.i, same);
  case SINTER_I16:
    return loadBlock<int16_t>(from, swap, count, block.i, same);
  case SINTER_U32:
    return loadBlock<uint32_t>(from, swap, count, block.i, same);
  case SINTER_I32:
    return loadBlock<int32_t>(from, swap, count, block.i, same);
  case SINTER_I64:
    return loadBlock<int64_t>(from, swap, count, block.i, same);
  case SINTER_U64:
    block.kind = Block::Unsigned;
    return loadBlock<uint64_t>(from, swap, count, block.u, same);
  case SINTER_F16:
    block.kind = Block::Float;
    return loadBlock<uint16_t>(from, swap, count, block.d, halfToDouble);
  case SINTER_BF16:
    block.kind = Block::Float;
    return loadBlock<uint16_t>(from, swap, count, block.d, bfloatToDouble);
  case SINTER_F32:
    block.kind = Block::Float;
    return loadBlock<float>(from, swap, count, block.d, same);
  case SINTER_F64:
    block.kind = Block::Float;
    return loadBlock<double>(from, swap, count, block.d, same);
  case SINTER_TF32: // of products, not of arrays
    break;
  }
}

/// Whether `value`, a number of a wide type, is a value of the integer type T.
template <typename T, typename Wide> bool fits(Wide value) {
  if constexpr (std::is_floating_point_v<Wide>) {
    // Both bounds are powers of two, hence exact.
    double low = std::is_signed_v<T> ? -std::ldexp(1.0, sizeof(T) * 8 - 1) : 0;
    double high =
        std::ldexp(1.0, sizeof(T) * 8 - (std::is_signed_v<T> ? 1 : 0));
    return value >= low && value < high && std::trunc(value) == value;
  } else {
    return std::in_range<T>(value);
  }
}

template <typename T, typename Wide>
int64_t storeIntegers(const Wide *wide, int64_t count, uint8_t *to) {
  for (int64_t i = 0; i < count; ++i) {
    if (!fits<T>(wide[i]))
      return i;
    T value = static_cast<T>(wide[i]);
    std::memcpy(to + i * sizeof(T), &value, sizeof(T));
  }
  return -1;
}

/// `round` maps a wide value to the stored bits, `back` the bits to a double.
template <typename T, typename Wide, typename Round, typename Back>
int64_t storeFloats(const Wide *wide, int64_t count, uint8_t *to, bool mayRound,
                    Round round, Back back) {
  for (int64_t i = 0; i < count; ++i) {
    T value = round(wide[i]);
    double stored = back(value);
    bool exact;
    if constexpr (std::is_floating_point_v<Wide>)
      exact = stored == wide[i] || wide[i] != wide[i] ||
              (mayRound && std::isfinite(stored) &&
               !(std::fabs(wide[i]) > largestRounded &&
                 std::trunc(wide[i]) == wide[i]));
    else
      exact = fits<Wide>(stored) && static_cast<Wide>(stored) == wide[i];
    if (!exact)
      return i;
    std::memcpy(to + i * sizeof(T), &value, sizeof(T));
  }
  return -1;
}

template <typename Wide>
int64_t store(sinter_dtype dtype, const Wide *wide, int64_t count, uint8_t *to,
              bool mayRound) {
  switch (dtype) {
  case SINTER_BOOL:
    for (int64_t i = 0; i < count; ++i) {
      if (wide[i] != 0 && wide[i] != 1)
        return i;
      to[i] = wide[i] != 0;
    }
    return -1;
  case SINTER_U8:
    return storeIntegers<uint8_t>(wide, count, to);
  case SINTER_I8:
    return storeIntegers<int8_t>(wide, count, to);
  case SINTER_U16:
    return storeIntegers<uint16_t>(wide, count, to);
  case SINTER_I16:
    return storeIntegers<int16_t>(wide, count, to);
  case SINTER_U32:
    return storeIntegers<uint32_t>(wide, count, to);
  case SINTER_I32:
    return storeIntegers<int32_t>(wide, count, to);
  case SINTER_U64:
    return storeIntegers<uint64_t>(wide, count, to);
  case SINTER_I64:
    return storeIntegers<int64_t>(wide, count, to);
  case SINTER_F16:
    return storeFloats<uint16_t>(
        wide, count, to, mayRound,
        [](Wide value) {
          return narrowed<Half>(static_cast<double>(value)).bits;
        },
        halfToDouble);
  case SINTER_BF16:
    return storeFloats<uint16_t>(
        wide, count, to, mayRound,
        [](Wide value) {
          return narrowed<Bfloat>(static_cast<double>(value)).bits;
        },
        bfloatToDouble);
  case SINTER_F32:
    return storeFloats<float>(
        wide, count, to, mayRound,
        [](Wide value) { return static_cast<float>(value); },
        [](float value) { return static_cast<double>(value); });
  case SINTER_F64:
    return storeFloats<double>(
        wide, count, to, mayRound,
        [](Wide value) { return static_cast<double>(value); },
        [](double value) { return value; });
  case SINTER_TF32: // of products, not of arrays
    break;
  }
  return 0;
}

int64_t storeBlock(sinter_dtype dtype, const Block &block, int64_t count,
                   uint8_t *to, bool mayRound) {
  switch (block.kind) {
  case Block::Signed:
    return store(dtype, block.i, count, to, mayRound);
  case Block::Unsigned:
    return store(dtype, block.u, count, to, mayRound);
  case Block::Float:
    return store(dtype, block.d, count, to, mayRound);
  }
  return 0;
}

template <typename T>
void lookUp(const uint8_t *from, const uint8_t *table, uint8_t *to,
            int64_t count) {
  const T *values = reinterpret_cast<const T *>(table);
  T *out = reinterpret_cast<T *>(to);
  for (int64_t i = 0; i < count; ++i)
    out[i] = values[from[i]];
}

} // namespace

Converter::Converter(sinter_dtype from, sinter_dtype to, Options options)
    : from_(from), to_(to), options_(options) {
  uint32_t fromBytes = elementBytes(from), toBytes = elementBytes(to);
  copies_ = from == to && from != SINTER_BOOL &&
            (fromBytes == 1 || !options.bigEndian);
  if (copies_ || fromBytes != 1)
    return;
  uint8_t all[256];
  for (int i = 0; i < 256; ++i)
    all[i] = static_cast<uint8_t>(i);
  std::vector<uint8_t> table(256 * toBytes);
  if (options.scale && isFloatType(to)) {
    Block block;
    block.kind = Block::Float;
    for (int i = 0; i < 256; ++i)
      block.d[i] = static_cast<float>(i) / 255.0f;
    storeBlock(to, block, 256, table.data(), /*mayRound=*/true);
  } else if (convertBlocks(all, table.data(), 256) >= 0) {
    return; // some values do not fit: each element must be checked
  }
  table_ = std::move(table);
}

int64_t Converter::convertBlocks(const uint8_t *from, uint8_t *to,
                                 int64_t count) const {
  Block block;
  uint32_t fromBytes = elementBytes(from_), toBytes = elementBytes(to_);
  for (int64_t done = 0; done < count; done += blockSize) {
    int64_t size = std::min(blockSize, count - done);
    load(from_, from + done * fromBytes, options_.bigEndian, size, block);
    int64_t bad =
        storeBlock(to_, block, size, to + done * toBytes, options_.mayRound);
    if (bad >= 0)
      return done + bad;
  }
  return -1;
}

int64_t Converter::convert(const uint8_t *from, void *to, int64_t count) const {
  uint8_t *out = static_cast<uint8_t *>(to);
  if (copies_) {
    if (count > 0)
      std::memcpy(out, from, count * elementBytes(to_));
    return -1;
  }
  if (table_.empty())
    return convertBlocks(from, out, count);
  switch (elementBytes(to_)) {
  case 1:
    lookUp<uint8_t>(from, table_.data(), out, count);
    break;
  case 2:
    lookUp<uint16_t>(from, table_.data(), out, count);
    break;
  case 4:
    lookUp<uint32_t>(from, table_.data(), out, count);
    break;
  case 8:
    lookUp<uint64_t>(from, table_.data(), out, count);
    break;
  }
  return -1;
}

std::string Converter::elementText(const uint8_t *from, int64_t index) const {
  Block block;
  load(from_, from + index * elementBytes(from_), options_.bigEndian, 1, block);
  if (block.kind == Block::Signed)
    return std::to_string(block.i[0]);
  if (block.kind == Block::Unsigned)
    return std::to_string(block.u[0]);
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", block.d[0]);
  return text;
}

int64_t sinter::rt::firstNonFinite(sinter_dtype dtype, const void *data,
                                   int64_t count) {
  // The exponent's bits are all ones.
  auto scan = [&](auto mask) -> int64_t {
    using T = decltype(mask);
    const T *bits = static_cast<const T *>(data);
    bool found = false;
    for (int64_t i = 0; i < count; ++i) // no early exit: vectorised
      found |= (bits[i] & mask) == mask;
    for (int64_t i = 0; found && i < count; ++i)
      if ((bits[i] & mask) == mask)
        return i;
    return -1;
  };
  switch (dtype) {
  case SINTER_F16:
    return scan(uint16_t(0x7c00));
  case SINTER_BF16:
    return scan(uint16_t(0x7f80));
  case SINTER_F32:
    return scan(uint32_t(0x7f800000));
  case SINTER_F64:
    return scan(uint64_t(0x7ff0000000000000));
  default:
    return -1;
  }
}

int64_t sinter::rt::integerAt(sinter_dtype dtype, const void *data,
                              int64_t index) {
  Block block;
  load(dtype, static_cast<const uint8_t *>(data) + index * elementBytes(dtype),
       false, 1, block);
  return block.kind == Block::Float ? static_cast<int64_t>(block.d[0])
                                    : block.i[0];
}
