//===- NpzBinding.cpp - arrays for the inputs of a graph ------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "tools/lib/NpzBinding.h"

#include <cmath>
#include <cstring>

using namespace sinter;
using namespace sinter::tools;

rt::Result<HostTensors>
tools::selectInputs(std::span<const sinter_tensor_desc> inputs,
                    const HostTensors &given, const char *what) {
  HostTensors selected;
  for (const sinter_tensor_desc &input : inputs) {
    std::string name = input.name;
    std::shared_ptr<HostTensor> tensor;
    for (const auto &candidate : given)
      if (candidate->name == name)
        tensor = candidate;
    if (!tensor) {
      std::string names;
      for (const auto &candidate : given)
        names += (names.empty() ? "'" : ", '") + candidate->name + "'";
      return rt::Status::invalid("the inputs have no array '" + name +
                                 "'; there are " +
                                 (names.empty() ? "none" : names));
    }
    std::vector<int64_t> dims(input.dims, input.dims + input.rank);
    // NumPy has no bfloat16, so its bits may also come as uint16.
    bool sameType = tensor->dtype == input.dtype ||
                    (input.dtype == SINTER_BF16 && tensor->dtype == SINTER_U16);
    if (!sameType || tensor->dims != dims)
      return rt::Status::invalid(std::string(what) + " '" + name + "' is " +
                                 typeText(input) + ", but its array is " +
                                 tensor->typeText());
    selected.push_back(std::move(tensor));
  }
  return selected;
}

// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
// Generators).
static uint64_t nextRandom(uint64_t &state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// A multiple of 2^-7 in [-1, 1) is exact in all our float types.
static uint16_t halfOfStep(int step, bool isBfloat) {
  float value = static_cast<float>(step) / 128;
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if (isBfloat)
    return bits >> 16;
  if (step == 0)
    return 0;
  uint32_t exponent = (bits >> 23 & 255) - 127 + 15;
  return (bits >> 16 & 0x8000) | exponent << 10 | (bits >> 13 & 1023);
}

static void fillRandom(HostTensor &tensor, uint64_t &state) {
  uint8_t *data = tensor.bytes.data();
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    uint64_t random = nextRandom(state);
    switch (tensor.dtype) {
    case SINTER_F32:
      reinterpret_cast<float *>(data)[i] =
          static_cast<float>(static_cast<int32_t>(random >> 40) - (1 << 23)) /
          (1 << 23);
      break;
    case SINTER_F64:
      reinterpret_cast<double *>(data)[i] =
          static_cast<double>(static_cast<int64_t>(random >> 12) -
                              (int64_t(1) << 51)) /
          static_cast<double>(int64_t(1) << 51);
      break;
    case SINTER_F16:
    case SINTER_BF16:
      reinterpret_cast<uint16_t *>(data)[i] = halfOfStep(
          static_cast<int>(random >> 56) - 128, tensor.dtype == SINTER_BF16);
      break;
    case SINTER_U8:
    case SINTER_I8:
      data[i] = random >> 56;
      break;
    default:
      data[i * rt::elementBytes(tensor.dtype)] = random >> 63;
    }
  }
}

rt::Result<HostTensors>
tools::randomInputs(std::span<const sinter_tensor_desc> inputs, uint64_t seed) {
  HostTensors tensors;
  uint64_t state = seed;
  for (const sinter_tensor_desc &input : inputs) {
    auto tensor = HostTensor::zeros(input);
    if (!tensor.ok())
      return tensor.status();
    fillRandom(**tensor, state);
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

Difference tools::compare(const HostTensor &value, const HostTensor &reference,
                          double rtol, double atol) {
  Difference worst;
  for (int64_t i = 0; i < value.elements(); ++i) {
    double a = value.number(i), b = reference.number(i);
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    double allowed = atol + rtol * std::fabs(b),
           excess = std::fabs(a - b) / allowed;
    // An infinity or NaN on only one side, or no tolerance.
    if (!std::isfinite(a) || !std::isfinite(b) || allowed == 0)
      excess = INFINITY;
    if (excess > worst.excess)
      worst = {excess, i, a, b};
    if (std::isinf(excess))
      break;
  }
  return worst;
}
