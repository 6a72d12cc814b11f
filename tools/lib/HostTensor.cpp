//===- HostTensor.cpp - a named array in memory ---------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "tools/lib/HostTensor.h"
#include "runtime/base/Float16.h"

#include <cstring>
#include <span>

using namespace sinter;
using namespace sinter::tools;

rt::Result<std::shared_ptr<HostTensor>>
HostTensor::zeros(std::string name, sinter_dtype dtype,
                  std::vector<int64_t> dims) {
  std::optional<uint64_t> sizeBytes = rt::tensorBytes(dims, dtype);
  if (!sizeBytes)
    return rt::Status::invalid("'" + name + "' " + rt::shapeText(dims) +
                               " is larger than any memory");
  auto tensor = std::make_shared<HostTensor>();
  auto block = rt::AlignedBlock::allocate(*sizeBytes, "an array");
  if (!block.ok())
    return block.status();
  tensor->name = std::move(name);
  tensor->dtype = dtype;
  tensor->dims = std::move(dims);
  tensor->bytes = std::move(*block);
  return tensor;
}

rt::Result<std::shared_ptr<HostTensor>>
HostTensor::zeros(const sinter_tensor_desc &desc) {
  return zeros(desc.name, static_cast<sinter_dtype>(desc.dtype),
               std::vector<int64_t>(desc.dims, desc.dims + desc.rank));
}

template <typename T> static T load(const uint8_t *bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
  return value;
}

double HostTensor::number(int64_t index) const {
  const uint8_t *data = bytes.data();
  switch (dtype) {
  case SINTER_BOOL:
  case SINTER_U8:
    return data[index];
  case SINTER_I8:
    return load<int8_t>(data, index);
  case SINTER_U16:
    return load<uint16_t>(data, index);
  case SINTER_I16:
    return load<int16_t>(data, index);
  case SINTER_U32:
    return load<uint32_t>(data, index);
  case SINTER_I32:
    return load<int32_t>(data, index);
  case SINTER_U64:
    return static_cast<double>(load<uint64_t>(data, index));
  case SINTER_I64:
    return static_cast<double>(load<int64_t>(data, index));
  case SINTER_F16:
    return rt::toFloat(rt::Half{load<uint16_t>(data, index)});
  case SINTER_BF16:
    return rt::toFloat(rt::Bfloat{load<uint16_t>(data, index)});
  case SINTER_F32:
    return load<float>(data, index);
  case SINTER_F64:
    return load<double>(data, index);
  }
  return 0;
}

std::string HostTensor::typeText() const {
  return rt::elementTypeName(dtype) + (" " + rt::shapeText(dims));
}

const HostTensor *tools::find(const HostTensors &tensors,
                              const std::string &name) {
  for (const auto &tensor : tensors)
    if (tensor->name == name)
      return tensor.get();
  return nullptr;
}

std::string tools::typeText(const sinter_tensor_desc &desc) {
  return rt::elementTypeName(desc.dtype) +
         (" " + rt::shapeText(std::span(desc.dims, desc.rank)));
}
