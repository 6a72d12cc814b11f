//===- Tensor.cpp - a concrete tensor for evaluation ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "ir/Tensor.h"
#include "ir/ElementBytes.h"
#include "runtime/base/Float16.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinDialect.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace sinter::ir {

namespace {

/// Decodes `bits` of `type`, a 16-bit format.
double decodeNarrow(uint16_t bits, FloatType type) {
  return type.isF16() ? rt::toFloat(rt::Half{bits})
                      : rt::toFloat(rt::Bfloat{bits});
}

/// The bits of `value`, rounded to `type`, a 16-bit format.
uint16_t encodeNarrow(double value, FloatType type) {
  return type.isF16() ? rt::narrowed<rt::Half>(value).bits
                      : rt::narrowed<rt::Bfloat>(value).bits;
}

template <class Word>
void readInts(const char *bytes, std::vector<int64_t> &ints) {
  for (size_t i = 0; i < ints.size(); ++i) {
    Word word;
    std::memcpy(&word, bytes + i * sizeof(Word), sizeof(Word));
    ints[i] = static_cast<int64_t>(word);
  }
}

template <class Word>
void writeInts(const std::vector<int64_t> &ints, char *bytes) {
  for (size_t i = 0; i < ints.size(); ++i) {
    Word word = static_cast<Word>(ints[i]);
    std::memcpy(bytes + i * sizeof(Word), &word, sizeof(Word));
  }
}

template <class Word> void wrapInts(std::vector<int64_t> &ints) {
  for (int64_t &value : ints)
    value = static_cast<int64_t>(static_cast<Word>(value));
}

} // namespace

Tensor::Tensor(RankedTensorType type) : type_(type) {
  if (isFloat())
    floats.resize(type.getNumElements());
  else
    ints.resize(type.getNumElements());
}

Tensor Tensor::fromBytes(RankedTensorType type, const void *data) {
  Tensor tensor(type);
  const char *bytes = static_cast<const char *>(data);
  Type element = type.getElementType();
  if (element.isF32()) {
    for (size_t i = 0; i < tensor.floats.size(); ++i) {
      float value;
      std::memcpy(&value, bytes + i * sizeof(float), sizeof(float));
      tensor.floats[i] = value;
    }
  } else if (element.isF64()) {
    if (!tensor.floats.empty())
      std::memcpy(tensor.floats.data(), bytes,
                  tensor.floats.size() * sizeof(double));
  } else if (auto floatType = dyn_cast<FloatType>(element)) {
    for (size_t i = 0; i < tensor.floats.size(); ++i) {
      uint16_t word;
      std::memcpy(&word, bytes + i * sizeof(word), sizeof(word));
      tensor.floats[i] = decodeNarrow(word, floatType);
    }
  } else {
    bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
    switch (elementSizeBytes(element)) {
    case 1:
      isUnsigned ? readInts<uint8_t>(bytes, tensor.ints)
                 : readInts<int8_t>(bytes, tensor.ints);
      break;
    case 2:
      isUnsigned ? readInts<uint16_t>(bytes, tensor.ints)
                 : readInts<int16_t>(bytes, tensor.ints);
      break;
    case 4:
      isUnsigned ? readInts<uint32_t>(bytes, tensor.ints)
                 : readInts<int32_t>(bytes, tensor.ints);
      break;
    default:
      readInts<int64_t>(bytes, tensor.ints);
    }
    if (element.isInteger(1))
      for (int64_t &value : tensor.ints)
        value = value != 0;
  }
  return tensor;
}

std::vector<char> Tensor::toBytes() const {
  Type element = type_.getElementType();
  int64_t width = elementSizeBytes(element);
  std::vector<char> bytes(size() * width);
  if (element.isF64()) {
    if (!floats.empty())
      std::memcpy(bytes.data(), floats.data(), bytes.size());
  } else if (element.isF32()) {
    for (size_t i = 0; i < floats.size(); ++i) {
      float value = static_cast<float>(floats[i]);
      std::memcpy(bytes.data() + i * sizeof(float), &value, sizeof(float));
    }
  } else if (auto floatType = dyn_cast<FloatType>(element)) {
    for (size_t i = 0; i < floats.size(); ++i) {
      uint16_t word = encodeNarrow(floats[i], floatType);
      std::memcpy(bytes.data() + i * sizeof(word), &word, sizeof(word));
    }
  } else {
    switch (width) {
    case 1:
      writeInts<uint8_t>(ints, bytes.data());
      break;
    case 2:
      writeInts<uint16_t>(ints, bytes.data());
      break;
    case 4:
      writeInts<uint32_t>(ints, bytes.data());
      break;
    default:
      writeInts<uint64_t>(ints, bytes.data());
    }
  }
  return bytes;
}

void Tensor::roundToStorage() {
  Type element = type_.getElementType();
  if (element.isF64())
    return;
  if (element.isF32()) {
    for (double &value : floats)
      value = static_cast<float>(value);
  } else if (auto floatType = dyn_cast<FloatType>(element)) {
    for (double &value : floats)
      value = decodeNarrow(encodeNarrow(value, floatType), floatType);
  } else if (element.isInteger(1)) {
    for (int64_t &value : ints)
      value = value != 0;
  } else {
    switch (elementSizeBytes(element)) {
    case 1:
      isUnsigned() ? wrapInts<uint8_t>(ints) : wrapInts<int8_t>(ints);
      break;
    case 2:
      isUnsigned() ? wrapInts<uint16_t>(ints) : wrapInts<int16_t>(ints);
      break;
    case 4:
      isUnsigned() ? wrapInts<uint32_t>(ints) : wrapInts<int32_t>(ints);
      break;
    default:
      break;
    }
  }
}

FailureOr<Tensor> Tensor::fromAttr(ElementsAttr attr) {
  auto type = dyn_cast<RankedTensorType>(attr.getType());
  if (std::optional<ElementBytes> bytes = elementBytes(attr)) {
    if (!bytes->isSplat)
      return fromBytes(type, bytes->data.data());
    Tensor tensor(type);
    if (tensor.size() == 0)
      return tensor;
    Tensor single = fromBytes(RankedTensorType::get({}, type.getElementType()),
                              bytes->data.data());
    if (tensor.isFloat())
      std::fill(tensor.floats.begin(), tensor.floats.end(), single.floats[0]);
    else
      std::fill(tensor.ints.begin(), tensor.ints.end(), single.ints[0]);
    return tensor;
  }
  auto dense = dyn_cast<DenseElementsAttr>(attr);
  if (!dense || !hasBoundedSize(type) || !type.getElementType().isInteger(1))
    return failure();
  Tensor tensor(type);
  for (auto [value, bit] :
       llvm::zip_equal(tensor.ints, dense.getValues<bool>()))
    value = bit;
  return tensor;
}

std::string resourceKey(StringRef name) {
  std::string key;
  if (name.empty() || !(llvm::isAlpha(name.front()) || name.front() == '_'))
    key = "_";
  for (char c : name)
    key += llvm::isAlnum(c) || c == '.' || c == '_' ? c : '_';
  return key;
}

ElementsAttr Tensor::toAttr(StringRef hint) const {
  Type element = type_.getElementType();
  std::vector<char> bytes = toBytes();
  if (element.isInteger(1)) {
    SmallVector<bool> bits(size());
    for (auto [bit, value] : llvm::zip_equal(bits, ints))
      bit = value != 0;
    if (!bits.empty() && llvm::all_equal(bits))
      return DenseElementsAttr::get(type_, bits.front());
    if (size() <= kInlineBytes)
      return DenseElementsAttr::get(type_, ArrayRef<bool>(bits));
  }
  return attrOfBytes(type_, bytes, hint);
}

FailureOr<ElementsAttr> convertFloats(ElementsAttr value, FloatType element,
                                      StringRef hint) {
  auto from = cast<RankedTensorType>(value.getType()), to = from.clone(element);
  auto resource = dyn_cast<DenseResourceElementsAttr>(value);
  AsmResourceBlob *blob =
      resource ? resource.getRawHandle().getBlob() : nullptr;
  const int64_t width = elementSizeBytes(from.getElementType()),
                count = from.getNumElements();
  if (!blob || static_cast<int64_t>(blob->getData().size()) != count * width)
    return failure();
  constexpr int64_t kPiece = int64_t(1) << 16;
  std::vector<char> bytes;
  bytes.reserve(count * elementSizeBytes(element));
  for (int64_t at = 0; at < count; at += kPiece) {
    const int64_t size = std::min(kPiece, count - at);
    Tensor piece = Tensor::fromBytes(from.clone({size}),
                                     blob->getData().data() + at * width);
    Tensor converted(to.clone({size}));
    converted.floats = std::move(piece.floats);
    llvm::append_range(bytes, converted.toBytes());
  }
  return attrOfBytes(cast<RankedTensorType>(to), bytes, hint);
}

std::optional<int64_t> countElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (llvm::MulOverflow(count, size, count))
      return std::nullopt;
  return count;
}

int64_t elementSizeBytes(Type element) {
  if (element.isF64())
    return 8;
  if (element.isF32())
    return 4;
  if (element.isF16() || element.isBF16())
    return 2;
  if (element.isInteger(1))
    return 1;
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer || integer.isSigned())
    return 0;
  unsigned width = integer.getWidth();
  return width == 8 || width == 16 || width == 32 || width == 64 ? width / 8
                                                                 : 0;
}

bool hasBoundedSize(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return false;
  int64_t bytes =
      std::max<int64_t>(elementSizeBytes(tensor.getElementType()), 1);
  for (int64_t size : tensor.getShape())
    if (llvm::MulOverflow(bytes, std::max<int64_t>(size, 1), bytes) ||
        bytes > (int64_t(1) << 62))
      return false;
  return true;
}

SmallVector<int64_t> rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

SmallVector<int64_t> inversePermutation(ArrayRef<int64_t> perm) {
  SmallVector<int64_t> inverse(perm.size());
  for (auto [i, dim] : llvm::enumerate(perm))
    inverse[dim] = static_cast<int64_t>(i);
  return inverse;
}

SmallVector<int64_t> delinearize(int64_t linear, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> index(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    index[i] = linear % shape[i];
    linear /= shape[i];
  }
  return index;
}

int64_t linearize(ArrayRef<int64_t> index, ArrayRef<int64_t> shape) {
  int64_t linear = 0;
  for (auto [position, size] : llvm::zip_equal(index, shape))
    linear = linear * size + position;
  return linear;
}

} // namespace sinter::ir
