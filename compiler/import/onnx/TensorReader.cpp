//===- TensorReader.cpp - TensorProto -> typed bytes ----------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/TensorReader.h"
#include "compiler/base/Text.h"
#include "compiler/import/onnx/ExternalData.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/MathExtras.h"

#include <onnx/onnx_pb.h>

#include <cstring>

using namespace mlir;
using ::onnx::TensorProto;

namespace sinter::compiler {

static constexpr int kMaxRank = 32;
static constexpr int64_t kMaxTensorBytes = int64_t(1) << 40;
/// Constants above this size are resource blobs (ir/ops/Shape.td).
static constexpr int64_t kInlineBytes = 1024;

// Types of ONNX releases newer than the generated classes.
enum : int32_t {
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
};

static bool isFourBit(int32_t type) { return type == kUint4 || type == kInt4; }
static bool isFloat8(int32_t type) {
  return type >= kFloat8E4M3FN && type <= kFloat8E5M2FNUZ;
}

Type elementTypeOf(int32_t dataType, MLIRContext *context, bool widen) {
  Builder b(context);
  auto unsignedInt = [&](unsigned width) {
    return IntegerType::get(context, width, IntegerType::Unsigned);
  };
  switch (dataType) {
  case TensorProto::FLOAT:
    return b.getF32Type();
  case TensorProto::UINT8:
    return unsignedInt(8);
  case TensorProto::INT8:
    return b.getIntegerType(8);
  case TensorProto::UINT16:
    return unsignedInt(16);
  case TensorProto::INT16:
    return b.getIntegerType(16);
  case TensorProto::INT32:
    return b.getIntegerType(32);
  case TensorProto::INT64:
    return b.getIntegerType(64);
  case TensorProto::BOOL:
    return b.getI1Type();
  case TensorProto::FLOAT16:
    return b.getF16Type();
  case TensorProto::DOUBLE:
    return b.getF64Type();
  case TensorProto::UINT32:
    return unsignedInt(32);
  case TensorProto::UINT64:
    return unsignedInt(64);
  case TensorProto::BFLOAT16:
    return b.getBF16Type();
  case kUint4:
    return widen ? unsignedInt(8) : Type();
  case kInt4:
    return widen ? Type(b.getIntegerType(8)) : Type();
  default:
    return widen && isFloat8(dataType) ? Type(b.getF16Type()) : Type();
  }
}

int32_t dataTypeOf(Type element) {
  for (int32_t type = 1; type <= TensorProto::BFLOAT16; ++type)
    if (elementTypeOf(type, element.getContext()) == element)
      return type;
  return 0;
}

std::string dataTypeName(int32_t dataType) {
  static constexpr const char *kNames[] = {
      "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ",
      "UINT4",        "INT4",           "FLOAT4E2M1"};
  if (TensorProto::DataType_IsValid(dataType))
    return TensorProto::DataType_Name(TensorProto::DataType(dataType));
  if (dataType >= 17 && dataType <= 23)
    return kNames[dataType - 17];
  return "type " + std::to_string(dataType);
}

//===----------------------------------------------------------------------===//
// Storage forms
//===----------------------------------------------------------------------===//

namespace {
/// The typed fields; each element type that is not in raw_data is in one of
/// them.
enum class Field { Float, Int32, Int64, Double, Uint64, String };
} // namespace

static Field fieldOf(int32_t type) {
  switch (type) {
  case TensorProto::FLOAT:
    return Field::Float;
  case TensorProto::INT64:
    return Field::Int64;
  case TensorProto::DOUBLE:
    return Field::Double;
  case TensorProto::UINT32:
  case TensorProto::UINT64:
    return Field::Uint64;
  case TensorProto::STRING:
    return Field::String;
  default:
    return Field::Int32;
  }
}

/// The number of elements in each typed field, in the order of Field.
static std::array<int64_t, 6> fieldSizes(const TensorProto &tensor) {
  return {tensor.float_data_size(),  tensor.int32_data_size(),
          tensor.int64_data_size(),  tensor.double_data_size(),
          tensor.uint64_data_size(), tensor.string_data_size()};
}

/// Gives `bytes` a buffer of its own and makes `data` refer to it.
static std::vector<char> *own(TensorBytes &bytes, size_t size) {
  auto buffer = std::make_shared<std::vector<char>>(size);
  bytes.data = {buffer->data(), size};
  std::vector<char> *raw = buffer.get();
  bytes.owner = std::move(buffer);
  return raw;
}

template <class Word, class Source>
static bool packWords(const Source &source, std::vector<char> &to,
                      int64_t least, int64_t greatest) {
  for (int i = 0; i < source.size(); ++i) {
    auto value = source.Get(i);
    if (int64_t(value) < least || int64_t(value) > greatest)
      return false;
    Word word = Word(value);
    std::memcpy(to.data() + i * sizeof(Word), &word, sizeof(Word));
  }
  return true;
}

/// Packs int32_data into words of the type's width; false if a value is out of
/// the type's range.
static bool packInt32(const TensorProto &tensor, int32_t type,
                      std::vector<char> &to) {
  const auto &from = tensor.int32_data();
  switch (type) {
  case TensorProto::INT32:
    return packWords<int32_t>(from, to, INT32_MIN, INT32_MAX);
  case TensorProto::INT16:
    return packWords<int16_t>(from, to, INT16_MIN, INT16_MAX);
  case TensorProto::INT8:
    return packWords<int8_t>(from, to, INT8_MIN, INT8_MAX);
  case TensorProto::BOOL:
    return packWords<uint8_t>(from, to, 0, 1);
  case TensorProto::UINT16:
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
    return packWords<uint16_t>(from, to, 0, UINT16_MAX);
  default: // UINT8, 8-bit floats, two 4-bit integers
    return packWords<uint8_t>(from, to, 0, UINT8_MAX);
  }
}

/// The number of bytes that `count` elements take in the model.
static int64_t storedBytes(int32_t type, int64_t count, int64_t elementBytes) {
  return isFourBit(type)  ? (count + 1) / 2
         : isFloat8(type) ? count
                          : count * elementBytes;
}

/// The value of an 8-bit float, which f16 holds exactly.
static uint16_t halfOfFloat8(uint8_t bits, int32_t type) {
  const llvm::fltSemantics &semantics =
      type == kFloat8E4M3FN     ? llvm::APFloat::Float8E4M3FN()
      : type == kFloat8E4M3FNUZ ? llvm::APFloat::Float8E4M3FNUZ()
      : type == kFloat8E5M2     ? llvm::APFloat::Float8E5M2()
                                : llvm::APFloat::Float8E5M2FNUZ();
  llvm::APFloat value(semantics, llvm::APInt(8, bits));
  bool losesInfo;
  value.convert(llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven,
                &losesInfo);
  return uint16_t(value.bitcastToAPInt().getZExtValue());
}

/// Converts small formats to the wider element type.
static TensorBytes widen(const TensorBytes &stored, int32_t type,
                         int64_t count) {
  TensorBytes wide;
  if (isFourBit(type)) {
    std::vector<char> &to = *own(wide, count);
    for (int64_t i = 0; i < count; ++i) {
      unsigned nibble = uint8_t(stored.data[i / 2]) >> (i % 2 * 4) & 15;
      to[i] =
          char(type == kInt4 && nibble >= 8 ? int(nibble) - 16 : int(nibble));
    }
    return wide;
  }
  std::vector<char> &to = *own(wide, count * 2);
  for (int64_t i = 0; i < count; ++i) {
    uint16_t half = halfOfFloat8(uint8_t(stored.data[i]), type);
    std::memcpy(to.data() + i * 2, &half, 2);
  }
  return wide;
}

/// The bytes as the model stores them, from whichever field holds them.
static std::optional<TensorBytes> readStored(const OnnxModel &model,
                                             const TensorProto &tensor,
                                             int64_t count, int64_t sizeBytes,
                                             std::string &why) {
  int32_t type = tensor.data_type();
  std::array<int64_t, 6> sizes = fieldSizes(tensor);
  int64_t typed = 0;
  for (int64_t size : sizes)
    typed += size;
  bool isExternal = tensor.data_location() == TensorProto::EXTERNAL;
  if (isExternal) {
    if (typed || tensor.has_raw_data()) {
      why = "it has external data and data of its own";
      return std::nullopt;
    }
    return readExternalData(model, tensor, sizeBytes, why);
  }
  if (tensor.external_data_size()) {
    why = "it has external_data entries, but its data_location is not EXTERNAL";
    return std::nullopt;
  }
  if (tensor.has_raw_data()) {
    if (typed) {
      why = "it has both raw_data and typed data";
      return std::nullopt;
    }
    if (int64_t(tensor.raw_data().size()) != sizeBytes) {
      why = "raw_data has " + std::to_string(tensor.raw_data().size()) +
            " bytes; its type takes " + std::to_string(sizeBytes);
      return std::nullopt;
    }
    return TensorBytes{{tensor.raw_data().data(), size_t(sizeBytes)}, nullptr};
  }
  Field field = fieldOf(type);
  int64_t expected = isFourBit(type) ? (count + 1) / 2 : count;
  if (typed != sizes[size_t(field)] || typed != expected) {
    why = typed == sizes[size_t(field)]
              ? "it holds " + std::to_string(typed) +
                    " elements; its shape takes " + std::to_string(expected)
              : std::string("its data is in the wrong field for its data_type");
    return std::nullopt;
  }
  TensorBytes bytes;
  switch (field) {
  case Field::Float:
    bytes.data = {reinterpret_cast<const char *>(tensor.float_data().data()),
                  size_t(sizeBytes)};
    return bytes;
  case Field::Int64:
    bytes.data = {reinterpret_cast<const char *>(tensor.int64_data().data()),
                  size_t(sizeBytes)};
    return bytes;
  case Field::Double:
    bytes.data = {reinterpret_cast<const char *>(tensor.double_data().data()),
                  size_t(sizeBytes)};
    return bytes;
  case Field::Uint64:
    if (type == TensorProto::UINT64) {
      bytes.data = {reinterpret_cast<const char *>(tensor.uint64_data().data()),
                    size_t(sizeBytes)};
      return bytes;
    }
    if (packWords<uint32_t>(tensor.uint64_data(), *own(bytes, sizeBytes), 0,
                            UINT32_MAX))
      return bytes;
    break;
  default:
    if (packInt32(tensor, type, *own(bytes, sizeBytes)))
      return bytes;
  }
  why = "a value is out of the range of " + dataTypeName(type);
  return std::nullopt;
}

std::optional<TensorData> readTensor(const OnnxModel &model,
                                     const TensorProto &tensor,
                                     MLIRContext *context, std::string &why,
                                     ReadFailure &failure) {
  failure = ReadFailure::Invalid;
  int32_t type = tensor.data_type();
  Type element = elementTypeOf(type, context, /*widen=*/true);
  if (!element) {
    bool isKnown =
        type != TensorProto::UNDEFINED && TensorProto::DataType_IsValid(type);
    why = "its data_type is " + dataTypeName(type) +
          (isKnown || type == 23 ? ", which is not supported" : "");
    if (isKnown || type == 23)
      failure = ReadFailure::Unsupported;
    return std::nullopt;
  }
  if (tensor.has_segment()) {
    failure = ReadFailure::Unsupported;
    why = "it is one segment of a larger tensor, which is not supported";
    return std::nullopt;
  }
  if (tensor.dims_size() > kMaxRank) {
    why = "its rank is " + std::to_string(tensor.dims_size()) + "; at most " +
          std::to_string(kMaxRank) + " is supported";
    return std::nullopt;
  }
  // Sizes of 0 count as 1 here, so that a product of the others cannot overflow
  // either.
  int64_t bound = ir::elementSizeBytes(element), count = 1;
  SmallVector<int64_t> dims;
  for (int64_t dim : tensor.dims()) {
    if (dim < 0 || llvm::MulOverflow(bound, std::max<int64_t>(dim, 1), bound) ||
        bound > kMaxTensorBytes) {
      why = dim < 0 ? "it has the negative dimension " + std::to_string(dim)
                    : std::string(
                          "its dimensions are larger than any device's memory");
      return std::nullopt;
    }
    dims.push_back(dim);
    count *= dim;
  }

  TensorData data;
  data.type = RankedTensorType::get(dims, element);
  int64_t elementBytes = ir::elementSizeBytes(element);
  std::optional<TensorBytes> stored = readStored(
      model, tensor, count, storedBytes(type, count, elementBytes), why);
  if (!stored)
    return std::nullopt;
  data.bytes =
      isFourBit(type) || isFloat8(type) ? widen(*stored, type, count) : *stored;
  if (type == TensorProto::BOOL &&
      llvm::any_of(data.bytes.data, [](char c) { return uint8_t(c) > 1; })) {
    TensorBytes truth;
    std::vector<char> &to = *own(truth, count);
    for (int64_t i = 0; i < count; ++i)
      to[i] = data.bytes.data[i] != 0;
    data.bytes = truth;
  }
  failure = ReadFailure::None;
  return data;
}

std::optional<TensorData>
readSparseTensor(const OnnxModel &model,
                 const ::onnx::SparseTensorProto &sparse, MLIRContext *context,
                 int64_t &budget, std::string &why, ReadFailure &failure) {
  std::optional<TensorData> values =
      readTensor(model, sparse.values(), context, why, failure);
  if (!values)
    return std::nullopt;
  std::optional<TensorData> indices =
      readTensor(model, sparse.indices(), context, why, failure);
  if (!indices)
    return std::nullopt;
  failure = ReadFailure::Invalid;
  Type element = values->type.getElementType();
  int64_t elementBytes = ir::elementSizeBytes(element), bytes = elementBytes;
  SmallVector<int64_t> dims(sparse.dims().begin(), sparse.dims().end());
  for (int64_t dim : dims)
    if (dim < 1 || llvm::MulOverflow(bytes, dim, bytes) || bytes > budget ||
        dims.size() > size_t(kMaxRank)) {
      why = "the shape " + shownShape(dims) +
            " of a sparse tensor is not supported";
      return std::nullopt;
    }
  int64_t rank = dims.size(), count = values->type.getNumElements();
  bool isLinear = indices->type.getRank() == 1;
  ArrayRef<int64_t> shape = indices->type.getShape();
  if (values->type.getRank() != 1 ||
      !indices->type.getElementType().isInteger(64) ||
      !(isLinear
            ? shape[0] == count
            : shape.size() == 2 && shape[0] == count && shape[1] == rank)) {
    why = "the indices of a sparse tensor do not fit its values";
    return std::nullopt;
  }

  budget -= bytes;
  TensorData dense;
  dense.type = RankedTensorType::get(dims, element);
  std::vector<char> &to = *own(dense.bytes, bytes);
  int64_t elements = bytes / elementBytes, previous = -1;
  auto indexAt = [&](int64_t i) {
    int64_t index;
    std::memcpy(&index, indices->bytes.data.data() + i * sizeof(index),
                sizeof(index));
    return index;
  };
  for (int64_t i = 0; i < count; ++i) {
    int64_t linear = isLinear ? indexAt(i) : 0;
    bool isInRange = linear >= 0 && linear < elements;
    for (int64_t d = 0; !isLinear && isInRange && d < rank; ++d) {
      int64_t index = indexAt(i * rank + d);
      isInRange = index >= 0 && index < dims[d];
      linear = linear * dims[d] + index;
    }
    if (!isInRange || linear <= previous) {
      why = isInRange ? "the indices of a sparse tensor are not ascending"
                      : "an index of a sparse tensor is out of range";
      return std::nullopt;
    }
    previous = linear;
    std::memcpy(to.data() + linear * elementBytes,
                values->bytes.data.data() + i * elementBytes, elementBytes);
  }
  failure = ReadFailure::None;
  return dense;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

ElementsAttr toAttr(const std::shared_ptr<const OnnxModel> &model,
                    const TensorData &data, llvm::StringRef name) {
  ArrayRef<char> bytes = data.bytes.data;
  size_t width = ir::elementSizeBytes(data.type.getElementType());
  if (int64_t(bytes.size()) <= kInlineBytes) {
    if (data.type.getElementType().isInteger(1)) {
      SmallVector<bool> bits(bytes.begin(), bytes.end());
      return DenseElementsAttr::get(data.type, ArrayRef<bool>(bits));
    }
    return DenseElementsAttr::getFromRawBuffer(data.type, bytes);
  }
  if (std::memcmp(bytes.data(), bytes.data() + width, bytes.size() - width) ==
      0) {
    if (data.type.getElementType().isInteger(1))
      return DenseElementsAttr::get(data.type, bytes.front() != 0);
    return DenseElementsAttr::getFromRawBuffer(data.type,
                                               bytes.take_front(width));
  }
  std::string key = ir::resourceKey(shown(name, 64));
  bool isAligned = reinterpret_cast<uintptr_t>(bytes.data()) % width == 0;
  if (!isAligned)
    return DenseResourceElementsAttr::get(
        data.type, key,
        HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, 8,
                                                      /*dataIsMutable=*/true));
  auto keep = [model, owner = data.bytes.owner](void *, size_t, size_t) {};
  return DenseResourceElementsAttr::get(
      data.type, key,
      AsmResourceBlob(bytes, width, keep, /*dataIsMutable=*/false));
}

} // namespace sinter::compiler
