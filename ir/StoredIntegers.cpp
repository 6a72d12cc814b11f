//===- StoredIntegers.cpp - constants of integers, by their bytes ---------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/StoredIntegers.h"
#include "ir/ElementBytes.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;

namespace sinter::ir {
namespace {

/// Elements that may not be aligned.
template <class Word> struct Words {
  const char *bytes;
  int64_t count;

  Word operator[](int64_t i) const {
    Word word;
    std::memcpy(&word, bytes + i * sizeof(Word), sizeof(Word));
    return word;
  }
};

/// Calls `f` with the Words of a constant: of integers, except ui64, or of
/// float32. Nothing for others.
template <class Result, class F>
std::optional<Result> withWords(ElementsAttr value, F f) {
  std::optional<ElementBytes> bytes = elementBytes(value);
  if (!bytes || value.getNumElements() == 0)
    return std::nullopt;
  auto call = [&](auto word) -> std::optional<Result> {
    return f(Words<decltype(word)>{
        bytes->data.data(),
        static_cast<int64_t>(bytes->data.size() / sizeof(word))});
  };
  Type element = value.getElementType();
  if (element.isF32())
    return call(float());
  auto type = dyn_cast<IntegerType>(element);
  switch (type ? type.getWidth() : 0) {
  case 8:
    return type.isUnsigned() ? call(uint8_t()) : call(int8_t());
  case 16:
    return type.isUnsigned() ? call(uint16_t()) : call(int16_t());
  case 32:
    return type.isUnsigned() ? call(uint32_t()) : call(int32_t());
  case 64:
    return type.isUnsigned() ? std::nullopt : call(int64_t());
  default:
    return std::nullopt;
  }
}

/// Whether 16 bits have the value of `word`.
template <class Word> bool isSmall(Word word) {
  constexpr int16_t most = std::numeric_limits<int16_t>::max();
  if constexpr (std::is_floating_point_v<Word>)
    return std::fabs(word) <= most && std::trunc(word) == word;
  else if constexpr (sizeof(Word) == 1)
    return true;
  else if constexpr (std::is_unsigned_v<Word>)
    return word <= Word(most);
  else
    return word >= -most && word <= most;
}

} // namespace

std::optional<IntegerRange> integerRange(ElementsAttr value) {
  if (!isa<IntegerType>(value.getElementType()))
    return std::nullopt;
  return withWords<IntegerRange>(value, [](auto words) {
    auto least = words[0], greatest = least;
    for (int64_t i = 1; i < words.count; ++i) {
      least = std::min(least, words[i]);
      greatest = std::max(greatest, words[i]);
    }
    return IntegerRange{static_cast<int64_t>(least),
                        static_cast<int64_t>(greatest)};
  });
}

ElementsAttr narrowedIntegers(ElementsAttr value, int64_t zero,
                              IntegerType element, StringRef hint) {
  std::vector<char> bytes =
      *withWords<std::vector<char>>(value, [&](auto words) {
        std::vector<char> bytes(words.count);
        for (int64_t i = 0; i < words.count; ++i)
          bytes[i] = static_cast<char>(static_cast<uint64_t>(words[i]) -
                                       static_cast<uint64_t>(zero));
        return bytes;
      });
  auto type = cast<RankedTensorType>(value.getType()).clone(element);
  return attrOfBytes(cast<RankedTensorType>(type), bytes, hint);
}

std::optional<std::vector<int16_t>> smallIntegers(ElementsAttr value) {
  using Result = std::vector<int16_t>;
  return withWords<Result>(value, [](auto words) -> std::optional<Result> {
    // Most constants that do not qualify show it at once.
    constexpr int64_t kPiece = 4096;
    Result numbers(words.count);
    for (int64_t begin = 0; begin < words.count; begin += kPiece) {
      bool areSmall = true;
      for (int64_t i = begin, end = std::min(begin + kPiece, words.count);
           i < end; ++i) {
        auto word = words[i];
        const bool isOk = isSmall(word);
        areSmall &= isOk;
        numbers[i] = static_cast<int16_t>(isOk ? word : 0);
      }
      if (!areSmall)
        return std::nullopt;
    }
    return numbers;
  });
}

} // namespace sinter::ir
